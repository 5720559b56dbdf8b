// One step of the engine as a transaction: plan, reserve, execute, sample, commit, publish. A step
// that does not reach commit leaves nothing behind.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/api/accounting.h"
#include "engine/api/snapshot.h"
#include "engine/sample/row_tiles.h"
#include "engine/sample/sampler.h"
#include "engine/service/beam_stage.h"
#include "engine/service/draft_stage.h"
#include "engine/service/model_session.h"
#include "engine/service/step_gate.h"
#include "engine/service/swap_store.h"
#include "engine/speculate/verifier.h"

namespace engine::service {

enum class StepOutcome : std::uint8_t {
  NoWork,  // nothing to compute now; wakeAtNs() says when that may change
  Committed,
  Interrupted,  // a command came first; nothing happened
  Failed,       // abandoned: one request was ended for it, see error()
};

// Engine thread only. Session and gate must outlive it.
class EngineStep {
 public:
  // hasCommands: whether the front end has sent something since the mailbox was last emptied.
  // checkInvariants: look at every plan and every state behind it; a violation throws.
  EngineStep(ModelSession& session,
             StepGate& gate,
             std::function<bool()> hasCommands,
             bool checkInvariants);

  StepOutcome run();

  std::int64_t wakeAtNs() const { return m_plan.wakeAtNs; }  // -1 = no time to wait for

  const Error& error() const { return m_error; }

  const StepSummary& lastSummary() const { return m_summary; }

  SpeculationSummary speculation() const { return m_drafts.summary(); }

  double decodeTokensPerSecond(std::int64_t nowNs) { return m_decodeRate.perSecond(nowNs); }

  double prefillTokensPerSecond(std::int64_t nowNs) { return m_prefillRate.perSecond(nowNs); }

 private:
  // A sample that began with this step.
  struct BranchOutcome {
    RequestId id;
    SampledToken token;
    std::string text;
  };

  // What became of one row of the plan.
  struct RowOutcome {
    speculate::DraftRun run;
    std::vector<TokenId> ids;  // of the run, as far as the request goes
    std::string text;
    FinishReason finish = FinishReason::None;
    std::optional<Error> failure;
    std::vector<SampledToken> firstOfOthers;  // of the samples 1, 2, ... that split off here
    std::vector<BranchOutcome> branches;      // the same, as sequences
    std::vector<sched::Branch> planned;       // the same, for the scheduler
    bool holds = false;                       // a beam: its candidates instead of a token
    std::vector<sample::BeamCandidate> candidates;
  };

  // One row of logits and what is known of its tiles, perhaps nothing.
  struct LogitsRow {
    std::span<const float> logits;
    std::span<const sample::TileSummary> tiles;
  };

  // What a thread samples with, and what it could not throw there.
  struct SamplingThread {
    sample::Sampler sampler;
    std::exception_ptr fault;
  };

  bool plan();
  void propose();
  bool reserve();
  Result<void> execute();
  Result<void> moveBlocks();
  void expectLogits();
  void sample(int first, int count, const float* logits);
  void commit();
  void publish();

  StepOutcome abandon(const Error& error);
  std::span<const TokenId> draftsOf(std::size_t row) const;
  void sampleRow(std::size_t row, const LogitsRow& logits, sample::Sampler& sampler);
  speculate::RunContext contextOf(ServedRequest& served, const sched::PlanRow& row) const;
  void sampleOthers(std::size_t row, const LogitsRow& logits, sample::Sampler& sampler);
  void sampleBeam(std::size_t row, const LogitsRow& logits, sample::Sampler& sampler);
  void feedText(std::size_t row);
  void branchOff(std::size_t row);
  void publishBranch(std::size_t row, BranchOutcome& branch);
  void noteTokens(RequestId id, std::int64_t count);
  void settleTold(RequestId id);
  void publishToken(const sched::PlanRow& row, const speculate::DraftRun& run, std::size_t index);
  std::int64_t numNewTokens() const;
  void publishEntries();
  void publishRow(std::size_t row);
  void publishIteration();
  accounting::StepCost costOfPlan() const;
  void summarize();

  ModelSession& m_session;
  StepGate& m_gate;
  std::function<bool()> m_hasCommands;
  const bool m_checkInvariants;
  std::vector<SamplingThread> m_samplingThreads;  // as many as the executor's
  DraftStage m_drafts;
  BeamStage m_beams;
  SwapStore m_swapStore;

  const sched::StepPlan& m_plan;  // the scheduler's own
  std::vector<exec::SequenceRows> m_rows;
  sample::RowTiles m_rowTiles;             // of the rows of logits that come next
  std::vector<std::size_t> m_sampledRows;  // plan row of each logits row
  std::vector<int> m_firstRows;            // of each sequence among the logits rows at hand
  std::vector<RowOutcome> m_outcomes;      // by plan row
  std::vector<sched::RowResult> m_results;
  std::vector<sched::FinishedRequest> m_ended;
  std::int64_t m_t0Ns = 0, m_t1Ns = 0, m_executedNs = 0;
  std::int64_t m_scheduleNs = 0, m_modelNs = 0, m_sampleNs = 0;
  kernels::OpsCounters m_opsCounters;
  Error m_error;
  StepSummary m_summary;
  RateMeter m_decodeRate, m_prefillRate;
};

}  // namespace engine::service
