#include "kernels/cpu/quantized_rows.h"

#include <string>

namespace kernels::cpu {

Status QuantizedRows::reserve(int maxRows, int maxCols, KeepFloats keepFloats) {
  const int maxGroups = (maxCols + kGroupSize - 1) / kGroupSize;
  const auto rows = static_cast<std::size_t>(maxRows);
  const std::size_t groupBytes =
      (rows + kSpareRows) * static_cast<std::size_t>(strideOf(maxGroups)) * sizeof(QuantizedGroup);
  const bool keep = keepFloats == KeepFloats::Yes;
  const std::size_t floatBytes =
      keep ? rows * static_cast<std::size_t>(maxGroups) * kGroupSize * sizeof(float) : 0;
  if (!m_arena.reserve(groupBytes + floatBytes)) {
    return Status::failed(Outcome::OutOfMemory,
                          "no memory for " + std::to_string(maxRows) + " rows of " +
                              std::to_string(maxCols) + " activations (" +
                              std::to_string(groupBytes + floatBytes) + " bytes)");
  }
  m_groups = reinterpret_cast<QuantizedGroup*>(m_arena.allocate(groupBytes));
  m_floats = keep ? reinterpret_cast<float*>(m_arena.allocate(floatBytes)) : nullptr;
  m_numRows = m_numCols = m_numGroups = 0;
  return Status::ok();
}

void QuantizedRows::setShape(int numRows, int cols) {
  m_numRows = numRows;
  m_numCols = cols;
  m_numGroups = (cols + kGroupSize - 1) / kGroupSize;
}

}  // namespace kernels::cpu
