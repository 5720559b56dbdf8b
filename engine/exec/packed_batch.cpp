#include "engine/exec/packed_batch.h"

#include <algorithm>

#include "engine/base/check.h"

namespace engine::exec {

namespace {

std::int64_t lengthOf(const SequenceRows& rows) {
  return rows.firstPosition + static_cast<std::int64_t>(rows.tokens.size());
}

std::size_t blocksOf(const SequenceRows& rows, int blockSize) {
  return static_cast<std::size_t>((lengthOf(rows) + blockSize - 1) / blockSize);
}

}  // namespace

void PackedBatch::pack(std::span<const SequenceRows> sequences, int blockSize) {
  for (auto* array :
       {&m_tokens, &m_positions, &m_sequences, &m_seqLen, &m_blockTable, &m_logitRows}) {
    array->clear();
  }
  m_queryStart.assign(1, 0);
  std::size_t maxBlocks = 0;
  for (const SequenceRows& rows : sequences) {
    maxBlocks = std::max(maxBlocks, blocksOf(rows, blockSize));
  }
  m_maxBlocks = static_cast<int>(maxBlocks);
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    appendRows(sequences[i], static_cast<std::int32_t>(i));
    appendTable(sequences[i], blockSize);
  }
}

void PackedBatch::appendRows(const SequenceRows& rows, std::int32_t sequence) {
  CHECK(!rows.tokens.empty());
  CHECK(rows.numLogitRows <= static_cast<int>(rows.tokens.size()));
  auto position = static_cast<std::int32_t>(rows.firstPosition);
  for (const TokenId token : rows.tokens) {
    m_tokens.push_back(token);
    m_positions.push_back(position++);
    m_sequences.push_back(sequence);
  }
  const int end = numTokens();
  for (int row = end - rows.numLogitRows; row < end; ++row) m_logitRows.push_back(row);
  m_queryStart.push_back(end);
  m_seqLen.push_back(position);
}

void PackedBatch::appendTable(const SequenceRows& rows, int blockSize) {
  const std::size_t used = blocksOf(rows, blockSize);
  CHECK(rows.blockTable.size() >= used);
  for (std::size_t i = 0; i < used; ++i) m_blockTable.push_back(rows.blockTable[i].value);
  m_blockTable.resize(m_seqLen.size() * static_cast<std::size_t>(m_maxBlocks), -1);
}

kernels::RaggedBatch PackedBatch::view(const std::atomic<bool>* cancel) const {
  kernels::RaggedBatch batch;
  batch.numTokens = numTokens();
  batch.numSeqs = static_cast<int>(m_seqLen.size());
  batch.tokens = m_tokens.data();
  batch.positions = m_positions.data();
  batch.sequences = m_sequences.data();
  batch.queryStart = m_queryStart.data();
  batch.seqLen = m_seqLen.data();
  batch.blockTable = m_blockTable.data();
  batch.maxBlocks = m_maxBlocks;
  batch.logitRows = m_logitRows.data();
  batch.numLogitRows = numLogitRows();
  batch.cancel = cancel;
  return batch;
}

}  // namespace engine::exec
