// Packing of one tile: 32 rows of a file matrix become 32 interleaved columns.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/core/weight_view.h"
#include "kernels/cpu/tile_layout.h"

namespace kernels::cpu {

// Rows [firstRow, firstRow + numRows) of `source`, numRows <= 32; the remaining columns give 0.
// layout: one of source.type. out: tileBytes(layout, groups of a row) bytes, 64-byte aligned.
// Returns what a unit of the tile's sums stands for: 1 but for CodeOrder::ByPair (pair_codes.h).
float packTile(const WeightView& source,
               TileLayout layout,
               std::int64_t firstRow,
               int numRows,
               std::byte* out);

}  // namespace kernels::cpu
