// The rows of one batch in the flat arrays that kernels read.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/exec/sequence_rows.h"
#include "kernels/core/ragged_batch.h"

namespace engine::exec {

// Engine thread only; keeps its arrays from batch to batch.
class PackedBatch {
 public:
  // Replaces the content. blockSize: tokens a block.
  void pack(std::span<const SequenceRows> sequences, int blockSize);

  // Valid until the next pack. cancel may be null.
  kernels::RaggedBatch view(const std::atomic<bool>* cancel) const;

  int numTokens() const { return static_cast<int>(m_tokens.size()); }

  int numLogitRows() const { return static_cast<int>(m_logitRows.size()); }

 private:
  void appendRows(const SequenceRows& rows, std::int32_t sequence);
  void appendTable(const SequenceRows& rows, int blockSize);

  std::vector<std::int32_t> m_tokens, m_positions, m_sequences;  // [numTokens]
  std::vector<std::int32_t> m_queryStart;                        // [numSeqs + 1]
  std::vector<std::int32_t> m_seqLen;                            // [numSeqs]
  std::vector<std::int32_t> m_blockTable;                        // [numSeqs, m_maxBlocks]
  std::vector<std::int32_t> m_logitRows;
  int m_maxBlocks = 0;
};

}  // namespace engine::exec
