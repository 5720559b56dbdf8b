// What a step of the CPU backend writes on its way: the rows' vectors and each thread's scratch.
#pragma once

#include <cstddef>

#include "kernels/core/decoder_spec.h"
#include "kernels/core/status.h"
#include "kernels/cpu/huge_arena.h"
#include "kernels/cpu/quantized_rows.h"

namespace kernels::cpu {

// Floats of a product that stay with the thread that made them until their epilogue is done.
inline constexpr int kEpilogueFloats = 32768;

// All rows [maxRows, ...]; memory comes when it is first used. Different rows and different
// threads' scratch may be written at once.
class Activations {
 public:
  Status reserve(
      const DecoderSpec& spec, int maxRows, int numThreads, KeepFloats keepFloats, RowForm form);

  std::size_t bytes() const;

  float* x(int row) { return m_x + offset(row, m_hidden); }  // residual stream

  float* update(int row) { return m_update + offset(row, m_hidden); }  // not yet added to it

  float* query(int row) { return m_query + offset(row, m_queryWidth); }

  float* attended(int row) { return m_attended + offset(row, m_queryWidth); }

  float* cosines(int rope, int row) { return m_angles + angleOffset(rope, row); }

  float* sines(int rope, int row) { return cosines(rope, row) + m_maxPairs; }

  // Of the product at hand, but for `down`; of int8 two for each row where the precision is Fine.
  QuantizedRows& inputs() { return m_inputs; }

  QuantizedRows& gated() { return m_gated; }  // of `down`

  std::byte* attentionScratch(int thread) { return scratch(thread); }

  float* epilogue(int thread) {  // kEpilogueFloats or a block of rows of heads, if that is more
    return reinterpret_cast<float*>(scratch(thread) + m_attentionBytes);
  }

  // [hidden], up to whole groups of 32
  float* rowScratch(int thread) { return epilogue(thread) + m_epilogueFloats; }

  std::byte* elementScratch(int thread) {  // one head's vector in the cache's type
    return reinterpret_cast<std::byte*>(rowScratch(thread) + m_rowFloats);
  }

  std::size_t epilogueFloats() const { return m_epilogueFloats; }

 private:
  static std::ptrdiff_t offset(int row, std::size_t width) {
    return static_cast<std::ptrdiff_t>(row) * static_cast<std::ptrdiff_t>(width);
  }

  std::ptrdiff_t angleOffset(int rope, int row) const {
    return (static_cast<std::ptrdiff_t>(rope) * m_maxRows + row) * 2 * m_maxPairs;
  }

  std::byte* scratch(int thread) {
    return m_scratch + static_cast<std::ptrdiff_t>(m_scratchBytes) * thread;
  }

  HugeArena m_arena;
  QuantizedRows m_inputs, m_gated;
  std::size_t m_hidden = 0, m_queryWidth = 0, m_rowFloats = 0;
  int m_maxRows = 0;
  std::ptrdiff_t m_maxPairs = 0;  // of all ropes
  float *m_x = nullptr, *m_update = nullptr, *m_query = nullptr, *m_attended = nullptr;
  float* m_angles = nullptr;  // [rope][row][cosines, sines][maxPairs]
  std::byte* m_scratch = nullptr;
  std::size_t m_scratchBytes = 0, m_attentionBytes = 0, m_epilogueFloats = 0;
};

// Heads that together end at a tile's edge: their columns can be finished as soon as they are made.
int headsPerUnit(int headDim);

}  // namespace kernels::cpu
