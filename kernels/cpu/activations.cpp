#include "kernels/cpu/activations.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "kernels/cpu/attention.h"
#include "kernels/cpu/tile_layout.h"

namespace kernels::cpu {

namespace {

std::size_t at(std::int64_t value) {
  return static_cast<std::size_t>(value);
}

}  // namespace

int headsPerUnit(int headDim) {
  return kTileColumns / std::gcd(kTileColumns, headDim);
}

Status Activations::reserve(const DecoderSpec& spec,
                            int maxRows,
                            int numThreads,
                            KeepFloats keepFloats,
                            RowForm form) {
  m_maxRows = maxRows;
  m_hidden = at(spec.hidden);
  m_rowFloats = (m_hidden + kGroupSize - 1) / kGroupSize * kGroupSize;
  m_queryWidth = at(spec.numHeads) * at(spec.headDim);
  for (const RopeSpec& rope : spec.ropes) {
    m_maxPairs = std::max(m_maxPairs, static_cast<std::ptrdiff_t>(rope.inverseFrequencies.size()));
  }
  const std::size_t unitFloats = 2 * at(QuantizedRows::kRowsPerBlock) *
                                 at(headsPerUnit(spec.headDim)) * at(spec.headDim);
  m_epilogueFloats = HugeArena::rounded(std::max(at(kEpilogueFloats), unitFloats));
  m_attentionBytes = HugeArena::rounded(attentionScratchBytes(spec.headDim));
  m_scratchBytes = HugeArena::rounded(m_attentionBytes +
                                      4 * (m_epilogueFloats + m_rowFloats + at(spec.headDim)) + 64);
  const std::size_t rows = at(maxRows);
  const std::size_t hiddenBytes = rows * m_hidden * 4, queryBytes = rows * m_queryWidth * 4;
  const std::size_t angleBytes = spec.ropes.size() * rows * 2 * at(m_maxPairs) * 4;
  const std::size_t scratchBytes = at(numThreads) * m_scratchBytes;
  const std::size_t total = 2 * hiddenBytes + 2 * queryBytes + angleBytes + scratchBytes + 8 * 64;
  if (!m_arena.reserve(total)) {
    return Status::failed(Outcome::OutOfMemory, "no memory for the activations of " +
                                                    std::to_string(maxRows) + " rows (" +
                                                    std::to_string(total) + " bytes)");
  }
  m_x = reinterpret_cast<float*>(m_arena.allocate(hiddenBytes));
  m_update = reinterpret_cast<float*>(m_arena.allocate(hiddenBytes));
  m_query = reinterpret_cast<float*>(m_arena.allocate(queryBytes));
  m_attended = reinterpret_cast<float*>(m_arena.allocate(queryBytes));
  m_angles = reinterpret_cast<float*>(m_arena.allocate(angleBytes));
  m_scratch = m_arena.allocate(scratchBytes);
  const int widest = std::max(spec.hidden, spec.numHeads * spec.headDim);
  const int maxInputs = form == RowForm::Int8 ? 2 * maxRows : maxRows;
  Status status = m_inputs.reserve(maxInputs, widest, keepFloats, form);
  if (status.isOk()) status = m_gated.reserve(maxRows, spec.ffn, keepFloats, form);
  return status;
}

std::size_t Activations::bytes() const {
  return m_arena.capacity() + m_inputs.bytes() + m_gated.bytes();
}

}  // namespace kernels::cpu
