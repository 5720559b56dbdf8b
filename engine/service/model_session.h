// A loaded model with its cache, its scheduler and the requests it serves.
#pragma once

#include <deque>
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

// Engine thread only.
class ModelSession {
 public:
  ModelSession(LoadedModel model, const EngineConfig& config, const SessionChannels& channels);

  // Answers with RequestStarted, or with RequestFinished that says why not.
  void submit(RequestSpec spec, std::int64_t arrivalNs);
  // Nothing when the id is not known: it has ended already.
  void cancel(RequestId id);
  // Ends the request as failed with the error's sentence.
  void fail(RequestId id, const Error& error);
  // Ends everything, each with this sentence.
  void endAll(FinishReason reason, const std::string& sentence);
  // The scheduler ended it: tells the front end and forgets it.
  void close(const sched::FinishedRequest& ended);

  ServedRequest* find(RequestId id);

  const std::unordered_map<RequestId, ServedRequest>& requests() const { return m_requests; }

  const LoadedModel& model() const { return m_model; }

  exec::Executor& executor() { return *m_model.executor; }

  sched::Scheduler& scheduler() { return m_scheduler; }

  const sched::Scheduler& scheduler() const { return m_scheduler; }

  const kv::KvCache& cache() const { return m_cache; }

  const SessionChannels& channels() const { return m_channels; }

  // Newest last, a bounded number.
  const std::deque<RequestSnapshot>& lastFinished() const { return m_lastFinished; }

  void record(RequestId id, RequestEvent event, Reason reason, std::int64_t a, std::int64_t b);

 private:
  Result<std::vector<TokenId>> prepare(const RequestSpec& spec);
  void enqueue(RequestSpec spec, std::vector<TokenId> promptIds, RequestTimes times);
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
  std::unordered_map<RequestId, ServedRequest> m_requests;
  std::deque<RequestSnapshot> m_lastFinished;
};

// The answer to a request that was turned down, wherever that happened.
RequestFinished refusal(RequestId id, const RequestTimes& times, const Error& error);

}  // namespace engine::service
