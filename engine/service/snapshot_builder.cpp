#include "engine/service/snapshot_builder.h"

#include <utility>

#include "engine/kv/pool_snapshot.h"
#include "engine/sched/sched_snapshot.h"

namespace engine::service {

namespace {

void addServiceSide(RequestSnapshot& snapshot, ServedRequest& served, std::int64_t nowNs) {
  snapshot.label = served.spec.label;
  snapshot.parent = served.parent;
  snapshot.choice = served.choice;
  snapshot.cumulativeLogprob = served.cumulativeLogprob;
  snapshot.times = served.times;
  snapshot.tokensPerSecond = served.rate.perSecond(nowNs);
}

}  // namespace

RequestSnapshot tokenisingSnapshot(const RequestSpec& spec, std::int64_t arrivalNs) {
  RequestSnapshot request;
  request.id = spec.id;
  request.label = spec.label;
  request.state = RequestState::Tokenising;
  request.reason = Reason::WaitsStart;
  request.maxTokens = spec.sampling.maxTokens;
  request.times.arrivalNs = arrivalNs;
  return request;
}

void addSession(EngineSnapshot& snapshot, ModelSession& session, EngineStep& step) {
  const sched::Scheduler& scheduler = session.scheduler();
  snapshot.model = session.model().info;
  snapshot.blocks = sched::snapshotBlocks(scheduler);
  snapshot.pool = kv::summarisePool(session.cache());
  snapshot.requests = sched::snapshotRequests(scheduler);
  for (RequestSnapshot& request : snapshot.requests) {
    if (ServedRequest* served = session.find(request.id)) {
      addServiceSide(request, *served, snapshot.timeNs);
    }
  }
  for (const PendingPrompt& pending : session.pendingPrompts()) {
    snapshot.requests.push_back(tokenisingSnapshot(pending.spec, pending.times.arrivalNs));
  }
  snapshot.requests.insert(snapshot.requests.end(), session.lastFinished().begin(),
                           session.lastFinished().end());
  snapshot.counters = sched::snapshotCounters(scheduler);
  snapshot.counters.lostEvents = session.channels().recorder.numLost();
  snapshot.speculation = step.speculation();
  snapshot.lastStep = step.lastSummary();
  snapshot.decodeTokensPerSecond = step.decodeTokensPerSecond(snapshot.timeNs);
  snapshot.prefillTokensPerSecond = step.prefillTokensPerSecond(snapshot.timeNs);
}

}  // namespace engine::service
