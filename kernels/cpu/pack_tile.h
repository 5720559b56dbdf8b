// Packing of one tile: 32 rows of a file matrix become 32 interleaved columns.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/core/weight_view.h"
#include "kernels/cpu/tile_layout.h"

namespace kernels::cpu {

// Rows [firstRow, firstRow + numRows) of `source`, numRows <= 32; the remaining columns give 0.
// out: tileBytes(tileLayoutOf(source.type), source.cols / 32) bytes, 64-byte aligned.
void packTile(const WeightView& source, std::int64_t firstRow, int numRows, std::byte* out);

}  // namespace kernels::cpu
