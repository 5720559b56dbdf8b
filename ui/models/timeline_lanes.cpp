#include "ui/models/timeline_lanes.h"

#include <algorithm>

namespace ui::models {

namespace {

SpanKind kindOf(engine::SlicePhase phase) {
  switch (phase) {
    case engine::SlicePhase::Prefill: return SpanKind::Prefill;
    case engine::SlicePhase::Decode: return SpanKind::Decode;
    case engine::SlicePhase::Verify: return SpanKind::Verify;
  }
  return SpanKind::Decode;
}

void takeIfUnknown(std::int64_t& known, std::int64_t told) {
  if (known < 0) known = told;
}

// The sums up to and without span `index`, which may be one past the last.
std::array<std::int64_t, kNumSpanKinds> sumsBefore(const std::vector<LaneSpan>& spans, std::size_t index) {
  if (index < spans.size()) return spans[index].nsBefore;
  if (spans.empty()) return {};
  auto sums = spans.back().nsBefore;
  sums[static_cast<std::size_t>(spans.back().kind)] += spans.back().t1Ns - spans.back().t0Ns;
  return sums;
}

LaneItem itemOf(const std::vector<LaneSpan>& spans, std::size_t first, std::size_t end) {
  LaneItem item{spans[first].t0Ns, spans[end - 1].t1Ns, static_cast<int>(first), static_cast<int>(end - first), {}};
  const auto before = sumsBefore(spans, first), after = sumsBefore(spans, end);
  const auto length = static_cast<double>(std::max<std::int64_t>(1, item.t1Ns - item.t0Ns));
  for (std::size_t k = 0; k < kNumSpanKinds; ++k) item.share[k] = static_cast<double>(after[k] - before[k]) / length;
  return item;
}

}  // namespace

std::int64_t Lane::startNs() const {
  if (arrivalNs >= 0) return arrivalNs;
  if (admittedNs >= 0) return admittedNs;
  return spans.empty() ? endNs : spans.front().t0Ns;
}

std::int64_t Lane::lastNs(std::int64_t nowNs) const { return endNs >= 0 ? endNs : nowNs; }

int Lane::spanAt(std::int64_t ns) const {
  const auto at = std::ranges::upper_bound(spans, ns, {}, &LaneSpan::t1Ns);
  return at != spans.end() && at->t0Ns <= ns ? static_cast<int>(at - spans.begin()) : -1;
}

int Lane::spanOf(std::uint64_t iteration) const {
  const auto at = std::ranges::lower_bound(spans, iteration, {}, &LaneSpan::iteration);
  return at != spans.end() && at->iteration == iteration ? static_cast<int>(at - spans.begin()) : -1;
}

std::vector<LaneItem> foldLane(const Lane& lane, std::int64_t t0Ns, std::int64_t t1Ns, std::int64_t minNs) {
  std::vector<LaneItem> items;
  const auto& spans = lane.spans;
  auto at = std::ranges::upper_bound(spans, t0Ns, {}, &LaneSpan::t1Ns);
  while (at != spans.end() && at->t0Ns < t1Ns) {
    auto next = at + 1;
    if (at->t1Ns - at->t0Ns < minNs) {
      next = std::lower_bound(next, spans.end(), at->t0Ns + minNs,
                              [](const LaneSpan& span, std::int64_t ns) { return span.t1Ns <= ns; });
    }
    items.push_back(itemOf(spans, static_cast<std::size_t>(at - spans.begin()),
                           static_cast<std::size_t>(next - spans.begin())));
    at = next;
  }
  return items;
}

Lane& TimelineLanes::laneOf(std::uint64_t request) {
  Lane*& lane = m_byRequest[request];
  if (!lane) {
    m_lanes.push_back(std::make_unique<Lane>());
    lane = m_lanes.back().get();
    lane->id = engine::RequestId(request);
    m_alive.push_back(lane);
  }
  return *lane;
}

void TimelineLanes::add(const std::vector<engine::TraceEvent>& events) {
  if (m_isLossPending && !events.empty()) {
    // who still runs is unknown until an event tells
    for (Lane* lane : m_alive) lane->isRunning = false;
    m_pendingSlices.clear();
  }
  for (const engine::TraceEvent& event : events) {
    switch (event.kind) {
      case engine::TraceKind::Slice: m_pendingSlices.push_back(event.slice); break;
      case engine::TraceKind::Request: add(event.request); break;
      case engine::TraceKind::Iteration: add(event.iteration); break;
      case engine::TraceKind::Knob: m_knobs.push_back(event.knob); break;
      default: break;
    }
  }
  if (m_numSpans > kMaxSpans || m_lanes.size() > kMaxLanes) dropOldest();
}

void TimelineLanes::add(const engine::RequestRecord& record) {
  using engine::RequestEvent;
  if (record.event == RequestEvent::Published && !m_byRequest.contains(record.request)) return;
  Lane& lane = laneOf(record.request);
  m_latestNs = std::max(m_latestNs, record.tNs);
  switch (record.event) {
    case RequestEvent::Arrived: takeIfUnknown(lane.arrivalNs, record.tNs); break;
    case RequestEvent::Admitted:
      takeIfUnknown(lane.admittedNs, record.tNs);
      lane.isRunning = true;
      break;
    case RequestEvent::Resumed:
      if (!lane.gaps.empty() && lane.gaps.back().t1Ns < 0) lane.gaps.back().t1Ns = record.tNs;
      lane.isRunning = true;
      break;
    case RequestEvent::FirstToken: takeIfUnknown(lane.firstTokenNs, record.tNs); break;
    case RequestEvent::Preempted:
      // told after the step that did without it; set back since it last computed
      lane.gaps.push_back({lane.spans.empty() ? record.tNs : lane.spans.back().t1Ns, -1});
      lane.isRunning = false;
      break;
    case RequestEvent::Refused:
    case RequestEvent::Cancelled: lane.wasCutShort = true; [[fallthrough]];
    case RequestEvent::Finished: end(lane, record.tNs); break;
    default: break;
  }
}

void TimelineLanes::end(Lane& lane, std::int64_t ns) {
  takeIfUnknown(lane.endNs, ns);
  lane.isRunning = false;
  if (!lane.gaps.empty() && lane.gaps.back().t1Ns < 0) lane.gaps.back().t1Ns = lane.endNs;
}

void TimelineLanes::add(const engine::IterationRecord& record) {
  if (m_isLossPending) {
    m_isLossPending = false;
    m_hasLost = true;
    m_losses.push_back({m_steps.empty() ? record.t0Ns : m_steps.back().t1Ns, record.t0Ns});
  }
  for (const engine::SliceRecord& slice : m_pendingSlices) {
    if (slice.iteration != record.id) continue;
    Lane& lane = laneOf(slice.request);
    if (lane.endNs < 0) lane.isRunning = true;
    addSpan(lane, record, kindOf(slice.phase), slice.tokens);
  }
  m_pendingSlices.clear();
  for (Lane* lane : m_alive) {
    const bool hasRow = !lane->spans.empty() && lane->spans.back().iteration == record.id;
    if (lane->isRunning && !hasRow) addSpan(*lane, record, SpanKind::Stalled, 0);
  }
  std::erase_if(m_alive, [](const Lane* lane) { return lane->endNs >= 0; });
  m_steps.push_back({record.id, record.t0Ns, record.t1Ns});
  if (m_steps.size() > kMaxSteps) m_steps.erase(m_steps.begin(), m_steps.begin() + kMaxSteps / 4);
  m_latestNs = std::max(m_latestNs, record.t1Ns);
}

void TimelineLanes::addSpan(Lane& lane,
                            const engine::IterationRecord& step,
                            SpanKind kind,
                            std::uint32_t tokens) {
  // two slices of one request in one step (never seen) would overlap
  if (!lane.spans.empty() && lane.spans.back().t1Ns > step.t0Ns) return;
  lane.spans.push_back({step.t0Ns, step.t1Ns, step.id, tokens, kind, sumsBefore(lane.spans, lane.spans.size())});
  ++m_numSpans;
}

void TimelineLanes::dropOldest() {
  const auto isOver = [this] { return m_numSpans > kMaxSpans * 3 / 4 || m_lanes.size() > kMaxLanes * 3 / 4; };
  for (auto& lane : m_lanes) {
    if (!isOver()) break;
    if (lane->endNs < 0) continue;
    m_numSpans -= lane->spans.size();
    std::erase(m_alive, lane.get());
    m_byRequest.erase(lane->id.value);
    lane.reset();
  }
  std::erase(m_lanes, nullptr);
  for (auto& lane : m_lanes) {
    if (m_numSpans <= kMaxSpans * 3 / 4) break;
    const std::size_t count = lane->spans.size() / 2;
    lane->spans.erase(lane->spans.begin(), lane->spans.begin() + static_cast<std::ptrdiff_t>(count));
    m_numSpans -= count;
  }
}

void TimelineLanes::reconcile(const engine::EngineSnapshot& snapshot) {
  std::unordered_map<std::uint64_t, const engine::RequestSnapshot*> told;
  for (const engine::RequestSnapshot& request : snapshot.requests) {
    const auto found = m_byRequest.find(request.id.value);
    if (found == m_byRequest.end()) continue;
    told.emplace(request.id.value, &request);
    Lane& lane = *found->second;
    if (lane.label != request.label) lane.label = request.label;
    takeIfUnknown(lane.arrivalNs, request.times.arrivalNs);
    takeIfUnknown(lane.admittedNs, request.times.admittedNs);
    takeIfUnknown(lane.firstTokenNs, request.times.firstTokenNs);
    if (request.state == engine::RequestState::Finished && request.times.finishedNs >= 0) {
      end(lane, request.times.finishedNs);
    }
  }
  if (!m_hasLost) return;
  // The event that ended it was lost, and the engine no longer remembers it.
  for (Lane* lane : m_alive) {
    const std::int64_t start = lane->startNs();
    if (lane->endNs >= 0 || told.contains(lane->id.value) || start > snapshot.timeNs) continue;
    end(*lane, lane->spans.empty() ? std::max<std::int64_t>(start, 0) : lane->spans.back().t1Ns);
  }
}

void TimelineLanes::clear() { *this = {}; }

const Lane* TimelineLanes::find(engine::RequestId id) const {
  const auto found = m_byRequest.find(id.value);
  return found == m_byRequest.end() ? nullptr : found->second;
}

const TimelineLanes::Step* TimelineLanes::step(engine::StepId id) const {
  const auto at = std::ranges::lower_bound(m_steps, id.value, {}, &Step::id);
  return at != m_steps.end() && at->id == id.value ? &*at : nullptr;
}

std::int64_t TimelineLanes::firstNs() const {
  std::int64_t first = m_latestNs;
  for (const auto& lane : m_lanes) {
    if (lane->startNs() >= 0) first = std::min(first, lane->startNs());
  }
  return first;
}

}  // namespace ui::models
