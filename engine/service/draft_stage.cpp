#include "engine/service/draft_stage.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace engine::service {

namespace {

// Of a decode step's time, by which a draft model is guessed to take in a token of a prompt.
constexpr double kAssumedPrefillShare = 0.1;
constexpr std::int64_t kCatchUpTokens = 512;  // at most, a step

double weightBytesOf(const exec::Executor& executor) {
  return static_cast<double>(executor.info().weightBytes);
}

}  // namespace

DraftStage::DraftStage(ModelSession& session) : m_session(session) {
  exec::Executor* draft = session.draft();
  if (draft == nullptr) return;
  speculate::DraftModelConfig config;
  config.maxContext = session.model().draftContext;
  config.vocabSize = session.executor().vocabSize();
  config.identity = "draft";
  m_draftModel.emplace(*draft, config);
  const double large = weightBytesOf(session.executor());
  if (large > 0) m_weightRatio = weightBytesOf(*draft) / large;
}

bool DraftStage::mayDraft(const SchedulerLimits& limits, int numDecoding) {
  if (limits.speculation == SpeculationKind::Off || numDecoding == 0) return false;
  if (limits.speculation == SpeculationKind::Draft && !m_draftModel) return false;
  if (!limits.speculateAdaptive) return true;
  if (!m_payoff.isOnTrial(numDecoding)) return m_payoff.mayDraft(numDecoding);
  return m_payoff.mayDraft(numDecoding,
                           trialCost(numDecoding, draftLimit(limits, numDecoding)));
}

// Until the draft model has shown that it pays it names one token a pass: when that costs more than
// it brings, more tokens do so too.
int DraftStage::draftLimit(const SchedulerLimits& limits, int numDecoding) const {
  const bool isModel = limits.speculation == SpeculationKind::Draft;
  const bool isTried = limits.speculateAdaptive && m_payoff.isOnTrial(numDecoding);
  return isModel && isTried ? 1 : limits.speculativeTokens;
}

speculate::PayoffMeter::TrialCost DraftStage::trialCost(int numDecoding, int count) const {
  speculate::PayoffMeter::TrialCost cost;
  if (m_session.scheduler().limits().speculation != SpeculationKind::Draft) return cost;
  cost.steps = speculate::PayoffMeter::kTrialSteps * m_weightRatio * count;
  const double plainNs = m_payoff.plainNsPerToken().value_or(0.0) * numDecoding;
  const double perToken = m_catchUpNsPerToken > 0
                              ? m_catchUpNsPerToken
                              : plainNs * m_weightRatio * kAssumedPrefillShare;
  std::vector<speculate::Proposal> all;
  for (const sched::Sequence* sequence : m_session.scheduler().running()) {
    if (!sequence->isDecoding()) continue;
    all.emplace_back().request = sequence->spec.id;
    all.back().tokens = sequence->tokens;
  }
  cost.ns = perToken * static_cast<double>(m_draftModel->numBehind(all));
  return cost;
}

std::span<const sample::Distribution> DraftStage::drawnFrom(RequestId request) const {
  const auto found = std::ranges::find(m_proposals, request, &speculate::Proposal::request);
  return found == m_proposals.end() ? std::span<const sample::Distribution>() : found->drawnFrom;
}

// Drafts are used once or not at all: those of a plan that was not carried out are stale.
void DraftStage::clear() {
  if (!m_hasProposed) return;
  for (const sched::Sequence* sequence : m_session.scheduler().running()) {
    if (!sequence->drafts.empty()) m_session.scheduler().setDrafts(sequence->spec.id, {});
  }
  m_hasProposed = false;
}

void DraftStage::propose(const std::atomic<bool>* cancel) {
  clear();
  m_catchUpNs = 0;
  m_proposals.clear();
  sched::Scheduler& scheduler = m_session.scheduler();
  const SchedulerLimits& limits = scheduler.limits();
  forgetEnded();
  const auto isDecoding = [](const sched::Sequence* sequence) { return sequence->isDecoding(); };
  const auto numDecoding =
      static_cast<int>(std::ranges::count_if(scheduler.running(), isDecoding));
  if (!mayDraft(limits, numDecoding)) return;
  collect(limits);
  if (limits.speculation == SpeculationKind::Draft) {
    proposeByModel(cancel);
  } else {
    m_ngrams.propose(m_proposals);
  }
  for (speculate::Proposal& one : m_proposals) {
    if (!one.drafts.empty()) scheduler.setDrafts(one.request, std::move(one.drafts));
  }
  m_hasProposed = true;
}

void DraftStage::forgetEnded() {
  if (!m_draftModel) return;
  m_draftModel->keepOnly(
      [this](RequestId id) { return m_session.scheduler().find(id) != nullptr; });
}

void DraftStage::collect(const SchedulerLimits& limits) {
  int numDecoding = 0;
  for (const sched::Sequence* sequence : m_session.scheduler().running()) {
    numDecoding += sequence->isDecoding() ? 1 : 0;
  }
  const int limit = draftLimit(limits, numDecoding);
  for (const sched::Sequence* sequence : m_session.scheduler().running()) {
    if (!sequence->isDecoding()) continue;
    ServedRequest* served = m_session.find(sequence->spec.id);
    CHECK(served != nullptr);
    if (served->isBeam()) continue;
    speculate::Proposal& one = m_proposals.emplace_back();
    one.request = sequence->spec.id;
    one.tokens = sequence->tokens;
    // beyond the answer's end nothing is asked for
    const std::int64_t left = sequence->spec.maxTokens - sequence->numOutput() - 1;
    const int count = limits.speculateAdaptive ? served->draftLength.next(limit) : limit;
    one.count = static_cast<int>(std::min<std::int64_t>(count, left));
    one.params = &served->spec.sampling;
    one.history = &served->history;
    one.sample = static_cast<std::uint64_t>(served->choice);
    one.cacheNamespace = served->spec.cacheNamespace;
  }
}

void DraftStage::proposeByModel(const std::atomic<bool>* cancel) {
  const Clock& clock = m_session.channels().clock;
  m_draftModel->setCancel(cancel);
  const std::int64_t beginNs = clock.nowNs();
  const std::int64_t caughtUp = m_draftModel->catchUp(m_proposals, kCatchUpTokens);
  if (caughtUp > 0) {
    m_catchUpNs = clock.nowNs() - beginNs;
    m_catchUpNsPerToken = static_cast<double>(m_catchUpNs) / static_cast<double>(caughtUp);
    m_payoff.recordCatchUp(m_catchUpNs);
  }
  if (!m_draftModel->error()) m_draftModel->propose(m_proposals);
  const std::optional<Error>& error = m_draftModel->error();
  if (!error || error->code == ErrorCode::Cancelled || m_hasWarned) return;
  m_hasWarned = true;
  m_session.channels().outbox.push(Notice{
      Severity::Warning, "the draft model failed and steps go on without it: " + error->message});
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
  m_summary.draftedByPosition.resize(m_summary.acceptedByPosition.size(), 0);
  for (std::size_t i = 0; i < run.drafts.size(); ++i) ++m_summary.draftedByPosition[i];
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
  forgetEnded();
  // steps that also prefill say nothing about the price of a decoded token
  ns -= m_catchUpNs;
  if (plan.prefillTokens > 0 || numTokens == 0) return m_payoff.recordOther(ns);
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
  if (const auto saved = m_payoff.savedNs()) summary.savedMs = *saved * kMsPerNs;
  if (m_draftModel) {
    summary.draftBlocks = m_draftModel->pool().numBlocks();
    summary.draftBlocksUsed = m_draftModel->pool().numUsed();
  }
  return summary;
}

}  // namespace engine::service
