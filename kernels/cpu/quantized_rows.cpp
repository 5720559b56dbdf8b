#include "kernels/cpu/quantized_rows.h"

#include <string>

namespace kernels::cpu {

std::size_t QuantizedRows::valueBytes(int maxRows, int maxGroups) {
  static_assert(sizeof(QuantizedGroup) == kGroupSize * sizeof(std::uint16_t));
  // readable behind the last row: a tile register takes 16 rows, wanted or not
  return (static_cast<std::size_t>(maxRows) + kRowsPerBlock - 1) *
         static_cast<std::size_t>(strideOf(maxGroups)) * sizeof(QuantizedGroup);
}

Status QuantizedRows::reserve(int maxRows, int maxCols, KeepFloats keepFloats, RowForm form) {
  const int maxGroups = (maxCols + kGroupSize - 1) / kGroupSize;
  const std::size_t bytes = valueBytes(maxRows, maxGroups);
  const bool keep = keepFloats == KeepFloats::Yes;
  const std::size_t floatBytes = keep ? static_cast<std::size_t>(maxRows) *
                                            static_cast<std::size_t>(maxGroups) * kGroupSize *
                                            sizeof(float)
                                      : 0;
  if (!m_arena.reserve(HugeArena::rounded(bytes) + floatBytes)) {
    return Status::failed(Outcome::OutOfMemory, "no memory for " + std::to_string(maxRows) +
                                                    " rows of " + std::to_string(maxCols) +
                                                    " activations (" +
                                                    std::to_string(bytes + floatBytes) + " bytes)");
  }
  std::byte* values = m_arena.allocate(bytes);
  m_form = form;
  m_groups = form == RowForm::Int8 ? reinterpret_cast<QuantizedGroup*>(values) : nullptr;
  m_rounded = form == RowForm::Bf16 ? reinterpret_cast<std::uint16_t*>(values) : nullptr;
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
