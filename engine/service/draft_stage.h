// Speculation around a step: guesses for the requests that decode before it is planned, and after
// it what they were worth.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/api/snapshot.h"
#include "engine/sched/step_plan.h"
#include "engine/service/model_session.h"
#include "engine/speculate/ngram_proposer.h"
#include "engine/speculate/payoff_meter.h"
#include "engine/speculate/verifier.h"

namespace engine::service {

// Engine thread only. The session must outlive it.
class DraftStage {
 public:
  explicit DraftStage(ModelSession& session) : m_session(session) {}

  // Sets the drafts of every request that may decode in the next step.
  void propose();

  // What became of a row with drafts. numTokens: how many tokens came out of it in the end.
  void recordRow(const sched::PlanRow& row, const speculate::DraftRun& run, std::size_t numTokens);
  // A committed step that took `ns` and gave `numTokens`.
  void recordStep(const sched::StepPlan& plan, std::int64_t numTokens, std::int64_t ns);

  SpeculationSummary summary() const;

 private:
  bool mayDraft(const SchedulerLimits& limits, int numDecoding);
  void clear();

  ModelSession& m_session;
  speculate::NgramProposer m_ngrams;
  speculate::PayoffMeter m_payoff;
  std::vector<speculate::Proposal> m_proposals;
  bool m_hasProposed = false;  // some request may still hold drafts
  SpeculationSummary m_summary;
};

}  // namespace engine::service
