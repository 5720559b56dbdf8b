// The scheduler's pieces of the published snapshot.
#pragma once

#include <vector>

#include "engine/api/snapshot.h"
#include "engine/sched/scheduler.h"

namespace engine::sched {

// Running requests in admission order, then waiting ones in the order of the queue. Label, rates
// and the times that the scheduler does not know (all but arrival and admission) are the caller's.
std::vector<RequestSnapshot> snapshotRequests(const Scheduler& scheduler);

// By block id; the owner of a shared block is the first running request that holds it.
std::vector<BlockSnapshot> snapshotBlocks(const Scheduler& scheduler);

// Counters of scheduler and pool; lostEvents is the caller's. leakedBlocks: used without a request.
EngineCounters snapshotCounters(const Scheduler& scheduler);

// The plan's part of a step's summary; times are the caller's.
StepSummary summariseStep(const StepPlan& plan);

}  // namespace engine::sched
