// Speculation around a step: guesses for the requests that decode before it is planned, and after
// it what they were worth.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/api/snapshot.h"
#include "engine/sched/step_plan.h"
#include "engine/service/model_session.h"
#include "engine/speculate/draft_model.h"
#include "engine/speculate/ngram_proposer.h"
#include "engine/speculate/payoff_meter.h"
#include "engine/speculate/verifier.h"

namespace engine::service {

// Engine thread only. The session must outlive it.
class DraftStage {
 public:
  explicit DraftStage(ModelSession& session);

  // Sets the drafts of every request that may decode in the next step. A draft model stops soon
  // after `cancel` rises.
  void propose(const std::atomic<bool>* cancel);

  // What the request's drafts of this step were drawn from; empty = named for certain.
  std::span<const sample::Distribution> drawnFrom(RequestId request) const;

  // What became of a row with drafts. numTokens: how many tokens came out of it in the end.
  void recordRow(const sched::PlanRow& row, const speculate::DraftRun& run, std::size_t numTokens);
  // A committed step that took `ns` and gave `numTokens`.
  void recordStep(const sched::StepPlan& plan, std::int64_t numTokens, std::int64_t ns);

  SpeculationSummary summary() const;

 private:
  bool mayDraft(const SchedulerLimits& limits, int numDecoding);
  speculate::PayoffMeter::TrialCost trialCost(int numDecoding, int count) const;
  int draftLimit(const SchedulerLimits& limits, int numDecoding) const;
  void clear();
  void forgetEnded();
  void collect(const SchedulerLimits& limits);
  void proposeByModel(const std::atomic<bool>* cancel);

  ModelSession& m_session;
  speculate::NgramProposer m_ngrams;
  std::optional<speculate::DraftModelProposer> m_draftModel;
  double m_weightRatio = 0;  // a step of the draft model in steps of the large one, by its bytes
  double m_catchUpNsPerToken = 0;  // measured; 0 = not yet
  std::int64_t m_catchUpNs = 0;    // of the step being planned
  speculate::PayoffMeter m_payoff;
  std::vector<speculate::Proposal> m_proposals;
  bool m_hasProposed = false;  // some request may still hold drafts
  bool m_hasWarned = false;    // of a draft model that fails
  SpeculationSummary m_summary;
};

}  // namespace engine::service
