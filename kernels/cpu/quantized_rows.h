// Activations as the matrix kernels read them: int8 in groups of 32, one cache line a group.
#pragma once

#include <cstddef>

#include "kernels/core/quant_group.h"
#include "kernels/core/status.h"
#include "kernels/cpu/huge_arena.h"
#include "kernels/cpu/quantized_group.h"

namespace kernels::cpu {

enum class KeepFloats : bool { No, Yes };

// Scratch for up to maxRows x maxCols; the shape in use may change from product to product.
// Thread-compatible; different rows may be written by different threads.
class QuantizedRows {
 public:
  // keepFloats: room for the f32 values too, which F32, F16 and BF16 weights are multiplied with.
  Status reserve(int maxRows, int maxCols, KeepFloats keepFloats);
  // cols need not fill the last group. The contents are undefined afterwards.
  void setShape(int numRows, int cols);

  int numRows() const { return m_numRows; }

  int cols() const { return m_numCols; }

  int numGroups() const { return m_numGroups; }

  int rowStride() const { return strideOf(m_numGroups); }  // groups from one row to the next

  bool hasFloats() const { return m_floats != nullptr; }

  std::size_t bytes() const { return m_arena.capacity(); }

  QuantizedGroup* row(int row) { return m_groups + offset(row); }

  const QuantizedGroup* row(int row) const { return m_groups + offset(row); }

  // Whole groups: zeros follow the last value.
  float* floats(int row) { return m_floats + std::ptrdiff_t{row} * m_numGroups * kGroupSize; }

  const float* floats(int row) const {
    return m_floats + std::ptrdiff_t{row} * m_numGroups * kGroupSize;
  }

 private:
  // Readable behind the last row: tile registers take 16 rows, wanted or not.
  static constexpr std::size_t kSpareRows = 15;

  // An odd number of cache lines, so that rows do not all fall into the same cache sets.
  static constexpr int strideOf(int numGroups) { return numGroups | 1; }

  std::ptrdiff_t offset(int row) const { return std::ptrdiff_t{row} * rowStride(); }

  HugeArena m_arena;
  QuantizedGroup* m_groups = nullptr;
  float* m_floats = nullptr;
  int m_numRows = 0, m_numCols = 0, m_numGroups = 0;
};

}  // namespace kernels::cpu
