#include "engine/trace/trace_summary.h"

#include <algorithm>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>

#include <xxhash.h>

#include "engine/api/sampling_params.h"
#include "engine/trace/trace_fields.h"

namespace engine::trace {

namespace {

TraceEvent withoutTimes(TraceEvent event) {
  switch (event.kind) {
    case TraceKind::Iteration:
      event.iteration.t0Ns = event.iteration.t1Ns = 0;
      event.iteration.scheduleNs = event.iteration.modelNs = event.iteration.sampleNs = 0;
      break;
    case TraceKind::Token:
      event.token.tNs = 0;
      break;
    case TraceKind::Request:
      event.request.tNs = 0;
      break;
    case TraceKind::Knob:
      event.knob.tNs = 0;
      break;
    case TraceKind::Branch:
      event.branch.tNs = 0;
      break;
    case TraceKind::None:
    case TraceKind::Slice:
    case TraceKind::Block:
    case TraceKind::Draft:
      break;
  }
  return event;
}

class Summariser {
 public:
  TraceSummary run(const Trace& trace) {
    for (const auto& opening : trace.openings) {
      RequestSummary& request = find(opening.value.request);
      request.label = opening.value.label;
    }
    for (const auto& event : trace.events) take(event.value);
    for (const auto& message : trace.messages) {
      std::visit([this](const auto& m) { on(m); }, message.value);
    }
    for (const auto& loss : trace.losses) m_summary.lostEvents += loss.value;
    for (RequestSummary& request : m_summary.requests) finish(request);
    for (BranchSummary& branch : m_summary.branches) {
      branch.request = rootOf(branch.id);
      std::ranges::stable_sort(branch.spans, {}, &RequestSpan::t0Ns);
    }
    return std::move(m_summary);
  }

 private:
  RequestSummary& find(RequestId id) {
    const auto [found, isNew] = m_places.try_emplace(id, m_summary.requests.size());
    if (isNew) m_summary.requests.emplace_back().id = id;
    return m_summary.requests[found->second];
  }

  std::vector<RequestSpan>& spansOf(RequestId id) {
    if (id.value < kFirstChildId) return find(id).spans;
    const auto [found, isNew] = m_branchPlaces.try_emplace(id, m_summary.branches.size());
    if (isNew) m_summary.branches.emplace_back().id = id;
    return m_summary.branches[found->second].spans;
  }

  // The request that a branch belongs to, by way of the branches that it split off from.
  RequestId rootOf(RequestId id) const {
    while (id.value >= kFirstChildId) {
      const auto parent = m_parents.find(id);
      if (parent == m_parents.end()) return RequestId();
      id = parent->second;
    }
    return id;
  }

  template <typename T>
  void hash(const T& value) {
    m_scratch.clear();
    ByteWriter{m_scratch}(value);
    m_summary.fingerprint = XXH64(m_scratch.data(), m_scratch.size(), m_summary.fingerprint);
  }

  void take(const TraceEvent& event) {
    hash(withoutTimes(event));
    if (event.kind == TraceKind::Slice) m_slices.push_back(event.slice);
    if (event.kind == TraceKind::Iteration) on(event.iteration);
    if (event.kind == TraceKind::Request) on(event.request);
    if (event.kind == TraceKind::Branch) on(event.branch);
    if (event.kind == TraceKind::Token) ++m_summary.generatedTokens;
  }

  // The slices of a step come before its record.
  void on(const IterationRecord& record) {
    m_summary.iterations.push_back(record);
    for (const SliceRecord& slice : std::exchange(m_slices, {})) {
      if (slice.iteration != record.id) continue;  // its record was lost
      RequestSpan span{SpanKind::Decode, record.t0Ns,  record.t1Ns,
                       record.id,        slice.tokens, slice.kvLength};
      if (slice.phase == SlicePhase::Prefill) span.kind = SpanKind::Prefill;
      if (slice.phase == SlicePhase::Verify) span.kind = SpanKind::Verify;
      spansOf(RequestId(slice.request)).push_back(span);
    }
  }

  void on(const BranchRecord& record) {
    if (record.op != BranchOp::Fork) return;
    const RequestId id(record.request);
    spansOf(id);
    // ids rise, so that a damaged record cannot close a circle
    if (record.parent < record.request) m_parents[id] = RequestId(record.parent);
  }

  void on(const RequestRecord& record) {
    const RequestId id(record.request);
    switch (record.event) {
      case RequestEvent::Arrived:
        find(id).times.arrivalNs = record.tNs;
        m_waitsSince[id] = {SpanKind::Queued, record.tNs};
        break;
      case RequestEvent::Tokenised:
        m_summary.promptTokens += static_cast<std::uint64_t>(std::max<std::int64_t>(0, record.a));
        break;
      case RequestEvent::Preempted:
        ++m_summary.preemptions;
        m_waitsSince[id] = {SpanKind::Preempted, record.tNs};
        break;
      case RequestEvent::Admitted:
      case RequestEvent::Resumed:
      case RequestEvent::Finished:
      case RequestEvent::Refused:
      case RequestEvent::Cancelled:
        endWait(id, record.tNs);
        break;
      case RequestEvent::Queued:
      case RequestEvent::Prefilled:
      case RequestEvent::FirstToken:
      case RequestEvent::Detokenised:
      case RequestEvent::Published:
        break;
    }
  }

  void endWait(RequestId id, std::int64_t ns) {
    const auto found = m_waitsSince.find(id);
    if (found == m_waitsSince.end()) return;
    const auto [kind, sinceNs] = found->second;
    spansOf(id).push_back({kind, sinceNs, std::max(sinceNs, ns), 0, 0, 0});
    m_waitsSince.erase(found);
  }

  void on(const TextDelta& message) {
    AnswerSummary* answer = answerOf(find(message.request), message.choice);
    if (answer == nullptr) return;
    answer->text += message.text;
    for (const SampledToken& token : message.tokens) answer->ids.push_back(token.id);
  }

  // Null for a number that no request can ask for, as a damaged file may have it.
  static AnswerSummary* answerOf(RequestSummary& request, int choice) {
    if (choice == 0) return &request;
    if (choice < 0 || choice >= kMaxChoices) return nullptr;
    const auto index = static_cast<std::size_t>(choice - 1);
    if (request.others.size() <= index) request.others.resize(index + 1);
    return &request.others[index];
  }

  void on(const RequestFinished& message) {
    RequestSummary& request = find(message.request);
    request.reason = message.reason;
    request.explanation = message.explanation;
    request.usage = message.usage;
    request.times = message.times;
    request.preemptions = message.preemptions;
    request.choices = message.choices;
  }

  template <typename Other>
  void on(const Other&) {}

  void finish(RequestSummary& request) {
    std::ranges::stable_sort(request.spans, {}, &RequestSpan::t0Ns);
    hash(request.id);
    hash(request.text);
    hash(request.ids);
    for (const AnswerSummary& other : request.others) {
      hash(other.text);
      hash(other.ids);
    }
    hash(request.reason);
  }

  struct Wait {
    SpanKind kind;
    std::int64_t sinceNs;
  };

  TraceSummary m_summary;
  std::unordered_map<RequestId, std::size_t> m_places, m_branchPlaces;
  std::unordered_map<RequestId, RequestId> m_parents;  // of branches
  std::unordered_map<RequestId, Wait> m_waitsSince;
  std::vector<SliceRecord> m_slices;
  std::string m_scratch;
};

}  // namespace

TraceSummary summariseTrace(const Trace& trace) {
  return Summariser().run(trace);
}

const char* spanName(SpanKind kind) {
  switch (kind) {
    case SpanKind::Queued:
      return "queued";
    case SpanKind::Prefill:
      return "prefill";
    case SpanKind::Decode:
      return "decode";
    case SpanKind::Verify:
      return "verify";
    case SpanKind::Preempted:
      return "preempted";
  }
  return "";
}

}  // namespace engine::trace
