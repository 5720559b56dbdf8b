#include "engine/service/snapshot_builder.h"

#include <utility>

#include "engine/sched/sched_snapshot.h"

namespace engine::service {

namespace {

// Share of slots in used blocks that hold nothing.
double internalFragmentation(const std::vector<BlockSnapshot>& blocks, int blockSize) {
  std::int64_t slots = 0, filled = 0;
  for (const BlockSnapshot& block : blocks) {
    if (block.state != BlockState::Used) continue;
    slots += blockSize;
    filled += block.filled;
  }
  return slots == 0 ? 0.0 : 1.0 - static_cast<double>(filled) / static_cast<double>(slots);
}

PoolSummary summarizePool(const kv::KvCache& cache, const std::vector<BlockSnapshot>& blocks) {
  const kv::BlockPool& pool = cache.pool();
  PoolSummary summary;
  summary.blockSize = pool.blockSize();
  summary.numBlocks = pool.numBlocks();
  summary.freeBlocks = pool.numFree();
  summary.cachedBlocks = pool.numCached();
  summary.usedBlocks = pool.numUsed();
  summary.internalFragmentation = internalFragmentation(blocks, pool.blockSize());
  return summary;
}

void addServiceSide(RequestSnapshot& snapshot, ServedRequest& served, std::int64_t nowNs) {
  snapshot.label = served.spec.label;
  snapshot.parent = served.parent;
  snapshot.choice = served.choice;
  snapshot.cumulativeLogprob = served.cumulativeLogprob;
  snapshot.times = served.times;
  snapshot.tokensPerSecond = served.rate.perSecond(nowNs);
}

}  // namespace

void addSession(EngineSnapshot& snapshot, ModelSession& session, EngineStep& step) {
  const sched::Scheduler& scheduler = session.scheduler();
  snapshot.model = session.model().info;
  snapshot.blocks = sched::snapshotBlocks(scheduler);
  snapshot.pool = summarizePool(session.cache(), snapshot.blocks);
  snapshot.requests = sched::snapshotRequests(scheduler);
  for (RequestSnapshot& request : snapshot.requests) {
    if (ServedRequest* served = session.find(request.id)) {
      addServiceSide(request, *served, snapshot.timeNs);
    }
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
