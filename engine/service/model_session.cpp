#include "engine/service/model_session.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "engine/service/prompt_encoder.h"
#include "engine/service/swap_store.h"

namespace engine::service {

namespace {

constexpr std::size_t kMaxLastFinished = 32;

kv::KvCacheConfig cacheConfig(const LoadedModel& model, const EngineConfig& config) {
  const kernels::KvLayout& layout = model.executor->layout();
  kv::KvCacheConfig result;
  result.allocator = config.load.allocator;
  result.blockSize = layout.blockSize;
  result.numBlocks = layout.numBlocks;
  result.maxContext = model.info->maxContext;
  result.swapBlocks = swapBlocks(config.load.swapMemoryBytes, layout);
  result.isKept = config.load.kvCache;
  result.identity = fmt::format("{}|{}", model.info->path, kvDTypeName(model.info->kvDtype));
  return result;
}

Error refusalError(const sched::Refusal& refusal) {
  if (refusal.reason == Reason::RefusedTooLong) {
    return {
        ErrorCode::InvalidArgument, promptTooLongSentence(refusal.a - 1, refusal.b)};
  }
  return {ErrorCode::OutOfMemory,
          fmt::format("the request {}", reasonText(refusal.reason, refusal.a, refusal.b))};
}

RequestEvent endEvent(FinishReason finish) {
  switch (finish) {
    case FinishReason::Cancelled:
      return RequestEvent::Cancelled;
    case FinishReason::Refused:
      return RequestEvent::Refused;
    default:
      return RequestEvent::Finished;
  }
}

}  // namespace

RequestFinished refusal(RequestId id, const RequestTimes& times, const Error& error) {
  RequestFinished message;
  message.request = id;
  message.reason = FinishReason::Refused;
  message.explanation = error.message;
  message.errorCode = error.code;
  message.times = times;
  return message;
}

ModelSession::ModelSession(LoadedModel model,
                           const EngineConfig& config,
                           const SessionChannels& channels)
    : m_model(std::move(model)),
      m_channels(channels),
      m_cache(cacheConfig(m_model, config),
              [this](const BlockRecord& record) { m_channels.recorder.record(record); }),
      m_scheduler(m_cache, m_model.info->maxContext, config.limits) {}

void ModelSession::record(
    RequestId id, RequestEvent event, Reason reason, std::int64_t a, std::int64_t b) {
  m_channels.recorder.record(
      RequestRecord{id.value, m_channels.clock.nowNs(), a, b, event, reason});
}

ServedRequest* ModelSession::find(RequestId id) {
  const auto found = m_requests.find(id);
  return found == m_requests.end() ? nullptr : &found->second;
}

Result<void> ModelSession::check(const RequestSpec& spec) const {
  TRY_VOID(checkRequest(spec, m_model.executor->vocabSize()));
  return checkAllocator(spec.sampling);
}

bool ModelSession::isInUse(RequestId id) const {
  const bool isPending = std::ranges::any_of(
      m_pending, [&](const PendingPrompt& pending) { return pending.spec.id == id; });
  return isPending || m_requests.contains(id) || m_groups.contains(id) || id.value >= kFirstChildId;
}

// False when the request goes no further; who sent it knows why.
bool ModelSession::open(const RequestSpec& spec, RequestTimes& times) {
  if (isInUse(spec.id)) {
    m_channels.outbox.push(
        Notice{Severity::Warning,
               fmt::format("request id {} is in use; the second was ignored", spec.id.value)});
    return false;
  }
  m_channels.recorder.record(
      RequestRecord{spec.id.value, times.arrivalNs, 0, 0, RequestEvent::Arrived, Reason::None});
  if (const auto* given = std::get_if<TokenPrompt>(&spec.prompt)) {
    // before the ids are copied: there may be any number of them
    const std::int64_t length = std::ssize(given->ids), limit = m_model.info->maxContext;
    if (length >= limit) {
      const Reason reason = Reason::RefusedTooLong;
      refuse(spec, times, refusalError({reason, length + 1, limit}), reason);
      return false;
    }
  }
  const Result<void> checked = check(spec);
  if (!checked) refuse(spec, times, checked.error(), Reason::RefusedBadInput);
  return checked.isOk();
}

void ModelSession::submit(RequestSpec spec, std::int64_t arrivalNs) {
  RequestTimes times;
  times.arrivalNs = arrivalNs;
  if (!open(spec, times)) return;
  auto prepared = tryEncoding([&] { return encodePrompt(spec, m_model); });
  if (!prepared) return refuse(spec, times, prepared.error(), Reason::RefusedBadInput);
  times.tokenisedNs = m_channels.clock.nowNs();
  enqueue(std::move(spec), std::move(prepared).value(), times);
}

void ModelSession::enqueue(RequestSpec spec, std::vector<TokenId> promptIds, RequestTimes times) {
  const RequestId id = spec.id;
  record(id, RequestEvent::Tokenised, Reason::None, static_cast<std::int64_t>(promptIds.size()), 0);
  sched::SequenceSpec sequence;
  sequence.id = id;
  sequence.promptIds = promptIds;
  sequence.maxTokens = spec.sampling.maxTokens;
  sequence.priority = spec.priority;
  sequence.cacheNamespace = spec.cacheNamespace;
  sequence.arrivalNs = times.arrivalNs;
  sequence.slo = spec.slo;
  const bool isSeveral = hasChoices(spec.sampling);
  if (isSeveral) {
    sequence.numBranches = ChoiceGroup(id, spec.sampling).numSamples;
    sequence.isBeam = spec.sampling.beamWidth > 0;
  }
  spec.prompt = TokenPrompt{};
  if (const auto refused = m_scheduler.submit(std::move(sequence))) {
    return refuse(spec, times, refusalError(*refused), refused->reason);
  }
  ServedRequest& served =
      m_requests.try_emplace(id, std::move(spec), promptIds, *m_model.tokenizer).first->second;
  served.times = times;
  if (isSeveral) openGroup(served, std::ssize(promptIds));
  record(id, RequestEvent::Queued, Reason::WaitsStart, 0, 0);
  m_channels.outbox.push(RequestStarted{id, std::move(promptIds)});
}

void ModelSession::refuse(const RequestSpec& spec,
                          const RequestTimes& times,
                          const Error& error,
                          Reason reason) {
  RequestFinished message = refusal(spec.id, times, error);
  message.times.finishedNs = m_channels.clock.nowNs();
  record(spec.id, RequestEvent::Refused, reason, 0, 0);
  m_channels.outbox.push(std::move(message));
}

void ModelSession::fail(RequestId id, const Error& error) {
  if (ServedRequest* served = find(id)) served->failure = error;
  if (const auto ended = m_scheduler.finish(id, FinishReason::Failed)) close(*ended);
}

void ModelSession::endAll(FinishReason reason, const std::string& sentence) {
  endPending(reason, sentence);
  while (!m_requests.empty()) {
    const RequestId id = m_requests.begin()->first;
    ServedRequest& served = m_requests.begin()->second;
    served.failure = Error{ErrorCode::Internal, sentence};
    if (served.group) served.group->explanation = sentence;
    const auto ended = m_scheduler.finish(id, reason);
    close(ended.value_or(sched::FinishedRequest{id, reason, Reason::FailedStep, 0, 0, {}, 0}));
  }
}

void ModelSession::tellWarnings() {
  if (const std::string fact = executor().takeWarning(); !fact.empty()) {
    m_channels.outbox.push(
        Notice{Severity::Warning,
               fact + ", so answers may be wrong until the model is loaded again"});
  }
  if (draft() == nullptr) return;
  if (const std::string fact = draft()->takeWarning(); !fact.empty()) {
    m_channels.outbox.push(
        Notice{Severity::Warning,
               fact + ", so its guesses may be worse until the models are loaded again"});
  }
}

std::vector<RequestId> ModelSession::openRequests() const {
  std::vector<RequestId> open;
  for (const auto& [id, served] : m_requests) {
    if (served.group == nullptr) open.push_back(id);
  }
  for (const auto& [id, group] : m_groups) open.push_back(id);
  for (const PendingPrompt& pending : m_pending) open.push_back(pending.spec.id);
  return open;
}

std::string ModelSession::explain(const ServedRequest& request,
                                  const sched::FinishedRequest& ended) const {
  if (request.failure) return request.failure->message;
  if (ended.reason == Reason::FinishedContextFull) {
    return fmt::format("the answer {}", reasonText(ended.reason, ended.a, ended.b));
  }
  if (ended.finish == FinishReason::Refused) {
    return fmt::format("the request cannot be served in time: {}",
                       reasonText(ended.reason, ended.a, ended.b));
  }
  return {};
}

void ModelSession::deliver(RequestId id, ServedRequest& served, std::int64_t nowNs) {
  if (std::exchange(served.hasUntold, false)) {
    if (served.times.firstTokenNs < 0) {
      served.times.firstTokenNs = nowNs;
      m_channels.recorder.record(
          RequestRecord{id.value, nowNs, 0, 0, RequestEvent::FirstToken, Reason::None});
    }
    served.times.lastTokenNs = nowNs;
  }
  for (TextDelta& delta : served.undelivered) {
    if (!delta.tokens.empty()) delta.timeNs = nowNs;
    m_channels.outbox.push(std::move(delta));
  }
  served.undelivered.clear();
}

void ModelSession::close(const sched::FinishedRequest& ended) {
  const auto found = m_requests.find(ended.request);
  if (found == m_requests.end()) return;
  ServedRequest& served = found->second;
  served.times.finishedNs = m_channels.clock.nowNs();
  record(ended.request, RequestEvent::Detokenised, Reason::None, ended.usage.completionTokens, 0);
  record(ended.request, endEvent(ended.finish), ended.reason, ended.a, ended.b);
  if (ended.finish != FinishReason::Stop && !served.isBeam()) {
    // what a stop string might still have claimed
    std::string rest = served.output.finish();
    if (!rest.empty()) tell(served, std::move(rest), {}, -1);
  }
  deliver(ended.request, served, served.times.finishedNs);
  const std::shared_ptr<ChoiceGroup> group = served.group;
  if (group) {
    closeBranch(served, ended);
  } else {
    tellEnd(served, ended);
  }
  record(ended.request, RequestEvent::Published, Reason::None, 0, 0);
  remember(served, ended);
  m_requests.erase(found);
  if (group) settle(group);
}

void ModelSession::tellEnd(const ServedRequest& served, const sched::FinishedRequest& ended) {
  RequestFinished message;
  message.request = ended.request;
  message.reason = ended.finish;
  message.explanation = explain(served, ended);
  if (ended.finish == FinishReason::Refused) message.errorCode = ErrorCode::Unsupported;
  if (served.failure) message.errorCode = served.failure->code;
  message.usage = ended.usage;
  message.times = served.times;
  message.preemptions = ended.preemptions;
  m_channels.outbox.push(std::move(message));
}

void ModelSession::remember(const ServedRequest& request, const sched::FinishedRequest& ended) {
  RequestSnapshot snapshot;
  snapshot.id = ended.request;
  snapshot.label = request.spec.label;
  snapshot.parent = request.parent;
  snapshot.choice = request.choice;
  snapshot.cumulativeLogprob = request.cumulativeLogprob;
  snapshot.state = RequestState::Finished;
  snapshot.reason = ended.reason;
  snapshot.reasonA = ended.a;
  snapshot.reasonB = ended.b;
  snapshot.finish = ended.finish;
  snapshot.promptTokens = ended.usage.promptTokens;
  snapshot.outputTokens = ended.usage.completionTokens;
  snapshot.totalTokens = snapshot.promptTokens + snapshot.outputTokens;
  snapshot.computedTokens = snapshot.totalTokens;
  snapshot.cachedTokens = ended.usage.cachedTokens;
  snapshot.maxTokens = request.spec.sampling.maxTokens;
  snapshot.preemptions = ended.preemptions;
  snapshot.prefixMiss = ended.prefixMiss;
  snapshot.prefixMissPosition = ended.prefixMissPosition;
  snapshot.times = request.times;
  m_lastFinished.push_back(std::move(snapshot));
  if (m_lastFinished.size() > kMaxLastFinished) m_lastFinished.pop_front();
}

}  // namespace engine::service
