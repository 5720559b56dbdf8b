// A loaded model with its cache, its scheduler and the requests it serves.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/api/engine_config.h"
#include "engine/api/message.h"
#include "engine/base/clock.h"
#include "engine/base/mailbox.h"
#include "engine/kv/kv_cache.h"
#include "engine/sched/scheduler.h"
#include "engine/service/loaded_model.h"
#include "engine/service/served_request.h"
#include "engine/trace/trace_recorder.h"

namespace engine::service {

// Where a session reports; all outlive it.
struct SessionChannels {
  const Clock& clock;
  trace::TraceRecorder& recorder;
  Mailbox<EngineMessage>& outbox;
};

using TokenIds = Result<std::vector<TokenId>>;

// A request whose prompt another thread turns into tokens.
struct PendingPrompt {
  std::uint64_t serial = 0;
  RequestSpec spec;  // without its prompt
  RequestTimes times;
};

// Engine thread only.
class ModelSession {
 public:
  ModelSession(LoadedModel model, const EngineConfig& config, const SessionChannels& channels);

  // Answers with RequestStarted, or with RequestFinished that says why not.
  void submit(RequestSpec spec, std::int64_t arrivalNs);
  // submit() in two halves, between which the prompt is turned into tokens: by what this returns, on
  // any thread, even after the session has gone. Null when the request was turned down already.
  std::function<TokenIds()> accept(RequestSpec spec, std::int64_t arrivalNs, std::uint64_t serial);
  // Nothing for a serial that is no longer pending.
  void encoded(std::uint64_t serial, TokenIds promptIds);
  // A request with all of its sequences. Nothing when the id is not known: it has ended already.
  void cancel(RequestId id);
  // Ends the request that this sequence belongs to as failed with the error's sentence.
  void fail(RequestId id, const Error& error);
  // Ends everything, each with this sentence.
  void endAll(FinishReason reason, const std::string& sentence);
  // The scheduler ended the sequence: tells the front end and forgets it.
  void close(const sched::FinishedRequest& ended);

  // The front end hears of what the sequence has sampled so far; its first token comes now if it
  // had none.
  void deliver(RequestId id, ServedRequest& served, std::int64_t nowNs);

  // By sequence.
  ServedRequest* find(RequestId id);

  // Requests that the front end waits for.
  std::vector<RequestId> openRequests() const;

  const std::vector<PendingPrompt>& pendingPrompts() const { return m_pending; }

  // Null when the request is one sequence, or not open.
  std::shared_ptr<ChoiceGroup> groupOf(RequestId root) const {
    const auto found = m_groups.find(root);
    return found == m_groups.end() ? nullptr : found->second;
  }

  // Text and tokens of a sequence, told with deliver() or when its request has ended.
  void tell(ServedRequest& served,
            std::string text,
            std::vector<SampledToken> tokens,
            std::int64_t timeNs);

  // A sequence that splits off this one; it begins as its copy.
  RequestId addBranch(RequestId parent, int choice);
  // A beam that nobody goes on with.
  void dropBeam(RequestId id);
  // Ends a beam search: what is still alive ends with `reason` here.
  void finishBeams(const std::shared_ptr<ChoiceGroup>& group, FinishReason reason);

  const LoadedModel& model() const { return m_model; }

  exec::Executor& executor() { return *m_model.executor; }

  // Null without a draft model.
  exec::Executor* draft() { return m_model.draft.get(); }

  sched::Scheduler& scheduler() { return m_scheduler; }

  const sched::Scheduler& scheduler() const { return m_scheduler; }

  const kv::KvCache& cache() const { return m_cache; }

  const SessionChannels& channels() const { return m_channels; }

  // Newest last, a bounded number.
  const std::deque<RequestSnapshot>& lastFinished() const { return m_lastFinished; }

  // After a step: tells the front end what makes answers doubtful, once a load.
  void tellWarnings();

  void record(RequestId id, RequestEvent event, Reason reason, std::int64_t a, std::int64_t b);

 private:
  bool open(const RequestSpec& spec, RequestTimes& times);
  Result<void> check(const RequestSpec& spec) const;
  bool isInUse(RequestId id) const;
  bool cancelPending(RequestId id);
  void endPending(FinishReason reason, const std::string& sentence);
  void enqueue(RequestSpec spec, std::vector<TokenId> promptIds, RequestTimes times);
  void openGroup(ServedRequest& served, std::int64_t promptTokens);
  Result<void> checkAllocator(const SamplingParams& sampling) const;
  void endOpen(const std::shared_ptr<ChoiceGroup>& group);
  void closeBranch(ServedRequest& served, const sched::FinishedRequest& ended);
  void settle(const std::shared_ptr<ChoiceGroup>& group);
  void tellGroup(ChoiceGroup& group);
  void tellEnd(const ServedRequest& served, const sched::FinishedRequest& ended);
  void refuse(const RequestSpec& spec,
              const RequestTimes& times,
              const Error& error,
              Reason reason);
  void remember(const ServedRequest& request, const sched::FinishedRequest& ended);
  std::string explain(const ServedRequest& request, const sched::FinishedRequest& ended) const;

  LoadedModel m_model;
  SessionChannels m_channels;
  kv::KvCache m_cache;
  sched::Scheduler m_scheduler;
  std::unordered_map<RequestId, ServedRequest> m_requests;  // by sequence
  std::unordered_map<RequestId, std::shared_ptr<ChoiceGroup>> m_groups;  // by request
  std::vector<PendingPrompt> m_pending;  // by arrival
  std::uint64_t m_nextChild = kFirstChildId;
  std::deque<RequestSnapshot> m_lastFinished;
};

// The answer to a request that was turned down, wherever that happened.
RequestFinished refusal(RequestId id, const RequestTimes& times, const Error& error);

}  // namespace engine::service
