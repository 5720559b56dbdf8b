// What one instruction set's file is asked to do. Plain data, no functions: see quantized_group.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/quantized_group.h"
#include "kernels/cpu/tile_layout.h"

namespace kernels::cpu {

// Tiles of one part times some rows.
struct TileJob {
  TileLayout layout;
  const std::byte* tiles = nullptr;  // numTiles * tileBytes
  std::size_t tileBytes = 0;
  int numTiles = 0, numColumns = 0;  // the last tile may be cut: numColumns in all
  int numGroups = 0;
  int numRows = 0;
  const QuantizedGroup* groups = nullptr;  // [numRows, rowStride], numGroups of each row
  std::ptrdiff_t rowStride = 0;
  const float* floats = nullptr;  // [numRows, numGroups * 32]; plain-float layouts only
  // RowForm::Bf16 instead of `groups`, and what a unit of each tile's sums stands for.
  const std::uint16_t* rounded = nullptr;
  const float* sumUnits = nullptr;
  float* out = nullptr;           // [numRows, ldOut]
  std::ptrdiff_t ldOut = 0;
};

// in[count * 32] -> out[count]
using QuantizeFunction = void(const float* in, int count, QuantizedGroup* out);
// in[count * 32] -> out[count * 32], bf16 of kRoundedInputFactor times each
using RoundFunction = void(const float* in, int count, std::uint16_t* out);
using MultiplyFunction = void(const TileJob& job);

QuantizeFunction quantizeAvx2, quantizeAvx512Vnni;
MultiplyFunction multiplyQuantizedAvx2, multiplyQuantizedAvxVnni, multiplyQuantizedAvx512Vnni;
RoundFunction roundRowAvx512Bf16;
MultiplyFunction multiplyQuantizedAmx, multiplyQuantizedEmulatedAmx;
MultiplyFunction multiplyRoundedAmxBf16, multiplyRoundedEmulatedAmxBf16;
MultiplyFunction multiplyFloatsAvx2, multiplyFloatsAvx512Vnni;

}  // namespace kernels::cpu
