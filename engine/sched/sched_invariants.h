// What must hold of the scheduler between steps, and of every plan: violations out.
#pragma once

#include <string>
#include <vector>

#include "engine/sched/scheduler.h"

namespace engine::sched {

// Between steps: queues, states and counters of the requests, and all rules of the KV memory.
std::vector<std::string> findViolations(const Scheduler& scheduler);

// While `plan` is open: budget, tables, slots written once and by their only holder, copies in an
// order that reads before it overwrites.
std::vector<std::string> findPlanViolations(const StepPlan& plan, const Scheduler& scheduler);

}  // namespace engine::sched
