// Scheduler::plan(): running requests first, decodes before prefill chunks, then the queue.
#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/sched/preemption.h"
#include "engine/sched/scheduler.h"
#include "engine/sched/token_budget.h"

namespace engine::sched {

const StepPlan& Scheduler::plan(std::int64_t nowNs) {
  beginPlan();
  planRunning(true);
  planRunning(false);
  admitWaiting(nowNs);
  packRows();
  finishPlan();
  return m_plan;
}

void Scheduler::beginPlan() {
  CHECK(!hasOpenStep());
  // keeps the capacity of the arrays: no allocation in a steady state
  m_plan.rows.clear();
  m_plan.tokens.clear();
  m_plan.copies.clear();
  m_plan.preempted.clear();
  m_plan.decisions.clear();
  m_plan.id = StepId(m_counters.steps + 1);
  m_plan.budget = m_limits.maxBatchedTokens;
  m_plan.prefillTokens = m_plan.decodeTokens = m_plan.draftTokens = 0;
  m_plan.numSampledRows = 0;
  m_plan.wakeAtNs = -1;
  m_rowOwners.clear();
  m_used = m_promised = 0;
  m_queried = m_hit = 0;
  m_wantedMore = false;
  m_blocked = {};
  m_cache.setStep(m_plan.id);
  m_reservation = m_cache.openReservation();
  m_order = m_running;
  bool isLeftOut = false;
  for (Sequence* sequence : m_running) {
    sequence->planRow = -1;
    isLeftOut = isLeftOut || sequence->lastStep < m_counters.steps;
  }
  // Who had no token in the last step goes first, so that a small budget goes round.
  if (isLeftOut) std::ranges::stable_sort(m_order, {}, &Sequence::turn);
  countDemand();
}

bool Scheduler::isStarving(const Sequence& sequence) const {
  const bool isWaiting = sequence.progress.state == RequestState::Waiting ||
                         sequence.progress.state == RequestState::Preempted;
  if (isWaiting && sequence.reason != Reason::WaitsTokenBudget) return false;
  const std::uint64_t since = isWaiting ? sequence.progress.waitingSince : sequence.lastStep;
  return m_plan.id.value - since > kStarvingSteps;
}

void Scheduler::countDemand() {
  m_demand = {};
  m_seats = 0;
  for (const Sequence* sequence : m_running) {
    m_seats += sequence->numSeats();
    if (sequence->isHeld()) continue;
    ++(sequence->isDecoding() ? m_demand.decoding : m_demand.prefilling);
    if (!sequence->isDecoding() && isStarving(*sequence)) ++m_demand.starving;
  }
  if (m_waiting.front() != nullptr && isStarving(*m_waiting.front())) ++m_demand.starving;
}

void Scheduler::planRunning(bool decodes) {
  std::int64_t decodesAfter = m_demand.decoding;
  for (Sequence* sequence : m_order) {
    if (sequence->progress.state == RequestState::Preempted) continue;  // by an earlier row
    if (sequence->isHeld()) continue;
    if (sequence->isDecoding() != decodes) continue;
    if (decodes) --decodesAfter;
    if (budgetLeft() <= 0) {
      m_wantedMore = true;
      sequence->reason = Reason::WaitsTokenBudget;
      sequence->reasonA = m_used;
      sequence->reasonB = m_plan.budget;
    } else if (decodes) {
      planDecode(*sequence, decodesAfter);
    } else {
      planPrefill(*sequence);
    }
  }
}

// One token, and as many drafts as fit without taking the token of another decode, going beyond a
// limit of the request, or pushing anybody out.
void Scheduler::planDecode(Sequence& sequence, std::int64_t decodesAfter) {
  const std::int64_t outputsLeft =
      std::min(sequence.spec.maxTokens - sequence.numOutput(), m_maxContext - sequence.numTokens());
  std::int64_t drafts = std::min({static_cast<std::int64_t>(sequence.drafts.size()),
                                  outputsLeft - 1, budgetLeft() - 1 - decodesAfter});
  const std::int64_t first = sequence.progress.numComputed;
  if (drafts > 0 &&
      m_cache.blocksToGrow(sequence.table, first, 1 + drafts) + decodesAfter <=
          m_cache.pool().numAvailable() &&
      m_reservation->tryGrow(sequence.table, first, 1 + drafts, m_plan.copies)) {
    addRow(sequence, 1 + drafts, drafts);
  } else if (growOrPreempt(sequence, 1)) {
    addRow(sequence, 1, 0);
  }
}

void Scheduler::planPrefill(Sequence& sequence) {
  const std::int64_t chunk = chunkFor(sequence);
  if (growOrPreempt(sequence, chunk)) addRow(sequence, chunk, 0);
}

std::int64_t Scheduler::chunkFor(const Sequence& sequence) const {
  ChunkFacts facts;
  facts.pending = sequence.numPending();
  facts.budgetLeft = budgetLeft();
  facts.prefillChunk = m_limits.prefillChunk;
  facts.longPrefillThreshold = m_limits.longPrefillThreshold;
  facts.isAlone = m_demand.prefilling + static_cast<std::int64_t>(m_waiting.size()) <= 1;
  facts.starvingOthers = m_demand.starving - (isStarving(sequence) ? 1 : 0);
  return chunkTokens(facts);
}

// False when the sequence itself had to go.
bool Scheduler::growOrPreempt(Sequence& sequence, std::int64_t num) {
  const std::int64_t first = sequence.progress.numComputed;
  while (!m_reservation->tryGrow(sequence.table, first, num, m_plan.copies)) {
    Sequence& loser = victim();
    preemptWithBeams(loser, m_cache.blocksToGrow(sequence.table, first, num));
    if (sequence.progress.state == RequestState::Preempted) return false;
  }
  return true;
}

Sequence& Scheduler::victim() {
  std::vector<VictimFacts> candidates;
  candidates.reserve(m_running.size());
  for (const Sequence* one : m_running) {
    candidates.push_back({one->spec.priority, one->progress.admissionOrder, one->table.size()});
  }
  return *m_running[pickVictim(candidates, m_limits.policy)];
}

std::vector<Sequence*> Scheduler::runningBeamsOf(const Sequence& sequence) const {
  std::vector<Sequence*> beams;
  if (!sequence.spec.isBeam) return beams;
  for (Sequence* one : m_running) {
    if (one->spec.root == sequence.spec.root) beams.push_back(one);
  }
  return beams;
}

// Beams that stay would hold blocks for one that cannot come back: all or none.
void Scheduler::preemptWithBeams(Sequence& sequence, std::int64_t blocksNeeded) {
  const std::vector<Sequence*> beams = runningBeamsOf(sequence);
  if (beams.empty()) return preempt(sequence, blocksNeeded);
  for (Sequence* one : beams) preempt(*one, blocksNeeded);
}

void Scheduler::preempt(Sequence& sequence, std::int64_t blocksNeeded) {
  m_moved.push_back({&sequence, sequence.progress, true});
  if (sequence.planRow >= 0) dropRow(sequence);
  const std::int64_t blocks = sequence.table.size();
  m_plan.preempted.push_back(
      {sequence.spec.id, blocks, blocksNeeded, sequence.progress.numComputed});
  m_reservation->release(sequence.table);
  leaveRunning(sequence);
  sequence.reason = Reason::PreemptedForBlocks;
  sequence.reasonA = blocks;
  sequence.reasonB = blocksNeeded;
}

// Back to the queue, where its arrival puts it before all that came later. It computes everything
// again but keeps its tokens: outputs stay outputs.
void Scheduler::leaveRunning(Sequence& sequence) {
  std::erase(m_running, &sequence);
  sequence.setState(RequestState::Preempted);
  sequence.progress.numComputed = 0;
  sequence.progress.publishedBlocks = 0;
  sequence.progress.waitingSince = m_plan.id.value;
  ++sequence.progress.preemptions;
  m_waiting.insert(sequence);
}

void Scheduler::addRow(Sequence& sequence, std::int64_t numTokens, std::int64_t numDrafts) {
  sequence.planRow = static_cast<int>(m_plan.rows.size());
  PlanRow& row = m_plan.rows.emplace_back();
  row.request = sequence.spec.id;
  row.firstPosition = sequence.progress.numComputed;
  row.numTokens = static_cast<int>(numTokens);
  row.numDrafts = static_cast<int>(numDrafts);
  row.samples = row.firstPosition + numTokens - numDrafts == sequence.numTokens();
  if (!row.samples) m_wantedMore = true;
  m_rowOwners.push_back(&sequence);
  m_used += numTokens;
}

// The row of a sequence that is preempted after it was planned; packRows() closes the gap.
void Scheduler::dropRow(Sequence& sequence) {
  const auto row = static_cast<std::size_t>(sequence.planRow);
  m_used -= m_plan.rows[row].numTokens;
  m_rowOwners[row] = nullptr;
  std::erase_if(m_plan.copies,
                [&](const kv::BlockCopy& copy) { return copy.request == sequence.spec.id; });
  sequence.planRow = -1;
}

// Blocks that a running sequence is to get before anybody new: for the tokens it has, and one to
// grow. The contiguous allocator has given all at once.
std::int64_t Scheduler::blocksPromised(const Sequence& sequence) const {
  if (!m_cache.canShare()) return 0;
  const std::int64_t blocks = m_cache.blocksFor(sequence.numTokens()) - sequence.table.size();
  return std::max<std::int64_t>(0, blocks) + 1;
}

void Scheduler::admitWaiting(std::int64_t nowNs) {
  if (m_waiting.size() == 0) return;
  for (const Sequence* sequence : m_running) m_promised += blocksPromised(*sequence);
  while (m_waiting.size() > 0) {
    m_blocked = admitNext(nowNs);
    if (!m_blocked.isYes()) return;
  }
}

Verdict Scheduler::admitNext(std::int64_t nowNs) {
  Sequence& next = *m_waiting.front();
  AdmissionFacts facts;
  facts.hasPreempted = !m_plan.preempted.empty();
  facts.budgetUsed = m_used;
  facts.budget = m_plan.budget;
  // beams that come back after a preemption have had their places before
  const bool isBeamAgain = next.spec.isBeam && next.hasBranched;
  const std::int64_t seats = std::min<std::int64_t>(next.numSeats(), m_limits.maxSeqs);
  facts.running = isBeamAgain ? 0 : m_seats + seats - 1;
  facts.maxSeqs = m_limits.maxSeqs;
  const Verdict early = judgeAdmission(facts);  // spares the look into the prefix index
  if (!early.isYes()) return early;
  const kv::PrefixMatch match = matchPrefix(next);
  const auto isIdle = [this](BlockId block) { return m_cache.pool().block(block).refCount == 0; };
  facts.blocksNeeded = m_cache.blocksForWhole(next.numTokens()) -
                       static_cast<std::int64_t>(match.blocks.size()) +
                       std::ranges::count_if(match.blocks, isIdle);
  facts.blocksAvailable = m_cache.largestPlace();
  facts.blocksPromised = m_promised;
  const Verdict verdict = judgeAdmission(facts);
  if (verdict.isYes()) enter(next, match, nowNs);
  return verdict;
}

kv::PrefixMatch Scheduler::matchPrefix(Sequence& sequence) const {
  kv::PrefixMatch match;
  match.miss = kv::PrefixMiss::Disabled;
  if (!m_limits.prefixCache || !m_cache.canShare() || !sequence.spec.readsPrefixCache) return match;
  return m_cache.findPrefix({&sequence.chain, sequence.tokens});
}

void Scheduler::enter(Sequence& sequence, const kv::PrefixMatch& match, std::int64_t nowNs) {
  m_moved.push_back({&sequence, sequence.progress, false});
  m_waiting.erase(sequence);
  m_running.push_back(&sequence);
  ++m_demand.prefilling;
  m_seats += sequence.numSeats();
  if (isStarving(sequence)) --m_demand.starving;
  kv::PrefixMatch explained = match;
  m_cache.explainMiss({&sequence.chain, sequence.tokens}, explained);
  sequence.prefixMiss = explained.miss;
  sequence.prefixMissPosition = explained.position;
  if (match.miss != kv::PrefixMiss::Disabled) {
    m_queried += static_cast<std::uint64_t>(sequence.numTokens());
    m_hit += static_cast<std::uint64_t>(match.numTokens);
  }
  const bool isResumed = sequence.progress.state == RequestState::Preempted;
  sequence.setState(RequestState::Prefilling);
  SequenceProgress& progress = sequence.progress;
  progress.numComputed = match.numTokens;
  progress.publishedBlocks = static_cast<std::int64_t>(match.blocks.size());
  progress.admissionOrder = ++m_admissions;
  if (progress.cachedTokens < 0) progress.cachedTokens = match.numTokens;
  if (progress.admittedNs < 0) progress.admittedNs = nowNs;
  m_reservation->attach(sequence.table, match);
  const std::int64_t chunk = chunkFor(sequence);
  const bool hasGrown =
      m_reservation->tryGrow(sequence.table, match.numTokens, chunk, m_plan.copies);
  CHECK(hasGrown);  // the verdict has counted its whole length
  addRow(sequence, chunk, 0);
  m_plan.rows.back().entry = isResumed ? RowEntry::Resumed : RowEntry::Admitted;
  m_plan.rows.back().cachedTokens = match.numTokens;
  m_promised += blocksPromised(sequence);
}

// Phase and reason of a row that stays in the plan.
void Scheduler::describe(PlanRow& row, const Sequence& sequence) const {
  row.phase = !sequence.isDecoding() ? SlicePhase::Prefill
              : row.numDrafts > 0    ? SlicePhase::Verify
                                     : SlicePhase::Decode;
  if (row.entry == RowEntry::Resumed) {
    row.reason = Reason::ResumedAfterPreemption;
    row.a = sequence.numPending();
  } else if (row.phase == SlicePhase::Prefill) {
    row.reason = Reason::PrefillChunk;
    row.a = row.numTokens;
    row.b = sequence.numPending();
  } else {
    row.reason = row.numDrafts > 0 ? Reason::Verify : Reason::DecodeNext;
    row.a = row.numDrafts;
  }
  row.blockTable = sequence.table.blocks();
}

// Closes the gaps of dropped rows and lays the tokens one row after another.
void Scheduler::packRows() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < m_plan.rows.size(); ++i) {
    Sequence* sequence = m_rowOwners[i];
    if (sequence == nullptr) continue;
    m_plan.rows[kept] = m_plan.rows[i];
    m_rowOwners[kept] = sequence;
    PlanRow& row = m_plan.rows[kept];
    sequence->planRow = static_cast<int>(kept++);
    describe(row, *sequence);
    row.firstToken = static_cast<int>(m_plan.tokens.size());
    const auto own = sequence->tokens.begin() + row.firstPosition;
    m_plan.tokens.insert(m_plan.tokens.end(), own, own + row.numTokens - row.numDrafts);
    const auto drafts = sequence->drafts.begin();
    m_plan.tokens.insert(m_plan.tokens.end(), drafts, drafts + row.numDrafts);
    m_plan.draftTokens += row.numDrafts;
    (row.phase == SlicePhase::Prefill ? m_plan.prefillTokens : m_plan.decodeTokens) +=
        row.numTokens - row.numDrafts;
    if (row.samples) m_plan.numSampledRows += 1 + row.numDrafts;
    sequence->reason = row.reason;
    sequence->reasonA = row.a;
    sequence->reasonB = row.b;
  }
  m_plan.rows.resize(kept);
  m_rowOwners.resize(kept);
}

// Who cannot enter for a reason of its own names it; those behind wait their turn. A full step
// keeps all of them out alike.
Verdict Scheduler::waitReason(std::int64_t place) const {
  if (place > 0 && m_blocked.reason == Reason::WaitsBlocks) return {Reason::WaitsTurn, place, 0};
  return m_blocked;
}

void Scheduler::finishPlan() {
  m_plan.running = static_cast<std::int64_t>(m_running.size());
  m_plan.waiting = static_cast<std::int64_t>(m_waiting.size());
  for (const PlanRow& row : m_plan.rows) {
    m_plan.decisions.push_back({row.request, row.reason, row.numTokens, row.a, row.b});
  }
  for (const Sequence* sequence : m_running) {
    if (sequence->planRow >= 0) continue;
    m_plan.decisions.push_back(
        {sequence->spec.id, sequence->reason, 0, sequence->reasonA, sequence->reasonB});
  }
  std::int64_t place = 0;
  for (const auto& [key, sequence] : m_waiting.entries()) {
    if (place == static_cast<std::int64_t>(kMaxWaitDecisions)) break;
    const Verdict why = waitReason(place++);
    const bool isPreemptedNow = sequence->progress.state == RequestState::Preempted &&
                                sequence->progress.waitingSince == m_plan.id.value;
    if (!isPreemptedNow) {
      sequence->reason = why.reason;
      sequence->reasonA = why.a;
      sequence->reasonB = why.b;
    }
    m_plan.decisions.push_back(
        {sequence->spec.id, sequence->reason, 0, sequence->reasonA, sequence->reasonB});
  }
  if (!m_plan.preempted.empty()) {
    m_plan.limit = Reason::LimitBlocks;
  } else if (m_waiting.size() > 0) {
    m_plan.limit = limitOf(m_blocked.reason);
  } else {
    const bool isCut = m_wantedMore && budgetLeft() <= 0;
    m_plan.limit = isCut ? Reason::LimitTokenBudget : Reason::LimitQueueEmpty;
  }
}

}  // namespace engine::sched
