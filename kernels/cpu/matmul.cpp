#include "kernels/cpu/matmul.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/tile_job.h"

namespace kernels::cpu {

// One instruction set's code, and what it wants of its caller.
struct Matmul::Functions {
  QuantizeFunction* quantize;
  RoundFunction* round;  // instead, for RowForm::Bf16
  MultiplyFunction* multiplyQuantized;
  MultiplyFunction* multiplyFloats;
  std::ptrdiff_t rowBlockBytes;  // int8 activations that stay in L2 while the tiles pass by
};

const Matmul::Functions& Matmul::functionsOf(Isa isa) {
  static constexpr Functions kAvx2 = {quantizeAvx2, nullptr, multiplyQuantizedAvx2,
                                      multiplyFloatsAvx2, 192 << 10};
  static constexpr Functions kAvxVnni = {quantizeAvx2, nullptr, multiplyQuantizedAvxVnni,
                                         multiplyFloatsAvx2, 192 << 10};
  static constexpr Functions kAvx512Vnni = {quantizeAvx512Vnni, nullptr,
                                            multiplyQuantizedAvx512Vnni, multiplyFloatsAvx512Vnni,
                                            768 << 10};
  static constexpr Functions kAmx = {quantizeAvx512Vnni, nullptr, multiplyQuantizedAmx,
                                     multiplyFloatsAvx512Vnni, 768 << 10};
  static constexpr Functions kAmxBf16 = {nullptr, roundRowAvx512Bf16, multiplyRoundedAmxBf16,
                                         multiplyFloatsAvx512Vnni, 0};
  switch (isa) {
    case Isa::Avx2:
      return kAvx2;
    case Isa::AvxVnni:
      return kAvxVnni;
    case Isa::Avx512Vnni:
      return kAvx512Vnni;
    case Isa::Amx:
      return kAmx;
    case Isa::AmxBf16:
      return kAmxBf16;
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
  if (rows.form() == RowForm::Bf16) {
    m_functions->round(in, count, rows.rounded(row) + std::ptrdiff_t{firstGroup} * kGroupSize);
  } else {
    m_functions->quantize(in, count, rows.row(row) + firstGroup);
  }
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
    job.sumUnits = matrix.sumUnits(tile);
    job.numTiles = end - tile;
    job.numColumns = std::min(job.numTiles * kTileColumns,
                              part.firstColumn + part.numColumns - matrix.firstColumnOfTile(tile));
    job.numGroups = matrix.numGroups();
    job.out = out + (matrix.firstColumnOfTile(tile) - matrix.firstColumnOfTile(range.tileBegin));
    job.ldOut = ldOut;
    multiplyPart(job, rows, range);
    tile = end;
  }
}

// job: all but what it says of the rows.
void Matmul::multiplyPart(TileJob job, const QuantizedRows& rows, const MatmulRange& range) const {
  job.numRows = range.rowEnd - range.rowBegin;
  job.floats = rows.hasFloats() ? rows.floats(range.rowBegin) : nullptr;
  job.rowStride = rows.rowStride();
  if (rows.form() == RowForm::Int8) {
    job.groups = rows.row(range.rowBegin);
    return multiplyByRowBlocks(job);
  }
  if (isPlainFloat(job.layout)) return m_functions->multiplyFloats(job);
  job.rounded = rows.rounded(range.rowBegin);
  m_functions->multiplyQuantized(job);
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
