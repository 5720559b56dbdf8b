#include "kernels/cpu/attention.h"

namespace kernels::cpu {

std::size_t attentionScratchBytes(int headDim) {
  const auto dim = static_cast<std::size_t>(headDim);
  const auto padded = static_cast<std::size_t>(paddedHeadDim(headDim));
  const std::size_t state = 4 * kMaxItemRows * (padded + 2) + 3 * 64;
  const std::size_t factors = 4 * kMaxItemRows * dim + 64;
  const std::size_t packed = 2 * 4 * (kStepTokens * dim + 64) + 2 * 64;
  const std::size_t parameters = 2 * (dim / 64 + 1);  // of a quantised vector, f16 each
  const std::size_t regrouped = 2 * kGroupTokens * (dim + 2 * parameters) + 64;
  return 2 * state + factors + packed + regrouped;
}

}  // namespace kernels::cpu
