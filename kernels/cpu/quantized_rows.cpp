#include "kernels/cpu/quantized_rows.h"

#include <string>

namespace kernels::cpu {

std::size_t QuantizedRows::valueBytes(int maxRows, int maxGroups, RowForm form) {
  const auto rows = static_cast<std::size_t>(maxRows);
  if (form == RowForm::Int8) {
    // readable behind the last row: a tile register takes 16 rows, wanted or not
    return (rows + kRowsPerBlock - 1) * static_cast<std::size_t>(strideOf(maxGroups)) *
           sizeof(QuantizedGroup);
  }
  constexpr std::size_t kBlock = kRowsPerBlock;
  return (rows + kBlock - 1) / kBlock * kBlock * static_cast<std::size_t>(maxGroups) * kGroupSize *
         sizeof(std::uint16_t);
}

Status QuantizedRows::reserve(int maxRows, int maxCols, KeepFloats keepFloats, RowForm form) {
  const int maxGroups = (maxCols + kGroupSize - 1) / kGroupSize;
  const std::size_t bytes = valueBytes(maxRows, maxGroups, form);
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
  m_pairs = form == RowForm::Bf16 ? reinterpret_cast<std::uint16_t*>(values) : nullptr;
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
