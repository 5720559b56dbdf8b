// A scheduler over a small cache and the pretend executor: whole steps in one call, checked.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/sched/sched_invariants.h"
#include "engine/sched/sched_snapshot.h"
#include "engine/sched/scheduler.h"
#include "tests/support/kv_rig.h"
#include "tests/support/toy_executor.h"

namespace support {

struct SchedRig {
  static constexpr engine::TokenId kVocab = 1000;

  SchedRig(const engine::kv::KvCacheConfig& config, const engine::SchedulerLimits& limits)
      : cache(config, [this](const engine::BlockRecord& record) { events.push_back(record); }),
        toy(config.numBlocks, config.blockSize, kVocab),
        scheduler(cache, config.maxContext, limits) {}

  SchedRig(std::int64_t numBlocks, int blockSize, const engine::SchedulerLimits& limits)
      : SchedRig(pagedConfig(numBlocks, blockSize), limits) {}

  static engine::sched::SequenceSpec spec(std::uint64_t id,
                                          std::vector<engine::TokenId> prompt,
                                          std::int64_t maxTokens) {
    engine::sched::SequenceSpec one;
    one.id = engine::RequestId(id);
    one.promptIds = std::move(prompt);
    one.maxTokens = maxTokens;
    return one;
  }

  // A prompt of its own: no two ids share a prefix.
  bool submit(std::uint64_t id, std::int64_t promptTokens, std::int64_t maxTokens) {
    const auto first = static_cast<engine::TokenId>(id) * 10000;
    return !scheduler.submit(spec(id, countingTokens(promptTokens, first), maxTokens));
  }

  // Plans, executes and commits. Throws what an invariant or the executor finds wrong.
  const engine::sched::StepPlan& step() {
    plan = scheduler.plan(nowNs);
    require(findPlanViolations(plan, scheduler));
    std::vector<std::vector<engine::TokenId>> sampled;
    const auto tokensOf = [this](engine::RequestId id) {
      return std::span<const engine::TokenId>(scheduler.find(id)->tokens);
    };
    const std::string wrong = toy.execute(plan, tokensOf, sampled);
    if (!wrong.empty()) throw std::runtime_error(wrong);
    std::vector<engine::sched::RowResult> results(plan.rows.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      results[i].tokens = sampled[i];
      auto& own = outputs[plan.rows[i].request.value];
      own.insert(own.end(), sampled[i].begin(), sampled[i].end());
    }
    for (const auto& one : scheduler.commitStep(results)) ended[one.request.value] = one;
    require(findViolations(scheduler));
    for (engine::sched::PlanRow& row : plan.rows) row.blockTable = {};  // no longer valid
    return plan;
  }

  // Returns the number of steps.
  int runToEnd() {
    int steps = 0;
    while (scheduler.hasWork()) {
      step();
      if (++steps > 100000) throw std::runtime_error("no end in sight");
    }
    return steps;
  }

  const engine::sched::Sequence& at(std::uint64_t id) const {
    const engine::sched::Sequence* found = scheduler.find(engine::RequestId(id));
    if (found == nullptr) throw std::runtime_error("not there: " + std::to_string(id));
    return *found;
  }

  engine::Decision decision(std::uint64_t id) const {
    for (const engine::Decision& one : summariseStep(plan).decisions) {
      if (one.request.value == id) return one;
    }
    throw std::runtime_error("no decision on " + std::to_string(id));
  }

  // Tokens of the last step for a request, 0 when it had no row.
  int tokensOf(std::uint64_t id) const {
    for (const auto& row : plan.rows) {
      if (row.request.value == id) return row.numTokens;
    }
    return 0;
  }

  static void require(const std::vector<std::string>& violations) {
    if (!violations.empty()) throw std::runtime_error(violations.front());
  }

  std::vector<engine::BlockRecord> events;
  engine::kv::KvCache cache;
  ToyExecutor toy;
  engine::sched::Scheduler scheduler;
  engine::sched::StepPlan plan;  // the last step's; its tables are gone
  std::map<std::uint64_t, std::vector<engine::TokenId>> outputs;
  std::map<std::uint64_t, engine::sched::FinishedRequest> ended;
  std::int64_t nowNs = 0;
};

}  // namespace support
