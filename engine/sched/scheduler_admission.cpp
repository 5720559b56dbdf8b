// Scheduler::plan()'s second half: who of the waiting requests enters, and who no longer can.
#include <algorithm>
#include <limits>
#include <utility>

#include "engine/base/check.h"
#include "engine/sched/batch_door.h"
#include "engine/sched/scheduler.h"
#include "engine/sched/token_budget.h"

namespace engine::sched {

// Tokens that a sequence must find room for at once: a batch lets nobody out before its end, so it
// reserves whole lengths.
std::int64_t Scheduler::lengthToReserve(const Sequence& sequence) const {
  if (!isBatched()) return sequence.numTokens();
  return finalLength(sequence.numPrompt(), sequence.spec.maxTokens, m_maxContext);
}

// With those of the branches that a batch has to let in too.
std::int64_t Scheduler::blocksToReserve(const Sequence& sequence) const {
  const std::int64_t branches = isBatched() && m_cache.canShare() ? sequence.numSeats() : 1;
  return branches * m_cache.blocksForWhole(lengthToReserve(sequence));
}

// Blocks that a running sequence is to get before anybody new: for the tokens it has, and one to
// grow while it still can, or beams would keep a block from the last of them. The contiguous
// allocator gives all at once.
std::int64_t Scheduler::blocksPromised(const Sequence& sequence) const {
  const std::int64_t whole = blocksToReserve(sequence);
  const std::int64_t blocks = std::max<std::int64_t>(0, whole - sequence.table.size());
  if (isBatched() || !m_cache.canShare()) return blocks;
  const std::int64_t most = m_cache.blocksFor(
      finalLength(sequence.numPrompt(), sequence.spec.maxTokens, m_maxContext));
  return std::min(blocks + 1, std::max<std::int64_t>(0, most - sequence.table.size()));
}

std::int64_t Scheduler::batchRoom() const {
  return isBatched() ? std::min(m_limits.maxBatch, m_limits.maxSeqs) : m_limits.maxSeqs;
}

void Scheduler::admitWaiting(std::int64_t nowNs) {
  while (rejectNext(nowNs)) continue;
  if (m_waiting.size() == 0 || holdsDoor(nowNs)) return;
  for (const Sequence* sequence : m_running) m_promised += blocksPromised(*sequence);
  while (m_waiting.size() > 0) {
    if (rejectNext(nowNs)) continue;
    m_blocked = admitNext(nowNs);
    if (!m_blocked.isYes()) break;
  }
  if (!isBatched()) return;
  countPadding();
  if (m_blocked.reason == Reason::WaitsSequences) m_blocked = {Reason::WaitsBatchEnd, 0, 0};
}

// Static and dynamic batching: whether nobody enters now.
bool Scheduler::holdsDoor(std::int64_t nowNs) {
  if (!isBatched()) return false;
  constexpr double kNsPerMs = 1e6;
  DoorFacts facts;
  facts.batching = m_limits.batching;
  // beams that wait for preempted ones of theirs do not keep them out
  facts.running = static_cast<std::int64_t>(m_running.size() - m_numStuck);
  facts.waiting = static_cast<std::int64_t>(m_waiting.size());
  facts.maxBatch = batchRoom();
  facts.queueDelayNs = static_cast<std::int64_t>(m_limits.queueDelayMs * kNsPerMs);
  facts.nowNs = nowNs;
  facts.oldestArrivalNs = std::numeric_limits<std::int64_t>::max();
  if (facts.running == 0 && facts.waiting < facts.maxBatch) {
    for (const auto& [key, one] : m_waiting.entries()) {
      facts.oldestArrivalNs = std::min(facts.oldestArrivalNs, one->spec.arrivalNs);
    }
  }
  const DoorVerdict verdict = judgeDoor(facts);
  m_blocked = {verdict.reason, 0, 0};
  if (verdict.reason == Reason::WaitsQueueDelay) {
    m_blocked.a = facts.waiting;
    m_blocked.b = facts.maxBatch;
    m_plan.wakeAtNs = verdict.wakeAtNs;
  }
  return !m_blocked.isYes();
}

// Under the slo policy: the next one leaves when it cannot have what it asked for. Those with the
// least time stand first, so nobody behind it is hopeless unseen.
bool Scheduler::rejectNext(std::int64_t nowNs) {
  Sequence* next = m_waiting.front();
  if (m_limits.policy != PolicyKind::Slo || next == nullptr) return false;
  if (!next->spec.slo.ttftMs && !next->spec.slo.tpotMs) return false;
  SloFacts facts = next->sloFacts();
  // guesses that stand make a token cheaper than a step
  if (m_limits.speculation != SpeculationKind::Off) facts.slo.tpotMs.reset();
  const std::int64_t pending = next->numTokens() - matchPrefix(*next).numTokens;
  const SloVerdict verdict = judgeSlo(facts, nowNs, pending, m_pace);
  if (verdict.reason == Reason::None) return false;
  m_waiting.erase(*next);
  m_rejected.push_back(next);
  m_plan.rejected.push_back({next->spec.id, verdict.reason, verdict.needUs, verdict.askedUs});
  return true;
}

Verdict Scheduler::admitNext(std::int64_t nowNs) {
  Sequence& next = *m_waiting.front();
  AdmissionFacts facts;
  facts.hasPreempted = !m_plan.preempted.empty();
  facts.budgetUsed = m_used + (isStarving(next) ? 0 : m_demand.reserved);
  // a batch begins whole; its prompts share the budgets of as many steps as they need
  facts.budget = isBatched() ? std::numeric_limits<std::int64_t>::max() : m_plan.budget;
  // beams that come back after a preemption have had their places before
  const bool isBeamAgain = next.spec.isBeam && next.hasBranched;
  const std::int64_t seats = std::min(next.numSeats(), batchRoom());
  facts.running = isBeamAgain ? 0 : m_seats + seats - 1;
  facts.maxSeqs = batchRoom();
  const Verdict early = judgeAdmission(facts);  // spares the look into the prefix index
  if (!early.isYes()) return early;
  const kv::PrefixMatch match = matchPrefix(next);
  const auto isIdle = [this](BlockId block) { return m_cache.pool().block(block).refCount == 0; };
  facts.blocksNeeded = blocksToReserve(next) - static_cast<std::int64_t>(match.blocks.size()) +
                       std::ranges::count_if(match.blocks, isIdle);
  // samples that do not fit together may take turns
  facts.blocksNeeded = std::min<std::int64_t>(facts.blocksNeeded, m_cache.pool().numBlocks());
  facts.blocksAvailable = m_cache.largestPlace();
  facts.blocksPromised = m_promised;
  const Verdict verdict = judgeAdmission(facts);
  if (verdict.isYes()) enter(next, match, nowNs);
  return verdict;
}

kv::PrefixMatch Scheduler::matchPrefix(Sequence& sequence) const {
  kv::PrefixMatch match;
  match.miss = PrefixMiss::Disabled;
  if (!m_limits.prefixCache || !m_cache.canShare() || !m_cache.config().isKept ||
      !sequence.spec.readsPrefixCache) {
    return match;
  }
  return m_cache.findPrefix({&sequence.chain, sequence.tokens});
}

void Scheduler::notePrefix(Sequence& sequence, const kv::PrefixMatch& match) {
  kv::PrefixMatch explained = match;
  m_cache.explainMiss({&sequence.chain, sequence.tokens}, explained);
  sequence.prefixMiss = explained.miss;
  sequence.prefixMissPosition = explained.position;
  if (match.miss == PrefixMiss::Disabled) return;
  m_queried += static_cast<std::uint64_t>(sequence.numTokens());
  m_hit += static_cast<std::uint64_t>(match.numTokens);
}

void Scheduler::enter(Sequence& sequence, const kv::PrefixMatch& match, std::int64_t nowNs) {
  m_moved.push_back({&sequence, sequence.progress, false});
  m_waiting.erase(sequence);
  m_running.push_back(&sequence);
  sequence.planRow = -1;
  ++m_demand.prefilling;
  m_seats += sequence.numSeats();
  const bool isStarved = isStarving(sequence);
  sequence.lastStep = std::max(sequence.lastStep, sequence.progress.waitingSince);
  notePrefix(sequence, match);
  SequenceProgress& progress = sequence.progress;
  progress.isEntering = true;
  progress.isResuming = progress.state == RequestState::Preempted;
  sequence.setState(RequestState::Prefilling);
  const std::int64_t computed = std::max(match.numTokens, progress.swappedTokens);
  sequence.restoredTokens = computed - match.numTokens;
  progress.swappedTokens = 0;
  progress.numComputed = computed;
  progress.publishedBlocks = static_cast<std::int64_t>(match.blocks.size());
  progress.entryCachedTokens = match.numTokens;
  progress.admissionOrder = ++m_admissions;
  if (progress.cachedTokens < 0) progress.cachedTokens = match.numTokens;
  if (progress.admittedNs < 0) progress.admittedNs = nowNs;
  m_reservation->attach(sequence.table, match);
  const std::int64_t chunk = budgetLeft() > 0 ? chunkFor(sequence) : 0;
  const std::int64_t grown = sequence.restoredTokens + chunk;
  if (grown > 0) {
    const bool hasGrown =
        m_reservation->tryGrow(sequence.table, match.numTokens, grown, m_plan.copies);
    CHECK(hasGrown);  // the verdict has counted its whole length
  }
  if (sequence.restoredTokens > 0) {
    swapIn(sequence, static_cast<std::int64_t>(match.blocks.size()), computed);
  }
  if (chunk > 0) {
    addRow(sequence, chunk, 0);
  } else {
    m_wantedMore = true;
    sequence.reason = Reason::WaitsTokenBudget;
    sequence.reasonA = m_used;
    sequence.reasonB = m_plan.budget;
  }
  if (isStarved) --m_demand.starving;
  m_demand.reserved = decodeReserve(m_demand.starving, m_plan.budget);
  m_promised += blocksPromised(sequence);
}

// Blocks [firstBlock, that of token tokens - 1] get their content back.
void Scheduler::swapIn(Sequence& sequence, std::int64_t firstBlock, std::int64_t tokens) {
  for (std::int64_t i = firstBlock; i < m_cache.blocksFor(tokens); ++i) {
    m_reservation->recordSwap(BlockOp::SwapIn, sequence.table, i);
    m_plan.swapIns.push_back(
        {sequence.spec.id, sequence.table.at(i), sequence.swapSlots[static_cast<std::size_t>(i)]});
  }
}

// A real static batch is a rectangle: every prompt is filled to the longest.
void Scheduler::countPadding() {
  std::int64_t longest = 0, sum = 0, count = 0;
  for (const Moved& moved : m_moved) {
    if (moved.wasRunning) continue;
    longest = std::max(longest, moved.sequence->numTokens());
    sum += moved.sequence->numTokens();
    ++count;
  }
  m_plan.paddedTokens = longest * count - sum;
}

}  // namespace engine::sched
