#include "engine/sched/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "engine/base/check.h"

namespace engine::sched {

namespace {

Reason reasonOf(FinishReason finish) {
  switch (finish) {
    case FinishReason::Cancelled:
      return Reason::CancelledByUser;
    case FinishReason::Failed:
      return Reason::FailedStep;
    case FinishReason::Stop:
      return Reason::FinishedStop;
    default:
      return Reason::None;
  }
}

}  // namespace

Scheduler::Scheduler(kv::KvCache& cache, std::int64_t maxContext, const SchedulerLimits& limits)
    : m_cache(cache), m_maxContext(maxContext), m_limits(limits), m_waiting(limits.policy) {}

void Scheduler::setLimits(const SchedulerLimits& limits) {
  CHECK(!hasOpenStep());
  m_limits = limits;
  m_waiting.setPolicy(limits.policy);
}

std::optional<Refusal> Scheduler::submit(SequenceSpec spec) {
  CHECK(!hasOpenStep() && !m_sequences.contains(spec.id));
  const auto promptTokens = static_cast<std::int64_t>(spec.promptIds.size());
  Verdict verdict = judgeLength(promptTokens, m_maxContext);
  if (verdict.isYes() && spec.maxTokens < 1) verdict = {Reason::RefusedBadInput, spec.maxTokens, 1};
  if (verdict.isYes()) {
    const std::int64_t length = finalLength(promptTokens, spec.maxTokens, m_maxContext);
    const std::int64_t together = spec.isBeam ? spec.numBranches : 1;
    verdict = judgeSize(together * m_cache.blocksForWhole(length), m_cache.pool().numBlocks());
    if (together > m_limits.maxSeqs) {
      verdict = {Reason::RefusedSequences, together, m_limits.maxSeqs};
    }
  }
  if (!verdict.isYes()) return Refusal{verdict.reason, verdict.a, verdict.b};
  const RequestId id = spec.id;
  if (spec.root.isNone()) spec.root = id;
  kv::HashChain chain = m_cache.makeChain(spec.cacheNamespace);
  Sequence& sequence = m_sequences
                           .try_emplace(id, std::move(spec), ++m_arrivals, std::move(chain),
                                        m_cache.config().blockSize)
                           .first->second;
  sequence.progress.waitingSince = m_counters.steps;
  enqueue(sequence);
  return std::nullopt;
}

// Under the slo policy it stands by when it must begin: what it has to compute first counts.
void Scheduler::enqueue(Sequence& sequence) {
  const std::int64_t pending = sequence.numTokens() - sequence.progress.swappedTokens;
  sequence.queueRank = sequence.nextDeadlineNs() - pending * m_pace.nsPerPromptToken();
  m_waiting.insert(sequence);
}

const Sequence* Scheduler::find(RequestId id) const {
  const auto found = m_sequences.find(id);
  return found == m_sequences.end() ? nullptr : &found->second;
}

Sequence& Scheduler::known(RequestId id) {
  const auto found = m_sequences.find(id);
  CHECK(found != m_sequences.end());
  return found->second;
}

std::vector<const Sequence*> Scheduler::waiting() const {
  std::vector<const Sequence*> all;
  all.reserve(m_waiting.size());
  for (const auto& [key, sequence] : m_waiting.entries()) all.push_back(sequence);
  return all;
}

std::optional<FinishedRequest> Scheduler::finish(RequestId id, FinishReason reason) {
  CHECK(!hasOpenStep() && reasonOf(reason) != Reason::None);
  if (!m_sequences.contains(id)) return std::nullopt;
  Sequence& sequence = known(id);
  const bool isRunning = std::ranges::find(m_running, &sequence) != m_running.end();
  if (isBatched() && isRunning && reason == FinishReason::Stop) {
    if (!sequence.isParked()) park(sequence, {reason, reasonOf(reason), 0, 0});
    return std::nullopt;
  }
  if (std::erase(m_running, &sequence) == 0) m_waiting.erase(sequence);
  return remove(sequence, {reason, reasonOf(reason), 0, 0});
}

// Gives the blocks back and forgets the request, which is in no queue any more.
FinishedRequest Scheduler::remove(Sequence& sequence, const Ending& ending) {
  if (sequence.isParked()) --m_numParked;
  sequence.setState(RequestState::Finished);
  m_cache.release(sequence.table);
  m_cache.swapSpace().give(sequence.swapSlots);
  FinishedRequest ended;
  ended.request = sequence.spec.id;
  ended.finish = ending.finish;
  ended.reason = ending.reason;
  ended.a = ending.a;
  ended.b = ending.b;
  ended.prefixMiss = sequence.prefixMiss;
  ended.prefixMissPosition = sequence.prefixMissPosition;
  ended.usage.promptTokens = sequence.numPrompt();
  ended.usage.completionTokens = sequence.numOutput();
  ended.usage.cachedTokens = std::max<std::int64_t>(0, sequence.progress.cachedTokens);
  ended.preemptions = sequence.progress.preemptions;
  m_sequences.erase(ended.request);
  return ended;
}

Result<void> Scheduler::fork(RequestId parentId, RequestId childId, TokenId lastToken) {
  CHECK(!hasOpenStep() && !m_sequences.contains(childId));
  Sequence& parent = known(parentId);
  if (parent.progress.state != RequestState::Decoding) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("request {} has no token to fork at", parentId.value)};
  }
  SequenceSpec spec = parent.spec;
  spec.id = childId;
  Sequence& child = m_sequences
                        .try_emplace(childId, std::move(spec), ++m_arrivals, parent.chain,
                                     m_cache.config().blockSize)
                        .first->second;
  child.tokens = parent.tokens;
  if (!parent.isHeld()) child.tokens.pop_back();
  child.append(std::span(&lastToken, 1));
  child.rootArrival = parent.rootArrival;
  child.hasBranched = parent.hasBranched = true;
  child.reason = parent.reason;
  child.firstTokenNs = parent.firstTokenNs;
  child.lastTokenNs = parent.lastTokenNs;
  child.lastStep = parent.lastStep;
  child.turn = parent.turn;
  ++m_counters.generatedTokens;
  const bool isCrowded = static_cast<std::int64_t>(m_running.size()) >= batchRoom();
  if (!m_cache.canShare() || (isCrowded && !parent.spec.isBeam)) {
    child.progress.cachedTokens = parent.progress.cachedTokens;
    child.progress.admittedNs = parent.progress.admittedNs;
    child.progress.waitingSince = m_counters.steps;
    child.reason = Reason::WaitsStart;
    enqueue(child);
  } else {
    child.progress = parent.progress;
    child.progress.admissionOrder = ++m_admissions;
    child.progress.preemptions = 0;
    if (m_cache.config().isKept) {
      m_cache.fork(parent.table, m_cache.blocksFor(parent.progress.numComputed), child.table);
    } else {
      forgetComputed(child);
    }
    m_running.push_back(&child);
  }
  return {};
}

void Scheduler::extend(RequestId id, TokenId token) {
  Sequence& sequence = known(id);
  CHECK(!hasOpenStep() && sequence.isHeld());
  sequence.append(std::span(&token, 1));
  ++m_counters.generatedTokens;
  if (!m_cache.config().isKept) forgetComputed(sequence);
}

void Scheduler::setDrafts(RequestId id, std::vector<TokenId> drafts) {
  CHECK(!hasOpenStep());
  known(id).drafts = std::move(drafts);
}

std::vector<FinishedRequest> Scheduler::commitStep(std::span<const RowResult> results) {
  CHECK(hasOpenStep() && results.size() == m_plan.rows.size());
  m_reservation->commit();
  m_reservation.reset();
  settleMoved();
  countPlan();
  m_endings.clear();
  m_publishing.clear();
  for (std::size_t i = 0; i < results.size(); ++i) {
    prefetchAhead(m_rowOwners, i, m_cache.pool());
    Sequence& sequence = *m_rowOwners[i];
    applyRow(sequence, m_plan.rows[i], results[i]);
    m_counters.emptySlotSteps += emptySlots(sequence);
    const Ending ending = endOf(sequence, results[i].finish);
    if (ending.finish != FinishReason::None) m_endings.push_back({i, ending});
  }
  publishBlocks();
  countPool();
  for (std::size_t i = 0; i < results.size(); ++i) {
    for (const Branch& branch : results[i].branches) {
      CHECK(fork(m_rowOwners[i]->spec.id, branch.child, branch.token).isOk());
    }
  }
  return removeEnded(results);
}

// Who came back from host memory has its content in the pool now.
void Scheduler::settleMoved() {
  for (const Moved& moved : m_moved) {
    Sequence& sequence = *moved.sequence;
    if (moved.wasRunning) continue;
    if (sequence.restoredTokens > 0) {
      m_cache.markWritten(sequence.table, sequence.progress.numComputed - sequence.restoredTokens,
                          sequence.restoredTokens);
    }
    m_cache.swapSpace().give(sequence.swapSlots);
    sequence.swapSlots.clear();
  }
  m_moved.clear();
}

void Scheduler::countPlan() {
  if (!m_plan.rows.empty() || !m_plan.preempted.empty()) ++m_counters.steps;
  m_counters.preemptions += m_plan.preempted.size();
  m_counters.swaps += static_cast<std::uint64_t>(
      std::ranges::count(m_plan.preempted, Reason::PreemptedToSwap, &Preemption::reason));
  m_counters.prefixQueries += m_queried;
  m_counters.prefixHits += m_hit;
  m_counters.promptTokens += static_cast<std::uint64_t>(m_plan.prefillTokens);
  m_counters.paddedTokens += m_plan.paddedTokens;
  if (m_plan.rows.empty()) return;
  m_counters.idleSlotSteps += m_plan.idleSlotSteps;
  m_pacePlanNs = m_planNs;
  m_pacePrefill = m_plan.prefillTokens;
  // a step with guesses does not tell what a token costs
  m_paceDecode = m_plan.draftTokens > 0 ? 0 : m_plan.decodeTokens;
}

// Only the end of a table is not full yet, and such a block has one holder.
std::int64_t Scheduler::emptySlots(const Sequence& sequence) const {
  return sequence.table.capacity() - sequence.progress.numComputed;
}

// What the rows have not counted.
void Scheduler::countPool() {
  const kv::BlockPool& pool = m_cache.pool();
  m_counters.usedSlotSteps += pool.numUsed() * m_cache.config().blockSize;
  if (m_rowOwners.size() < m_running.size()) {
    for (const Sequence* sequence : m_running) {
      if (sequence->planRow < 0) m_counters.emptySlotSteps += emptySlots(*sequence);
    }
  }
  if (m_cache.canShare()) return;
  m_counters.freeBlockSteps += pool.numFree();
  m_counters.strandedBlockSteps += pool.numFree() - m_cache.largestPlace();
}

// Only now blocks go back: all rows have published what they wrote, all branches share it.
std::vector<FinishedRequest> Scheduler::removeEnded(std::span<const RowResult> results) {
  std::vector<Leaving> leaving;
  auto next = m_endings.begin();
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (next != m_endings.end() && next->row == i) {
      leaving.push_back({m_rowOwners[i], (next++)->ending});
    }
    for (const Branch& one : results[i].branches) {
      Sequence& child = known(one.child);
      const Ending ending = endOf(child, one.finish);
      if (ending.finish == FinishReason::None) continue;
      if (child.progress.state == RequestState::Waiting) m_waiting.erase(child);
      leaving.push_back({&child, ending});
    }
  }
  if (isBatched()) parkAnswers(leaving);
  releaseParked(leaving);
  for (const Leaving& one : leaving) one.sequence->isLeaving = true;
  if (!leaving.empty()) {
    std::erase_if(m_running, [](const Sequence* one) { return one->isLeaving; });
  }
  for (std::size_t i = 0; i < m_rejected.size(); ++i) {
    const Rejection& why = m_plan.rejected[i];
    leaving.push_back({m_rejected[i], {FinishReason::Refused, why.reason, why.a, why.b}});
  }
  m_rejected.clear();
  std::vector<FinishedRequest> ended;
  for (const Leaving& one : leaving) ended.push_back(remove(*one.sequence, one.ending));
  return ended;
}

// How it ends with this step; FinishReason::None when it goes on.
Ending Scheduler::endOf(const Sequence& sequence, FinishReason finish) const {
  if (finish != FinishReason::None) return {finish, reasonOf(finish), 0, 0};
  const Verdict limit = limitReached(sequence);
  if (limit.isYes()) return {};
  return {FinishReason::Length, limit.reason, limit.a, limit.b};
}

// It keeps its place and its blocks until its batch ends.
void Scheduler::park(Sequence& sequence, const Ending& ending) {
  if (sequence.progress.state == RequestState::Waiting) {  // a branch that found no place to run
    sequence.progress.admissionOrder = ++m_admissions;
    m_running.push_back(&sequence);
  }
  sequence.parked = ending;
  sequence.setState(RequestState::Finished);
  sequence.reason = Reason::HeldForBatch;
  sequence.reasonA = sequence.numOutput();
  sequence.reasonB = 0;
  ++m_numParked;
}

// Whole answers stay until their batch ends; failures and cancels do not.
void Scheduler::parkAnswers(std::vector<Leaving>& leaving) {
  std::erase_if(leaving, [this](const Leaving& one) {
    const bool isAnswer =
        one.ending.finish == FinishReason::Stop || one.ending.finish == FinishReason::Length;
    if (isAnswer) park(*one.sequence, one.ending);
    return isAnswer;
  });
}

// The batch ends with the last that can go on, or when batching is switched off.
void Scheduler::releaseParked(std::vector<Leaving>& leaving) {
  if (m_numParked == 0) return;
  if (isBatched() && m_numParked + m_numStuck + leaving.size() < m_running.size()) return;
  for (Sequence* one : m_running) {
    if (one->isParked()) leaving.push_back({one, one->parked});
  }
}

// Length and context: None while there is room for one more token.
Verdict Scheduler::limitReached(const Sequence& sequence) const {
  if (sequence.numOutput() >= sequence.spec.maxTokens) {
    return {Reason::FinishedLength, sequence.spec.maxTokens, 0};
  }
  if (sequence.numTokens() >= m_maxContext) return {Reason::FinishedContextFull, m_maxContext, 0};
  return {};
}

void Scheduler::applyRow(Sequence& sequence, const PlanRow& row, const RowResult& result) {
  const auto numSampled = static_cast<std::int64_t>(result.tokens.size());
  CHECK(numSampled <= (row.samples ? 1 + row.numDrafts : 0));
  CHECK(numSampled > 0 || !row.samples || result.holds || result.finish != FinishReason::None);
  CHECK(!result.holds || (numSampled == 0 && row.samples && row.numDrafts == 0));
  sequence.lastStep = m_plan.id.value;
  sequence.turn = ++m_turns;
  sequence.drafts.clear();
  if (result.finish == FinishReason::Failed) return;  // what it wrote is not to be trusted
  // Of the drafts only the accepted ones stand; the newest token is sampled, not computed yet.
  const std::int64_t accepted = std::max<std::int64_t>(0, numSampled - 1);
  const std::int64_t standing = row.numTokens - row.numDrafts + accepted;
  for (std::int64_t i = 0; i < accepted; ++i) {
    const auto draft = static_cast<std::size_t>(row.firstToken + row.numTokens - row.numDrafts + i);
    CHECK(result.tokens[static_cast<std::size_t>(i)] == m_plan.tokens[draft]);
  }
  sequence.progress.isEntering = false;
  m_cache.markWritten(sequence.table, row.firstPosition, standing);
  sequence.progress.numComputed += standing;
  sequence.append(result.tokens);
  m_counters.generatedTokens += static_cast<std::uint64_t>(numSampled);
  if (numSampled > 0 || result.holds) {  // a held one gets its token right after the step
    sequence.setState(RequestState::Decoding);
    sequence.lastTokenNs = m_planNs;
    if (sequence.firstTokenNs < 0) sequence.firstTokenNs = m_planNs;
  }
  if (result.holds) sequence.reason = Reason::WaitsBeams;
  if (!m_cache.config().isKept) {
    if (numSampled > 0) forgetComputed(sequence);
    return;
  }
  const SequenceProgress& progress = sequence.progress;
  if (!m_limits.prefixCache ||
      !m_cache.mayPublish(progress.publishedBlocks, progress.numComputed)) {
    return;
  }
  m_cache.preparePublish({&sequence.chain, sequence.tokens}, progress.publishedBlocks);
  m_publishing.push_back(&sequence);
}

void Scheduler::publishBlocks() {
  for (Sequence* sequence : m_publishing) {
    SequenceProgress& progress = sequence->progress;
    progress.publishedBlocks = m_cache.publish(sequence->table, {&sequence->chain, sequence->tokens},
                                               progress.publishedBlocks, progress.numComputed);
  }
}

// Without a KV cache nothing outlives the token it was computed for.
void Scheduler::forgetComputed(Sequence& sequence) {
  m_cache.release(sequence.table);
  sequence.progress.numComputed = 0;
  sequence.progress.publishedBlocks = 0;
}

// To the queue it was in; what is in host memory for one that waits stays there.
void Scheduler::takeBack(const Moved& moved) {
  Sequence& sequence = *moved.sequence;
  if (moved.wasRunning) {
    m_waiting.erase(sequence);
    m_running.push_back(&sequence);
    m_cache.swapSpace().give(sequence.swapSlots);
    sequence.swapSlots.clear();
  } else {
    std::erase(m_running, &sequence);
    m_waiting.insert(sequence);
  }
  sequence.progress = moved.progress;
}

void Scheduler::abandonStep(StepProgress progress) {
  CHECK(hasOpenStep());
  const std::vector<BlockId> taken = m_reservation->takenBlocks();
  m_reservation->rollBack();
  m_reservation.reset();
  std::vector<Sequence*> preempted;
  for (const Moved& moved : m_moved) {
    takeBack(moved);
    if (moved.wasRunning) preempted.push_back(moved.sequence);
  }
  m_moved.clear();
  for (Sequence* one : m_rejected) m_waiting.insert(*one);
  m_rejected.clear();
  std::ranges::sort(m_running, {},
                    [](const Sequence* one) { return one->progress.admissionOrder; });
  if (progress == StepProgress::NotExecuted) return;
  // Blocks that the step had handed out may be overwritten: who holds one after the roll-back has
  // to compute again. Those are the preempted, and a sequence that had copied a shared block of
  // which a preempted one was the last other holder.
  const std::unordered_set<BlockId> spoilt(taken.begin(), taken.end());
  for (Sequence* one : m_running) {
    const auto isSpoilt = [&](BlockId block) { return spoilt.contains(block); };
    if (std::ranges::any_of(one->table.blocks(), isSpoilt) &&
        std::ranges::find(preempted, one) == preempted.end()) {
      preempted.push_back(one);
    }
  }
  const std::vector<Sequence*> spoiltOnes = preempted;
  for (const Sequence* one : spoiltOnes) {
    for (Sequence* beam : runningBeamsOf(*one)) {
      if (std::ranges::find(preempted, beam) == preempted.end()) preempted.push_back(beam);
    }
  }
  for (Sequence* one : preempted) {
    m_cache.release(one->table);
    leaveRunning(*one, 0);
    ++m_counters.preemptions;
  }
  m_cache.forget(taken);
}

}  // namespace engine::sched
