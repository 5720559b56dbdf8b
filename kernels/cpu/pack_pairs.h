// What packing in CodeOrder::ByPair does otherwise than ByStep.
#pragma once

#include <cstddef>

#include "kernels/core/weight_view.h"
#include "kernels/cpu/pack_block.h"

namespace kernels::cpu {

// The codes of one column's group, into the place of all columns' codes.
void storePairCodes(const QuantGroup& group, const Column& column, std::byte* codes);

// Turns the file's f16 scales and minimums of a packed tile into those that weights are made with,
// multiplied so that the tile's largest weight is near the upper end of f16. Returns what a unit of
// its sums then stands for; NaN where a scale is none or infinite, for no weight would tell.
float finishPairScales(TileLayout layout, int numGroups, std::byte* tile);

// The whole tile of bf16 weights, and the unit of its sums.
float packBf16Pairs(const WeightView& source, const std::byte* rows, int numRows, std::byte* out);

}  // namespace kernels::cpu
