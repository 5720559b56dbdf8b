#include "engine/sim/simulated_engine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/random.h"
#include "engine/sched/sched_snapshot.h"

namespace engine::sim {

namespace {

constexpr double kNsPerMs = 1e6;
constexpr int kMaxEmptySteps = 3;
// Ids of drawn output tokens and guesses: what they are does not matter, that they differ between
// requests does.
constexpr double kDrawnIds = 1 << 30;

std::int64_t toNs(double ms) {
  return std::llround(ms * kNsPerMs);  // a time to wake at must not come out before itself
}

TokenId drawToken(std::uint64_t seed, std::uint64_t request, std::int64_t position) {
  return static_cast<TokenId>(
      kDrawnIds *
      counterDraw(seed, request, static_cast<std::uint64_t>(position), DrawStream::Sample));
}

}  // namespace

SimulatedEngine::SimulatedEngine(const SimulatedEngineConfig& config, CostModel cost)
    : m_config(config),
      m_cost(std::move(cost)),
      m_cache(config.cache),
      m_scheduler(m_cache, config.maxContext, config.limits) {}

void SimulatedEngine::submit(SimulatedRequest request) {
  Open open;
  open.answer.index = request.index;
  const auto promptTokens = static_cast<std::int64_t>(request.promptIds.size());
  if (m_config.hasComputedPrompts) open.importedTokens = promptTokens - 1;
  open.work = promptTokens - open.importedTokens + request.maxTokens;
  sched::SequenceSpec spec;
  spec.id = RequestId(request.index);
  spec.promptIds = std::move(request.promptIds);
  spec.maxTokens = request.maxTokens;
  spec.priority = request.priority;
  spec.arrivalNs = toNs(request.arrivalMs);
  spec.slo = request.slo;
  if (const auto refusal = m_scheduler.submit(std::move(spec))) {
    open.answer.finish = FinishReason::Refused;
    open.answer.explanation = reasonText(refusal->reason, refusal->a, refusal->b);
    m_ended.push_back(std::move(open.answer));
    return;
  }
  m_outstanding += open.work;
  m_open.emplace(request.index, std::move(open));
}

void SimulatedEngine::advanceTo(double ms) {
  while (m_nowMs < ms && m_scheduler.hasWork() && step(ms)) continue;
  m_nowMs = std::max(m_nowMs, ms);
}

void SimulatedEngine::runToEnd() {
  while (m_scheduler.hasWork()) step(std::numeric_limits<double>::infinity());
}

// False when there is nothing to do before the horizon.
bool SimulatedEngine::step(double horizonMs) {
  propose();
  const sched::StepPlan& plan = m_scheduler.plan(toNs(m_nowMs));
  if (plan.isEmpty()) {
    const std::int64_t wakeAtNs = plan.wakeAtNs;
    for (const sched::FinishedRequest& ended : m_scheduler.commitStep({})) close(ended);
    // once a step may be empty because it preempted its only row; a second one would never end
    m_numEmpty = wakeAtNs >= 0 ? 0 : m_numEmpty + 1;
    CHECK(m_numEmpty < kMaxEmptySteps);
    m_nowMs = std::max(m_nowMs, std::min(horizonMs, static_cast<double>(wakeAtNs) / kNsPerMs));
    return m_nowMs < horizonMs;
  }
  m_numEmpty = 0;
  const double durationMs = costMs(plan);
  m_nowMs += durationMs;
  m_busyMs += durationMs;
  const std::vector<std::vector<TokenId>> tokens = sample(plan);
  deliver(plan, tokens);
  std::vector<sched::RowResult> results;
  for (const auto& row : tokens) results.push_back({row, FinishReason::None});
  for (const sched::FinishedRequest& ended : m_scheduler.commitStep(results)) close(ended);
  return true;
}

void SimulatedEngine::propose() {
  if (!m_config.drafts || m_config.limits.speculation == SpeculationKind::Off) return;
  for (const sched::Sequence* sequence : m_scheduler.running()) {
    if (!sequence->isDecoding()) continue;
    std::vector<TokenId> guesses;
    for (int i = 0; i < m_config.limits.speculativeTokens; ++i) {
      guesses.push_back(
          drawToken(m_config.seed, sequence->spec.id.value, sequence->numTokens() + i));
    }
    m_scheduler.setDrafts(sequence->spec.id, std::move(guesses));
  }
}

// Tokens of the row whose keys and values came with the request.
std::int64_t SimulatedEngine::importedRows(const sched::PlanRow& row) {
  Open& open = m_open.at(row.request.value);
  if (row.entry == sched::RowEntry::Resumed) open.importedTokens = 0;  // lost with its blocks
  return std::clamp<std::int64_t>(open.importedTokens - row.firstPosition, 0, row.numTokens);
}

double SimulatedEngine::costMs(const sched::StepPlan& plan) {
  m_rows.clear();
  for (const sched::PlanRow& row : plan.rows) {
    const std::int64_t tokens = row.numTokens - importedRows(row);
    if (tokens > 0) m_rows.push_back({tokens, row.kvLength(), row.samples ? 1 + row.numDrafts : 0});
  }
  return 1e3 * (m_cost.stepSeconds(m_rows) + draftSeconds(plan));
}

// The draft model reads what is prefilled too, and guesses one token a pass for all at once.
double SimulatedEngine::draftSeconds(const sched::StepPlan& plan) const {
  if (!m_config.drafts || !m_config.drafts->draft) return 0;
  const CostModel& draft = *m_config.drafts->draft;
  std::vector<accounting::RowCost> prefill, guessing;
  int passes = 0;
  for (const sched::PlanRow& row : plan.rows) {
    if (row.phase == SlicePhase::Prefill) prefill.push_back({row.numTokens, row.kvLength(), 0});
    if (row.numDrafts == 0) continue;
    guessing.push_back({1, row.kvLength() - row.numDrafts, 1});
    passes = std::max(passes, row.numDrafts);
  }
  return draft.stepSeconds(prefill) + passes * draft.stepSeconds(guessing);
}

// Accepted guesses, then one token more, as verification gives them.
std::vector<std::vector<TokenId>> SimulatedEngine::sample(const sched::StepPlan& plan) {
  std::vector<std::vector<TokenId>> tokens(plan.rows.size());
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    const sched::PlanRow& row = plan.rows[i];
    if (!row.samples) continue;
    const std::uint64_t request = row.request.value;
    const std::int64_t position = row.kvLength() - row.numDrafts;
    int accepted = 0;
    for (; accepted < row.numDrafts; ++accepted) {
      const auto& chances = m_config.drafts->acceptance;
      const double chance = chances[std::min<std::size_t>(static_cast<std::size_t>(accepted),
                                                          chances.size() - 1)];
      const auto place = static_cast<std::uint64_t>(position + accepted);
      if (counterDraw(m_config.seed, request, place, DrawStream::Accept) >= chance) break;
    }
    for (int j = 0; j <= accepted; ++j) {
      // a guess that held is what was guessed
      tokens[i].push_back(drawToken(m_config.seed, request, position + j));
    }
    if (row.numDrafts == 0) continue;
    ++m_speculation.passes;
    m_speculation.drafted += static_cast<std::uint64_t>(row.numDrafts);
    m_speculation.accepted += static_cast<std::uint64_t>(accepted);
    m_speculation.tokens += tokens[i].size();
    m_speculation.acceptedByPosition.resize(
        std::max(m_speculation.acceptedByPosition.size(), static_cast<std::size_t>(row.numDrafts)));
    for (int j = 0; j < accepted; ++j) {
      ++m_speculation.acceptedByPosition[static_cast<std::size_t>(j)];
    }
  }
  return tokens;
}

void SimulatedEngine::deliver(const sched::StepPlan& plan,
                              const std::vector<std::vector<TokenId>>& tokens) {
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    Open& open = m_open.at(plan.rows[i].request.value);
    const std::int64_t done =
        std::min<std::int64_t>(open.work, plan.rows[i].numTokens - importedRows(plan.rows[i]));
    open.work -= done;
    m_outstanding -= done;
    if (!tokens[i].empty()) open.answer.tokenMs.push_back(m_nowMs);
  }
}

void SimulatedEngine::close(const sched::FinishedRequest& ended) {
  const auto found = m_open.find(ended.request.value);
  CHECK(found != m_open.end());
  SimulatedAnswer& answer = found->second.answer;
  answer.finish = ended.finish;
  if (ended.finish == FinishReason::Refused || ended.finish == FinishReason::Failed) {
    answer.explanation = reasonText(ended.reason, ended.a, ended.b);
  }
  answer.outputTokens = ended.usage.completionTokens;
  answer.cachedTokens = ended.usage.cachedTokens;
  answer.preemptions = ended.preemptions;
  // static and dynamic batching hand out nothing before the end of their batch, and then all
  if (m_config.limits.batching != BatchingKind::Continuous) {
    std::ranges::fill(answer.tokenMs, m_nowMs);
  }
  m_outstanding -= found->second.work;
  m_ended.push_back(std::move(answer));
  m_open.erase(found);
}

std::vector<SimulatedAnswer> SimulatedEngine::takeAnswers() {
  return std::exchange(m_ended, {});
}

EngineCounters SimulatedEngine::counters() const {
  return sched::snapshotCounters(m_scheduler);
}

}  // namespace engine::sim
