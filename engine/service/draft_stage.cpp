#include "engine/service/draft_stage.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace engine::service {

bool DraftStage::mayDraft(const SchedulerLimits& limits, int numDecoding) {
  if (limits.speculation == SpeculationKind::Off || numDecoding == 0) return false;
  return !limits.speculateAdaptive || m_payoff.mayDraft(numDecoding);
}

// Drafts are used once or not at all: those of a plan that was not carried out are stale.
void DraftStage::clear() {
  if (!m_hasProposed) return;
  for (const sched::Sequence* sequence : m_session.scheduler().running()) {
    if (!sequence->drafts.empty()) m_session.scheduler().setDrafts(sequence->spec.id, {});
  }
  m_hasProposed = false;
}

void DraftStage::propose() {
  clear();
  sched::Scheduler& scheduler = m_session.scheduler();
  const SchedulerLimits& limits = scheduler.limits();
  const auto isDecoding = [](const sched::Sequence* sequence) { return sequence->isDecoding(); };
  const auto numDecoding =
      static_cast<int>(std::ranges::count_if(scheduler.running(), isDecoding));
  if (!mayDraft(limits, numDecoding)) return;
  m_proposals.clear();
  for (const sched::Sequence* sequence : scheduler.running()) {
    if (!sequence->isDecoding()) continue;
    const ServedRequest* served = m_session.find(sequence->spec.id);
    CHECK(served != nullptr);
    const int count = limits.speculateAdaptive ? served->draftLength.next(limits.speculativeTokens)
                                               : limits.speculativeTokens;
    m_proposals.push_back({sequence->spec.id, sequence->tokens, count, {}});
  }
  m_ngrams.propose(m_proposals);
  for (speculate::Proposal& one : m_proposals) {
    if (!one.drafts.empty()) scheduler.setDrafts(one.request, std::move(one.drafts));
  }
  m_hasProposed = true;
}

void DraftStage::recordRow(const sched::PlanRow& row,
                           const speculate::DraftRun& run,
                           std::size_t numTokens) {
  if (row.numDrafts == 0 || run.tokens.empty()) return;
  const std::size_t accepted = run.numAccepted();
  ++m_summary.passes;
  m_summary.drafted += static_cast<std::uint64_t>(row.numDrafts);
  m_summary.accepted += accepted;
  m_summary.tokens += numTokens;
  if (m_summary.acceptedByPosition.size() < run.drafts.size()) {
    m_summary.acceptedByPosition.resize(run.drafts.size(), 0);
  }
  for (std::size_t i = 0; i < accepted; ++i) ++m_summary.acceptedByPosition[i];
  if (ServedRequest* served = m_session.find(row.request)) {
    served->draftLength.record(row.numDrafts, static_cast<int>(accepted));
  }
  for (const speculate::DraftVerdict& one : run.verdicts) {
    m_session.channels().recorder.record(
        DraftRecord{row.request.value, static_cast<std::int32_t>(one.position), one.id, one.p,
                    one.q, one.u, static_cast<std::uint8_t>(one.isAccepted ? 1 : 0)});
  }
}

void DraftStage::recordStep(const sched::StepPlan& plan, std::int64_t numTokens, std::int64_t ns) {
  // steps that also prefill say nothing about the price of a decoded token
  if (plan.prefillTokens > 0 || numTokens == 0) return;
  m_payoff.record(static_cast<int>(plan.rows.size()), static_cast<int>(numTokens), ns,
                  plan.draftTokens > 0);
}

SpeculationSummary DraftStage::summary() const {
  SpeculationSummary summary = m_summary;
  constexpr double kMsPerNs = 1e-6;
  if (const auto plain = m_payoff.plainNsPerToken()) summary.plainMsPerToken = *plain * kMsPerNs;
  if (const auto drafted = m_payoff.draftedNsPerToken()) {
    summary.speculativeMsPerToken = *drafted * kMsPerNs;
  }
  return summary;
}

}  // namespace engine::service
