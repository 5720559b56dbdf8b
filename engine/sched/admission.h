// Pure rules of entry: which requests can ever fit, and whether the next one may enter now.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/api/reason.h"

namespace engine::sched {

// Reason::None = yes; else why not, with the two numbers of that reason.
struct Verdict {
  Reason reason = Reason::None;
  std::int64_t a = 0, b = 0;

  bool isYes() const { return reason == Reason::None; }
};

// Tokens that a request holds at its end, at most.
inline std::int64_t finalLength(std::int64_t promptTokens,
                                std::int64_t maxTokens,
                                std::int64_t maxContext) {
  // written so that a huge maxTokens does not overflow
  return maxTokens >= maxContext - promptTokens ? maxContext : promptTokens + maxTokens;
}

// A prompt must leave room for one token.
inline Verdict judgeLength(std::int64_t promptTokens, std::int64_t maxContext) {
  if (promptTokens < 1) return {Reason::RefusedBadInput, promptTokens, 1};
  if (promptTokens + 1 > maxContext) return {Reason::RefusedTooLong, promptTokens + 1, maxContext};
  return {};
}

// What the pool cannot hold even when empty is refused at once; waiting would not help.
inline Verdict judgeSize(std::int64_t blocksAtEnd, std::int64_t poolBlocks) {
  if (blocksAtEnd > poolBlocks) return {Reason::RefusedPoolTooSmall, blocksAtEnd, poolBlocks};
  return {};
}

struct AdmissionFacts {
  bool hasPreempted = false;  // this step
  std::int64_t budgetUsed = 0, budget = 0;
  std::int64_t running = 0, maxSeqs = 0;
  // Blocks for the whole of its tokens, not only for its first chunk: else it would enter and be
  // preempted for ever. Idle cached blocks it would reuse count, for they stop being available.
  std::int64_t blocksNeeded = 0;
  std::int64_t blocksAvailable = 0;
  // What running requests still need for the tokens they have, and room to grow (a paged one: one
  // block each), so that a new one does not push them out at once.
  std::int64_t blocksPromised = 0;
};

inline std::int64_t blocksOpen(const AdmissionFacts& facts) {
  return std::max<std::int64_t>(0, facts.blocksAvailable - facts.blocksPromised);
}

inline Verdict judgeAdmission(const AdmissionFacts& facts) {
  if (facts.hasPreempted) return {Reason::WaitsPreemptionStep, 0, 0};
  if (facts.running >= facts.maxSeqs) return {Reason::WaitsSequences, facts.running, facts.maxSeqs};
  if (facts.budgetUsed >= facts.budget) {
    return {Reason::WaitsTokenBudget, facts.budgetUsed, facts.budget};
  }
  if (facts.blocksNeeded > blocksOpen(facts)) {
    return {Reason::WaitsBlocks, facts.blocksNeeded, blocksOpen(facts)};
  }
  return {};
}

// What a step that stopped admitting for this reason was limited by.
inline Reason limitOf(Reason waits) {
  switch (waits) {
    case Reason::WaitsSequences:
      return Reason::LimitSequences;
    case Reason::WaitsTokenBudget:
      return Reason::LimitTokenBudget;
    case Reason::WaitsBlocks:
    case Reason::WaitsPreemptionStep:
      return Reason::LimitBlocks;
    case Reason::WaitsBatchEnd:
    case Reason::WaitsQueueDelay:
      return Reason::LimitBatchPolicy;
    default:
      return Reason::LimitQueueEmpty;
  }
}

}  // namespace engine::sched
