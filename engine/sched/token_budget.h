// Pure rule: how many tokens of its prompt a request computes in this step.
#pragma once

#include <algorithm>
#include <cstdint>

namespace engine::sched {

struct ChunkFacts {
  std::int64_t pending = 0;      // tokens still to compute
  std::int64_t budgetLeft = 0;   // of this step, decodes already taken
  int prefillChunk = 0;          // 0 = the budget
  int longPrefillThreshold = 0;  // 0 = off; holds only while somebody else wants budget
  bool isAlone = true;           // nobody else prefills or waits
  // Others that prefill or wait have had no token for too long: everyone gets a share.
  std::int64_t starvingOthers = 0;
};

// 0 when no budget is left.
inline std::int64_t chunkTokens(const ChunkFacts& facts) {
  std::int64_t chunk = std::max<std::int64_t>(0, std::min(facts.pending, facts.budgetLeft));
  if (facts.prefillChunk > 0) chunk = std::min<std::int64_t>(chunk, facts.prefillChunk);
  if (facts.longPrefillThreshold > 0 && !facts.isAlone) {
    chunk = std::min<std::int64_t>(chunk, facts.longPrefillThreshold);
  }
  if (facts.starvingOthers > 0 && chunk > 0) {
    const std::int64_t share = facts.budgetLeft / (facts.starvingOthers + 1);
    chunk = std::min(chunk, std::max<std::int64_t>(1, share));
  }
  return chunk;
}

// Tokens of a step that everybody else leaves to prompts that have had none for too long: one each,
// and a quarter of the budget at most.
inline std::int64_t decodeReserve(std::int64_t starving, std::int64_t budget) {
  return std::clamp<std::int64_t>(starving, 0, std::max<std::int64_t>(1, budget / 4));
}

// Steps without a token after which a request counts as starving; half of the 32 that are promised.
inline constexpr std::uint64_t kStarvingSteps = 16;

}  // namespace engine::sched
