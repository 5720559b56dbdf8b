// One engine under a virtual clock: the real scheduler and the real cache decide, a cost model says
// how long each step takes, and tokens are drawn from a seed instead of computed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/api/request.h"
#include "engine/api/snapshot.h"
#include "engine/kv/kv_cache.h"
#include "engine/sched/scheduler.h"
#include "engine/sim/cost_model.h"
#include "engine/sim/serving_metrics.h"

namespace engine::sim {

// Who guesses tokens ahead. A guess at place i of a pass that got so far holds with probability
// acceptance[i], or the last entry's behind the end. `draft` is charged one pass a guess; without it
// (n-gram lookup) guesses cost nothing but their verification.
struct SimulatedDrafts {
  std::vector<double> acceptance;
  std::optional<CostModel> draft;
};

struct SimulatedEngineConfig {
  SchedulerLimits limits;
  kv::KvCacheConfig cache;
  std::int64_t maxContext = 0;
  std::optional<SimulatedDrafts> drafts;  // limits.speculativeTokens a pass
  // Prompts come with their keys and values already computed (a decode pool): the first time, they
  // cost nothing.
  bool hasComputedPrompts = false;
  std::uint64_t seed = 0;
};

struct SimulatedRequest {
  std::size_t index = 0;  // in the workload; unique
  double arrivalMs = 0;
  std::vector<TokenId> promptIds;
  std::int64_t maxTokens = 1;
  int priority = 0;
  SloTarget slo;
};

struct SimulatedAnswer {
  std::size_t index = 0;
  FinishReason finish = FinishReason::None;
  std::string explanation;      // of a refusal
  std::vector<double> tokenMs;  // end of each step that gave it tokens
  std::int64_t outputTokens = 0, cachedTokens = 0;
  int preemptions = 0;
};

// One thread.
class SimulatedEngine {
 public:
  SimulatedEngine(const SimulatedEngineConfig& config, CostModel cost);

  // Requests come in the order of their arrival; advanceTo() their arrival first.
  void submit(SimulatedRequest request);
  // Runs every step that begins before this time; an idle engine waits.
  void advanceTo(double ms);
  // Runs until nothing is left.
  void runToEnd();

  // Answers that have ended since the last call.
  std::vector<SimulatedAnswer> takeAnswers();

  double nowMs() const { return m_nowMs; }

  // Tokens that its open requests have still to compute, at most: what a router compares.
  std::int64_t outstandingTokens() const { return m_outstanding; }

  // As a live engine counts them; swaps and lost events are the scheduler's and none.
  EngineCounters counters() const;
  const SpeculationSummary& speculation() const { return m_speculation; }
  double busyMs() const { return m_busyMs; }

 private:
  struct Open {
    SimulatedAnswer answer;
    std::int64_t work = 0;  // its part of m_outstanding
    std::int64_t importedTokens = 0;
  };

  bool step(double horizonMs);
  void propose();
  double costMs(const sched::StepPlan& plan);
  double draftSeconds(const sched::StepPlan& plan) const;
  std::int64_t importedRows(const sched::PlanRow& row);
  std::vector<std::vector<TokenId>> sample(const sched::StepPlan& plan);
  void deliver(const sched::StepPlan& plan, const std::vector<std::vector<TokenId>>& tokens);
  void close(const sched::FinishedRequest& ended);

  const SimulatedEngineConfig m_config;
  const CostModel m_cost;
  kv::KvCache m_cache;
  sched::Scheduler m_scheduler;
  std::unordered_map<std::size_t, Open> m_open;
  std::vector<SimulatedAnswer> m_ended;
  std::vector<accounting::RowCost> m_rows;  // scratch
  double m_nowMs = 0, m_busyMs = 0;
  std::int64_t m_outstanding = 0;
  int m_numEmpty = 0;  // steps without a row, in a row
  SpeculationSummary m_speculation;
};

}  // namespace engine::sim
