#include "engine/trace/trace_replay.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <variant>

#include "engine/trace/time_origin.h"

namespace engine::trace {

namespace {

// What a view keeps of the past; handed out again after going back.
constexpr std::size_t kEventsAfterRewind = 1 << 15;

template <typename T>
std::size_t firstAfter(const std::vector<Timed<T>>& list, std::int64_t ns, std::size_t from = 0) {
  const auto begin = list.begin() + static_cast<std::ptrdiff_t>(from);
  const auto found = std::ranges::upper_bound(begin, list.end(), ns, {}, &Timed<T>::timeNs);
  return static_cast<std::size_t>(found - list.begin());
}

Error cannot(const char* what) {
  return {ErrorCode::Unsupported, std::string("this is a recorded run; it ") + what};
}

}  // namespace

TraceReplay::TraceReplay(Trace trace, std::shared_ptr<const Clock> clock)
    : m_trace(std::move(trace)),
      m_clock(clock ? std::move(clock) : std::make_shared<SteadyClock>()),
      m_beginNs(m_trace.beginNs()),
      m_endNs(m_trace.endNs()) {
  if (!m_trace.cutSentence.empty()) {
    m_messages.push_back(Notice{Severity::Warning, m_trace.cutSentence});
  }
  rewind();
  anchor(m_beginNs);
  moveTo(m_beginNs);
}

EngineCapabilities TraceReplay::capabilities() const {
  EngineCapabilities result;
  result.canPause = true;
  result.hasBlocks = true;
  result.hasEvents = true;
  return result;
}

void TraceReplay::submit(Command command) {
  tick();
  std::visit([this](const auto& c) { on(c); }, command);
}

void TraceReplay::drainMessages(std::vector<EngineMessage>& out) {
  tick();
  for (EngineMessage& message : m_messages) {
    moveTimes(message, -m_beginNs);
    out.push_back(std::move(message));
  }
  m_messages.clear();
}

void TraceReplay::drainEvents(std::vector<TraceEvent>& out) {
  tick();
  for (TraceEvent& event : m_events) {
    moveTimes(event, -m_beginNs);
    out.push_back(event);
  }
  m_events.clear();
}

std::int64_t TraceReplay::recordedNs() const {
  if (m_isPaused) return m_anchorNs;
  // in double, so that a great speed cannot overflow
  const double aheadNs = static_cast<double>(m_clock->nowNs() - m_anchorClockNs) * m_speed;
  const auto leftNs = static_cast<double>(m_endNs - m_anchorNs);
  return aheadNs >= leftNs ? m_endNs : m_anchorNs + static_cast<std::int64_t>(aheadNs);
}

void TraceReplay::seekNs(std::int64_t ns) {
  seekRecorded(m_beginNs + std::clamp<std::int64_t>(ns, 0, endNs()));
}

void TraceReplay::seekRecorded(std::int64_t ns) {
  const std::int64_t target = std::clamp(ns, m_beginNs, m_endNs);
  anchor(target);
  moveTo(target);
}

void TraceReplay::setSpeed(double speed) {
  if (!(speed > 0)) return;
  anchor(recordedNs());
  m_speed = speed;
}

std::optional<RecordedPrompt> TraceReplay::promptOf(RequestId id) const {
  for (const auto& opening : m_trace.openings) {
    const RequestOpening& it = opening.value;
    if (it.request == id) return RecordedPrompt{it.label, it.prompt, it.isConversation};
  }
  return std::nullopt;
}

void TraceReplay::on(const Pause&) {
  setPaused(true);
}

void TraceReplay::on(const Resume&) {
  if (m_isPaused && m_anchorNs >= m_endNs) seekRecorded(m_beginNs);
  setPaused(false);
}

void TraceReplay::on(const StepOnce& command) {
  if (!m_isPaused) return;
  std::int64_t target = m_reachedNs;
  int left = std::max(0, command.count);
  for (std::size_t i = m_nextEvent; i < m_trace.events.size() && left > 0; ++i) {
    if (m_trace.events[i].value.kind != TraceKind::Iteration) continue;
    target = m_trace.events[i].timeNs;
    --left;
  }
  seekRecorded(left > 0 ? m_endNs : target);
}

void TraceReplay::on(const Submit& command) {
  RequestFinished refused;
  refused.request = command.spec.id;
  refused.reason = FinishReason::Refused;
  refused.explanation = cannot("takes no requests").message;
  refused.errorCode = ErrorCode::Unsupported;
  m_messages.push_back(std::move(refused));
}

void TraceReplay::on(const LoadModel& command) {
  m_messages.push_back(LoadFailed{command.config.load.modelPath, cannot("loads no model")});
}

void TraceReplay::on(const Query& command) {
  m_messages.push_back(QueryAnswer{command.id, cannot("answers no questions")});
}

void TraceReplay::on(const SetLimits&) {
  m_messages.push_back(Notice{Severity::Warning, cannot("has no knobs to turn").message});
}

void TraceReplay::tick() {
  const std::int64_t ns = recordedNs();
  moveTo(ns);
  if (ns >= m_endNs && !m_isPaused) setPaused(true);
}

void TraceReplay::moveTo(std::int64_t ns) {
  if (ns < m_reachedNs) rewind();
  if (ns == m_reachedNs && m_shown) return;
  m_reachedNs = ns;
  const std::size_t endMessage = firstAfter(m_trace.messages, ns, m_nextMessage);
  for (; m_nextMessage < endMessage; ++m_nextMessage) {
    m_messages.push_back(m_trace.messages[m_nextMessage].value);
  }
  const std::size_t endEvent = firstAfter(m_trace.events, ns, m_nextEvent);
  if (endEvent - m_nextEvent > kEventsAfterRewind) m_nextEvent = endEvent - kEventsAfterRewind;
  for (; m_nextEvent < endEvent; ++m_nextEvent) {
    m_events.push_back(m_trace.events[m_nextEvent].value);
  }
  const std::size_t endLoss = firstAfter(m_trace.losses, ns, m_nextLoss);
  for (; m_nextLoss < endLoss; ++m_nextLoss) m_numLost += m_trace.losses[m_nextLoss].value;
  advanceState(ns);
  publish();
}

// Back to before the beginning. Losses stay counted: a front end's count only grows.
void TraceReplay::rewind() {
  m_reachedNs = m_beginNs - 1;
  m_nextEvent = m_nextMessage = m_nextOpening = m_stateEvent = m_nextSnapshot = 0;
  m_events.clear();
  m_base = {};
  m_base.state = m_trace.header.model ? EngineState::Idle : EngineState::NoModel;
  m_base.config = m_trace.header.config;
  m_base.model = m_trace.header.model;
  m_base.timeNs = m_beginNs;
  m_progress.reset(m_base);
}

void TraceReplay::advanceState(std::int64_t ns) {
  const std::size_t endOpening = firstAfter(m_trace.openings, ns, m_nextOpening);
  for (; m_nextOpening < endOpening; ++m_nextOpening) {
    m_progress.open(m_trace.openings[m_nextOpening].value);
  }
  const std::size_t endSnapshot = firstAfter(m_trace.snapshots, ns, m_nextSnapshot);
  if (endSnapshot > m_nextSnapshot) {
    const std::size_t last = endSnapshot - 1;
    m_base = last == m_nextSnapshot && last > 0 ? m_trace.snapshotAfter(m_base, last)
                                                : m_trace.snapshotAt(last);
    m_nextSnapshot = endSnapshot;
    m_progress.reset(m_base);
    m_stateEvent = std::min<std::size_t>(m_base.numEvents, m_trace.events.size());
  }
  const std::size_t endEvent = firstAfter(m_trace.events, ns, m_stateEvent);
  for (; m_stateEvent < endEvent; ++m_stateEvent) {
    m_progress.apply(m_trace.events[m_stateEvent].value);
  }
}

void TraceReplay::publish() {
  auto shown = std::make_shared<EngineSnapshot>(m_progress.snapshot());
  shown->version = ++m_version;
  shown->timeNs = m_reachedNs;
  moveTimes(*shown, -m_beginNs);
  if (m_isPaused) shown->state = EngineState::Paused;
  // recorded as paused, but the replay is not
  else if (shown->state == EngineState::Paused)
    shown->state = EngineState::Running;
  m_shown = std::move(shown);
}

void TraceReplay::anchor(std::int64_t ns) {
  m_anchorNs = ns;
  m_anchorClockNs = m_clock->nowNs();
}

void TraceReplay::setPaused(bool isPaused) {
  if (isPaused == m_isPaused) return;
  anchor(recordedNs());
  m_isPaused = isPaused;
  publish();
}

}  // namespace engine::trace
