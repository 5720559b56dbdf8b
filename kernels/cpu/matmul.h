// Products of quantised activations with packed weights, for any range of rows and tiles.
#pragma once

#include <cstddef>

#include "kernels/core/ops.h"
#include "kernels/cpu/packed_matrix.h"
#include "kernels/cpu/quantized_rows.h"

namespace kernels::cpu {

struct TileJob;

struct MatmulRange {
  int rowBegin = 0, rowEnd = 0;
  int tileBegin = 0, tileEnd = 0;
};

// One instruction set's kernels. All but AmxBf16 give the same bits: a result is, column by column,
// a chain over the groups of 32 in order,
//   y = fma(n * scale, weightScale, y)  [ y = fma(scaledSum, weightMin, y) ]
// with n exact, whatever the number of rows, the ranges and the vector width. AmxBf16 multiplies
// weights and rows rounded to bf16 (pair_codes.h, matmul_amx_bf16_impl.h), for any number of rows
// and ranges alike. Thread-safe: calls whose outputs do not overlap may run at once.
class Matmul {
 public:
  // isa: one that supportedIsas() lists.
  explicit Matmul(Isa isa);

  Isa isa() const { return m_isa; }

  // What it wants its weights and its rows to be.
  CodeOrder codeOrder() const {
    return m_isa == Isa::AmxBf16 ? CodeOrder::ByPair : CodeOrder::ByStep;
  }

  // Fewer rows at a time cost nearly as much: what a block of registers takes, or two tile
  // registers.
  int leastRowsPerItem() const {
    return m_isa == Isa::AmxBf16 ? 2 * QuantizedRows::kRowsPerBlock : 4;
  }

  RowForm rowForm() const { return m_isa == Isa::AmxBf16 ? RowForm::Bf16 : RowForm::Int8; }

  // Quantises cols() floats into `row` (and keeps them when rows.hasFloats()).
  void quantizeRow(const float* in, QuantizedRows& rows, int row) const;
  // The same for part of a row: in[count * 32] becomes groups [firstGroup, firstGroup + count). The
  // row's last group may be cut: what is past cols() counts as 0 and is not read.
  void quantizeGroups(
      const float* in, QuantizedRows& rows, int row, int firstGroup, int count) const;

  // out: where row rowBegin and the first column of tileBegin go; one row is ldOut floats further.
  // Columns of neighbouring tiles and parts are adjacent, so a range of tiles fills
  // firstColumnOfTile(tileEnd - 1) + numColumnsOfTile(tileEnd - 1) - firstColumnOfTile(tileBegin).
  void multiplyTiles(const PackedMatrix& matrix,
                     const QuantizedRows& rows,
                     const MatmulRange& range,
                     float* out,
                     std::ptrdiff_t ldOut) const;

 private:
  struct Functions;
  static const Functions& functionsOf(Isa isa);

  void quantizeWhole(
      const float* in, QuantizedRows& rows, int row, int firstGroup, int count) const;
  void multiplyPart(TileJob job, const QuantizedRows& rows, const MatmulRange& range) const;
  void multiplyByRowBlocks(const TileJob& job) const;

  Isa m_isa;
  const Functions* m_functions;
};

}  // namespace kernels::cpu
