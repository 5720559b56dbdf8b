#include "kernels/cpu/matmul.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/tile_job.h"

namespace kernels::cpu {

// One instruction set's code, and what it wants of its caller.
struct Matmul::Functions {
  QuantizeFunction* quantize;
  MultiplyFunction* multiplyQuantized;
  MultiplyFunction* multiplyFloats;
  std::ptrdiff_t rowBlockBytes;  // activations that stay in L2 while the tiles pass by
};

const Matmul::Functions& Matmul::functionsOf(Isa isa) {
  static constexpr Functions kAvx2 = {quantizeAvx2, multiplyQuantizedAvx2, multiplyFloatsAvx2,
                                      192 << 10};
  static constexpr Functions kAvxVnni = {quantizeAvx2, multiplyQuantizedAvxVnni, multiplyFloatsAvx2,
                                         192 << 10};
  static constexpr Functions kAvx512Vnni = {quantizeAvx512Vnni, multiplyQuantizedAvx512Vnni,
                                            multiplyFloatsAvx512Vnni, 768 << 10};
  static constexpr Functions kAmx = {quantizeAvx512Vnni, multiplyQuantizedAmx,
                                     multiplyFloatsAvx512Vnni, 768 << 10};
  switch (isa) {
    case Isa::Avx2:
      return kAvx2;
    case Isa::AvxVnni:
      return kAvxVnni;
    case Isa::Avx512Vnni:
      return kAvx512Vnni;
    case Isa::Amx:
      return kAmx;
  }
  return kAvx2;
}

Matmul::Matmul(Isa isa) : m_isa(isa), m_functions(&functionsOf(isa)) {}

void Matmul::quantizeRow(const float* in, QuantizedRows& rows, int row) const {
  quantizeGroups(in, rows, row, 0, rows.numGroups());
}

void Matmul::quantizeGroups(
    const float* in, QuantizedRows& rows, int row, int firstGroup, int count) const {
  const int left = rows.cols() - firstGroup * kGroupSize,
            whole = std::min(count, left / kGroupSize);
  quantizeWhole(in, rows, row, firstGroup, whole);
  if (whole == count) return;
  float padded[kGroupSize] = {};
  in += std::ptrdiff_t{whole} * kGroupSize;
  std::copy(in, in + left % kGroupSize, padded);
  quantizeWhole(padded, rows, row, firstGroup + whole, 1);
}

void Matmul::quantizeWhole(
    const float* in, QuantizedRows& rows, int row, int firstGroup, int count) const {
  m_functions->quantize(in, count, rows.row(row) + firstGroup);
  if (rows.hasFloats()) {
    std::memcpy(rows.floats(row) + std::ptrdiff_t{firstGroup} * kGroupSize, in,
                static_cast<std::size_t>(count) * kGroupSize * sizeof(float));
  }
}

void Matmul::multiplyTiles(const PackedMatrix& matrix,
                           const QuantizedRows& rows,
                           const MatmulRange& range,
                           float* out,
                           std::ptrdiff_t ldOut) const {
  if (range.rowBegin >= range.rowEnd) return;
  for (int tile = range.tileBegin; tile < range.tileEnd;) {
    const PackedMatrix::Part& part = matrix.partOfTile(tile);
    const int end = std::min(range.tileEnd, part.firstTile + part.numTiles);
    TileJob job;
    job.layout = part.layout;
    job.tiles = matrix.tile(tile);
    job.tileBytes = part.tileBytes;
    job.numTiles = end - tile;
    job.numColumns = std::min(job.numTiles * kTileColumns,
                              part.firstColumn + part.numColumns - matrix.firstColumnOfTile(tile));
    job.numGroups = matrix.numGroups();
    job.numRows = range.rowEnd - range.rowBegin;
    job.groups = rows.row(range.rowBegin);
    job.rowStride = rows.rowStride();
    job.floats = rows.hasFloats() ? rows.floats(range.rowBegin) : nullptr;
    job.out = out + (matrix.firstColumnOfTile(tile) - matrix.firstColumnOfTile(range.tileBegin));
    job.ldOut = ldOut;
    multiplyByRowBlocks(job);
    tile = end;
  }
}

void Matmul::multiplyByRowBlocks(const TileJob& job) const {
  constexpr std::ptrdiff_t kMultiple = 48;  // of every kernel's register block
  const std::ptrdiff_t rowBytes = job.rowStride * std::ptrdiff_t{sizeof(QuantizedGroup)};
  const std::ptrdiff_t fitting = m_functions->rowBlockBytes / rowBytes / kMultiple * kMultiple;
  const int blockRows = static_cast<int>(std::max(fitting, kMultiple));
  const bool isFloat = isPlainFloat(job.layout);
  for (int row = 0; row < job.numRows; row += blockRows) {
    TileJob block = job;
    block.numRows = std::min(blockRows, job.numRows - row);
    block.groups += row * job.rowStride;
    if (isFloat) block.floats += std::ptrdiff_t{row} * job.numGroups * kGroupSize;
    block.out += row * job.ldOut;
    (isFloat ? m_functions->multiplyFloats : m_functions->multiplyQuantized)(block);
  }
}

}  // namespace kernels::cpu
