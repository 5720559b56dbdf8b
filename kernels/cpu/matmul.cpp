#include "kernels/cpu/matmul.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/tile_job.h"

namespace kernels::cpu {

Matmul::Matmul(Isa isa)
    : m_isa(isa),
      m_quantize(isa == Isa::Avx512Vnni ? quantizeAvx512Vnni : quantizeAvx2),
      m_multiply(isa == Isa::Avx512Vnni ? multiplyAvx512Vnni : multiplyAvx2) {}

void Matmul::quantizeRow(const float* in, QuantizedRows& rows, int row) const {
  quantizeGroups(in, rows, row, 0, rows.numGroups());
}

void Matmul::quantizeGroups(
    const float* in, QuantizedRows& rows, int row, int firstGroup, int count) const {
  m_quantize(in, count, rows.row(row) + firstGroup);
  if (rows.hasFloats()) {
    std::memcpy(rows.floats(row) + static_cast<std::ptrdiff_t>(firstGroup) * kGroupSize, in,
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
    job.floats = rows.hasFloats() ? rows.floats(range.rowBegin) : nullptr;
    job.out = out + (matrix.firstColumnOfTile(tile) - matrix.firstColumnOfTile(range.tileBegin));
    job.ldOut = ldOut;
    m_multiply(job);
    tile = end;
  }
}

}  // namespace kernels::cpu
