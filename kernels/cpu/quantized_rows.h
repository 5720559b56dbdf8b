// Activations as the matrix kernels read them: int8 in groups of 32, or bf16 for tile registers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/core/quant_group.h"
#include "kernels/core/status.h"
#include "kernels/cpu/huge_arena.h"
#include "kernels/cpu/quantized_group.h"

namespace kernels::cpu {

enum class KeepFloats : bool { No, Yes };

// A row's groups beside each other, one cache line a group, int8 or bf16.
enum class RowForm : std::uint8_t { Int8, Bf16 };

// Scratch for up to maxRows x maxCols; the shape in use may change from product to product.
// Thread-compatible; different rows may be written by different threads.
class QuantizedRows {
 public:
  static constexpr int kRowsPerBlock = 16;  // of a tile register

  // keepFloats: room for the f32 values too, which plain float weights are multiplied with.
  Status reserve(int maxRows, int maxCols, KeepFloats keepFloats, RowForm form);
  // cols need not fill the last group. The contents are undefined afterwards.
  void setShape(int numRows, int cols);

  int numRows() const { return m_numRows; }

  int cols() const { return m_numCols; }

  int numGroups() const { return m_numGroups; }

  RowForm form() const { return m_form; }

  int rowStride() const { return strideOf(m_numGroups); }  // groups from one row to the next

  bool hasFloats() const { return m_floats != nullptr; }

  std::size_t bytes() const { return m_arena.capacity(); }

  // Int8.
  QuantizedGroup* row(int row) { return m_groups + offset(row); }

  const QuantizedGroup* row(int row) const { return m_groups + offset(row); }

  // Bf16: the values of a row, times kRoundedInputFactor.
  std::uint16_t* rounded(int row) { return m_rounded + offset(row) * kGroupSize; }

  const std::uint16_t* rounded(int row) const { return m_rounded + offset(row) * kGroupSize; }

  // Whole groups: zeros follow the last value.
  float* floats(int row) { return m_floats + std::ptrdiff_t{row} * m_numGroups * kGroupSize; }

  const float* floats(int row) const {
    return m_floats + std::ptrdiff_t{row} * m_numGroups * kGroupSize;
  }

 private:
  // An odd number of cache lines, so that rows do not all fall into the same cache sets.
  static constexpr int strideOf(int numGroups) { return numGroups | 1; }

  std::ptrdiff_t offset(int row) const { return std::ptrdiff_t{row} * rowStride(); }

  static std::size_t valueBytes(int maxRows, int maxGroups);

  HugeArena m_arena;
  RowForm m_form = RowForm::Int8;
  QuantizedGroup* m_groups = nullptr;
  std::uint16_t* m_rounded = nullptr;
  float* m_floats = nullptr;
  int m_numRows = 0, m_numCols = 0, m_numGroups = 0;
};

}  // namespace kernels::cpu
