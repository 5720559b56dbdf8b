// Scheduler::plan(): running requests first, decodes before prefill chunks; who gives way.
// Admissions: scheduler_admission.cpp.
#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/sched/preemption.h"
#include "engine/sched/scheduler.h"
#include "engine/sched/token_budget.h"

namespace engine::sched {

namespace {

// A held one computes its newest token again: its candidates come of that row.
std::int64_t tokensToSwap(const Sequence& sequence) {
  return std::min(sequence.progress.numComputed, sequence.numTokens() - 1);
}

}  // namespace

const StepPlan& Scheduler::plan(std::int64_t nowNs) {
  beginPlan(nowNs);
  if (isBatched() && m_demand.prefilling > 0) {
    holdDecodes();
  } else if (m_demand.decoding > 0) {
    planRunning(true);
  }
  if (m_demand.prefilling > 0) planRunning(false);
  admitWaiting(nowNs);
  if (m_hasGaps) closeGaps();
  finishPlan();
  return m_plan;
}

void Scheduler::beginPlan(std::int64_t nowNs) {
  CHECK(!hasOpenStep());
  m_planNs = nowNs;
  if (m_pacePlanNs >= 0) m_pace.record(nowNs - m_pacePlanNs, m_pacePrefill, m_paceDecode);
  m_pacePlanNs = -1;
  // keeps the capacity of the arrays: no allocation in a steady state
  m_plan.rows.clear();
  m_plan.tokens.clear();
  m_plan.copies.clear();
  m_plan.swapOuts.clear();
  m_plan.swapIns.clear();
  m_plan.preempted.clear();
  m_plan.rejected.clear();
  m_plan.holdsResults = isBatched();
  m_plan.paddedTokens = 0;
  m_plan.idleSlotSteps = static_cast<std::int64_t>(m_numParked);
  m_plan.rowless.clear();
  m_plan.id = StepId(m_counters.steps + 1);
  m_plan.budget = m_limits.maxBatchedTokens;
  m_plan.prefillTokens = m_plan.decodeTokens = m_plan.draftTokens = 0;
  m_plan.numSampledRows = 0;
  m_plan.wakeAtNs = -1;
  m_rowOwners.clear();
  m_hasGaps = false;
  m_used = m_promised = 0;
  m_queried = m_hit = 0;
  m_wantedMore = false;
  m_blocked = {};
  m_cache.setStep(m_plan.id);
  m_reservation = m_cache.openReservation();
  surveyRunning();
}

// Who had no token in the last step goes first, so that a small budget goes round; under the slo
// policy who must have its next token first.
void Scheduler::orderRunning(bool isLeftOut) {
  m_order = m_running;
  if (!isLeftOut) return;
  if (m_limits.policy == PolicyKind::Slo) {
    std::ranges::stable_sort(m_order, {}, &Sequence::nextDeadlineNs);
  } else {
    std::ranges::stable_sort(m_order, {}, &Sequence::turn);
  }
}

bool Scheduler::isStarving(const Sequence& sequence) const {
  const bool isWaiting = sequence.progress.state == RequestState::Waiting ||
                         sequence.progress.state == RequestState::Preempted;
  if (isWaiting && sequence.reason != Reason::WaitsTokenBudget) return false;
  const std::uint64_t since = isWaiting ? sequence.progress.waitingSince : sequence.lastStep;
  return m_plan.id.value - since > kStarvingSteps;
}

// What a plan must know of the running before it begins: one pass, for thousands of them do not
// stay in the processor's caches until the next.
void Scheduler::surveyRunning() {
  m_demand = {};
  m_seats = 0;
  m_numStuck = 0;
  bool isLeftOut = false;
  for (Sequence* sequence : m_running) {
    sequence->planRow = -1;
    m_seats += sequence->numSeats();
    if (sequence->isParked()) continue;
    isLeftOut = isLeftOut || sequence->lastStep < m_counters.steps;
    if (sequence->isHeld()) {
      ++m_numStuck;
      continue;
    }
    ++(sequence->isDecoding() ? m_demand.decoding : m_demand.prefilling);
    if (!sequence->isDecoding() && isStarving(*sequence)) ++m_demand.starving;
  }
  std::int64_t room = batchRoom() - m_seats;
  for (const auto& [key, one] : m_waiting.entries()) {
    if (room-- <= 0 || !isStarving(*one)) break;
    ++m_demand.starving;
  }
  m_demand.reserved = decodeReserve(m_demand.starving, m_plan.budget);
  orderRunning(isLeftOut);
}

// A batch computes all of its prompts before it decodes.
void Scheduler::holdDecodes() {
  for (Sequence* sequence : m_order) {
    if (!sequence->isDecoding()) continue;
    sequence->reason = Reason::WaitsBatchPrefill;
    sequence->reasonA = sequence->reasonB = 0;
  }
}

void Scheduler::planRunning(bool decodes) {
  std::int64_t decodesAfter = m_demand.decoding;
  for (std::size_t i = 0; i < m_order.size(); ++i) {
    prefetchAhead(m_order, i, m_cache.pool());
    Sequence* sequence = m_order[i];
    if (sequence->progress.state == RequestState::Preempted) continue;  // by an earlier row
    if (sequence->isHeld() || sequence->isParked()) continue;
    if (sequence->isDecoding() != decodes) continue;
    if (decodes) --decodesAfter;
    if ((decodes ? decodeBudgetLeft() : budgetLeft()) <= 0) {
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
                                  outputsLeft - 1, decodeBudgetLeft() - 1 - decodesAfter});
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
  const bool isStarved = isStarving(sequence);
  const std::int64_t chunk = chunkFor(sequence);
  if (chunk == 0) {  // what is left is for others that have had nothing for longer
    m_wantedMore = true;
    sequence.reason = Reason::WaitsTokenBudget;
    sequence.reasonA = m_used;
    sequence.reasonB = m_plan.budget;
  } else if (growOrPreempt(sequence, chunk)) {
    addRow(sequence, chunk, 0);
    if (isStarved) --m_demand.starving;
    m_demand.reserved = decodeReserve(m_demand.starving, m_plan.budget);
  }
}

std::int64_t Scheduler::chunkFor(const Sequence& sequence) const {
  ChunkFacts facts;
  facts.pending = sequence.numPending();
  facts.budgetLeft = isStarving(sequence) ? budgetLeft() : decodeBudgetLeft();
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

// Somebody who can be set back: not one that has ended and is held.
Sequence& Scheduler::victim() {
  std::vector<VictimFacts> facts;
  std::vector<Sequence*> candidates;
  for (Sequence* one : m_running) {
    if (one->isParked()) continue;
    candidates.push_back(one);
    facts.push_back({one->spec.priority, one->progress.admissionOrder, one->table.size(),
                     one->nextDeadlineNs()});
  }
  return *candidates[pickVictim(facts, m_limits.policy)];
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
  const std::int64_t blocks = sequence.table.size();
  const std::int64_t computed = sequence.progress.numComputed;
  const std::int64_t kept = tokensToSwap(sequence);
  const Verdict why = swapOut(sequence, blocksNeeded);  // looks at the copies of its row
  if (sequence.planRow >= 0) dropRow(sequence);
  const bool isKept = why.reason == Reason::PreemptedToSwap;
  m_plan.preempted.push_back(
      {sequence.spec.id, blocks, blocksNeeded, computed - (isKept ? kept : 0), why.reason, why.a, why.b});
  m_reservation->release(sequence.table);
  leaveRunning(sequence, isKept ? kept : 0);
  sequence.reason = why.reason;
  sequence.reasonA = why.a;
  sequence.reasonB = why.b;
}

// Where the content of a block of its table is now: a copy that this step was to make is not made.
BlockId Scheduler::contentOf(const Sequence& sequence, std::int64_t logical) const {
  const BlockId block = sequence.table.at(logical);
  for (const kv::BlockCopy& copy : m_plan.copies) {
    if (copy.request == sequence.spec.id && copy.to == block) return copy.from;
  }
  return block;
}

// What it has computed goes to host memory when that is asked for and there is room for all of it.
// Says how the sequence leaves.
Verdict Scheduler::swapOut(Sequence& sequence, std::int64_t blocksNeeded) {
  const std::int64_t computed = tokensToSwap(sequence);
  if (m_limits.preemption != PreemptionKind::Swap || computed == 0 || !m_cache.config().isKept) {
    return {Reason::PreemptedForBlocks, sequence.table.size(), blocksNeeded};
  }
  const std::int64_t blocks = m_cache.blocksFor(computed);
  auto slots = m_cache.swapSpace().tryTake(blocks);
  if (!slots) return {Reason::PreemptedSwapFull, blocks, m_cache.swapSpace().numFree()};
  for (std::int64_t i = 0; i < blocks; ++i) {
    m_reservation->recordSwap(BlockOp::SwapOut, sequence.table, i);
    m_plan.swapOuts.push_back(
        {sequence.spec.id, contentOf(sequence, i), (*slots)[static_cast<std::size_t>(i)]});
  }
  sequence.swapSlots = std::move(*slots);
  return {Reason::PreemptedToSwap, blocks, blocksNeeded};
}

// Back to the queue, where its arrival puts it before all that came later. It computes everything
// but what is swapped out again, and keeps its tokens: outputs stay outputs.
void Scheduler::leaveRunning(Sequence& sequence, std::int64_t swappedTokens) {
  std::erase(m_running, &sequence);
  sequence.setState(RequestState::Preempted);
  sequence.progress.numComputed = 0;
  sequence.progress.publishedBlocks = 0;
  sequence.progress.swappedTokens = swappedTokens;
  sequence.progress.waitingSince = m_plan.id.value;
  ++sequence.progress.preemptions;
  enqueue(sequence);
}

void Scheduler::addRow(Sequence& sequence, std::int64_t numTokens, std::int64_t numDrafts) {
  sequence.planRow = static_cast<int>(m_plan.rows.size());
  PlanRow& row = m_plan.rows.emplace_back();
  row.request = sequence.spec.id;
  row.firstPosition = sequence.progress.numComputed;
  row.numTokens = static_cast<int>(numTokens);
  row.numDrafts = static_cast<int>(numDrafts);
  row.samples = row.firstPosition + numTokens - numDrafts == sequence.numTokens();
  row.firstToken = static_cast<int>(m_plan.tokens.size());
  const std::int64_t numOwn = numTokens - numDrafts;
  if (row.samples && numOwn == 1) {
    m_plan.tokens.push_back(sequence.newest);
  } else {
    const auto own = sequence.tokens.begin() + row.firstPosition;
    m_plan.tokens.insert(m_plan.tokens.end(), own, own + numOwn);
  }
  for (const TokenId token : std::span(sequence.drafts).first(static_cast<std::size_t>(numDrafts))) {
    m_plan.tokens.push_back(token);
  }
  describe(row, sequence);
  sequence.reason = row.reason;
  sequence.reasonA = row.a;
  sequence.reasonB = row.b;
  if (!row.samples) m_wantedMore = true;
  m_rowOwners.push_back(&sequence);
  m_used += numTokens;
}

// The row of a sequence that is preempted after it was planned; closeGaps() closes the gap.
void Scheduler::dropRow(Sequence& sequence) {
  const auto row = static_cast<std::size_t>(sequence.planRow);
  m_used -= m_plan.rows[row].numTokens;
  m_rowOwners[row] = nullptr;
  m_hasGaps = true;
  std::erase_if(m_plan.copies,
                [&](const kv::BlockCopy& copy) { return copy.request == sequence.spec.id; });
  sequence.planRow = -1;
}

// Phase, reason and blocks of a row.
void Scheduler::describe(PlanRow& row, const Sequence& sequence) const {
  if (sequence.progress.isEntering) {
    row.entry = sequence.progress.isResuming ? RowEntry::Resumed : RowEntry::Admitted;
    row.cachedTokens = sequence.progress.entryCachedTokens;
  }
  row.phase = !sequence.isDecoding() ? SlicePhase::Prefill
              : row.numDrafts > 0    ? SlicePhase::Verify
                                     : SlicePhase::Decode;
  if (row.entry == RowEntry::Resumed && sequence.restoredTokens > 0) {
    row.reason = Reason::ResumedFromSwap;
    row.a = sequence.restoredTokens;
    row.b = sequence.numPending();
  } else if (row.entry == RowEntry::Resumed) {
    row.reason = Reason::ResumedAfterPreemption;
    row.a = sequence.numPending();
  } else if (!m_cache.config().isKept && sequence.numOutput() > 0) {
    row.reason = Reason::RecomputesPrefix;
    row.a = row.numTokens;
    row.b = sequence.numPending();
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

// Moves the rows behind dropped ones up, and their tokens.
void Scheduler::closeGaps() {
  std::size_t kept = 0;
  std::vector<TokenId> tokens;
  for (std::size_t i = 0; i < m_plan.rows.size(); ++i) {
    if (m_rowOwners[i] == nullptr) continue;
    PlanRow& row = m_plan.rows[kept] = m_plan.rows[i];
    m_rowOwners[kept] = m_rowOwners[i];
    m_rowOwners[kept]->planRow = static_cast<int>(kept);
    ++kept;
    const auto own = m_plan.tokens.begin() + row.firstToken;
    row.firstToken = static_cast<int>(tokens.size());
    tokens.insert(tokens.end(), own, own + row.numTokens);
  }
  m_plan.rows.resize(kept);
  m_rowOwners.resize(kept);
  m_plan.tokens = std::move(tokens);
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
    const int own = row.numTokens - row.numDrafts;
    (row.phase == SlicePhase::Prefill ? m_plan.prefillTokens : m_plan.decodeTokens) += own;
    m_plan.draftTokens += row.numDrafts;
    if (row.samples) m_plan.numSampledRows += 1 + row.numDrafts;
  }
  const bool hasRowless = m_plan.rows.size() < m_running.size();
  for (const Sequence* sequence : m_running) {
    if (!hasRowless) break;
    if (sequence->planRow >= 0) continue;
    m_plan.rowless.push_back(
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
    m_plan.rowless.push_back(
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
