#include "engine/sched/sched_snapshot.h"

#include <algorithm>

#include "engine/kv/pool_snapshot.h"

namespace engine::sched {

namespace {

RequestSnapshot snapshotOf(const Sequence& sequence) {
  RequestSnapshot out;
  out.id = sequence.spec.id;
  out.state = sequence.progress.state;
  out.reason = sequence.reason;
  out.reasonA = sequence.reasonA;
  out.reasonB = sequence.reasonB;
  out.promptTokens = sequence.numPrompt();
  out.computedTokens = sequence.progress.numComputed;
  out.totalTokens = sequence.numTokens();
  out.outputTokens = sequence.numOutput();
  out.cachedTokens = std::max<std::int64_t>(0, sequence.progress.cachedTokens);
  out.maxTokens = sequence.spec.maxTokens;
  out.preemptions = sequence.progress.preemptions;
  out.prefixMiss = sequence.prefixMiss;
  out.prefixMissPosition = sequence.prefixMissPosition;
  out.times.arrivalNs = sequence.spec.arrivalNs;
  out.times.admittedNs = sequence.progress.admittedNs;
  out.blocks.assign(sequence.table.blocks().begin(), sequence.table.blocks().end());
  return out;
}

}  // namespace

std::vector<RequestSnapshot> snapshotRequests(const Scheduler& scheduler) {
  std::vector<RequestSnapshot> requests;
  requests.reserve(scheduler.numRunning() + scheduler.numWaiting());
  for (const Sequence* sequence : scheduler.running()) requests.push_back(snapshotOf(*sequence));
  for (const Sequence* sequence : scheduler.waiting()) requests.push_back(snapshotOf(*sequence));
  return requests;
}

std::vector<BlockSnapshot> snapshotBlocks(const Scheduler& scheduler) {
  std::vector<BlockSnapshot> blocks = kv::snapshotBlocks(scheduler.cache());
  std::vector<bool> isNamed(blocks.size(), false);
  for (const Sequence* sequence : scheduler.running()) {
    std::int32_t logical = 0;
    for (const BlockId id : sequence->table.blocks()) {
      const auto i = static_cast<std::size_t>(id.value);
      if (!isNamed[i]) {
        blocks[i].owner = sequence->spec.id;
        blocks[i].logical = logical;
        isNamed[i] = true;
      }
      ++logical;
    }
  }
  return blocks;
}

EngineCounters snapshotCounters(const Scheduler& scheduler) {
  const SchedulerCounters& own = scheduler.counters();
  const kv::PoolCounters& pool = scheduler.cache().pool().counters();
  EngineCounters out;
  out.steps = own.steps;
  out.preemptions = own.preemptions;
  out.swaps = own.swaps;
  out.cowCopies = pool.cowCopies;
  out.prefixQueries = own.prefixQueries;
  out.prefixHits = own.prefixHits;
  out.evictions = pool.evictions;
  out.promptTokens = own.promptTokens;
  out.generatedTokens = own.generatedTokens;
  out.peakBlocks = pool.peakUsed;
  out.paddedTokens = own.paddedTokens;
  out.idleSlotSteps = own.idleSlotSteps;
  out.usedSlotSteps = own.usedSlotSteps;
  out.emptySlotSteps = own.emptySlotSteps;
  out.freeBlockSteps = own.freeBlockSteps;
  out.strandedBlockSteps = own.strandedBlockSteps;
  std::vector<bool> isHeld(static_cast<std::size_t>(scheduler.cache().pool().numBlocks()), false);
  std::int64_t held = 0;
  for (const Sequence* sequence : scheduler.running()) {
    for (const BlockId id : sequence->table.blocks()) {
      if (isHeld[static_cast<std::size_t>(id.value)]) continue;
      isHeld[static_cast<std::size_t>(id.value)] = true;
      ++held;
    }
  }
  out.leakedBlocks = scheduler.cache().pool().numUsed() - held;
  return out;
}

StepSummary summariseStep(const StepPlan& plan) {
  StepSummary out;
  out.id = plan.id;
  out.budget = plan.budget;
  out.prefillTokens = plan.prefillTokens;
  out.decodeTokens = plan.decodeTokens;
  out.draftTokens = plan.draftTokens;
  out.limit = plan.limit;
  for (const PlanRow& row : plan.rows) {
    out.decisions.push_back({row.request, row.reason, row.numTokens, row.a, row.b});
  }
  out.decisions.insert(out.decisions.end(), plan.rowless.begin(), plan.rowless.end());
  return out;
}

}  // namespace engine::sched
