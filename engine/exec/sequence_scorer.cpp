#include "engine/exec/sequence_scorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace engine::exec {

namespace {

// Enough rows to keep the backend busy; the bits do not depend on it.
constexpr std::int64_t kChunk = 512;

}  // namespace

Result<SequencePass> SequencePass::begin(Executor& executor, std::vector<TokenId> tokens) {
  const kernels::KvLayout& layout = executor.layout();
  const auto numTokens = static_cast<std::int64_t>(tokens.size());
  const std::int64_t capacity = layout.numBlocks * layout.blockSize;
  if (numTokens > capacity) {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("{} tokens do not fit into the KV pool of {} tokens", numTokens, capacity)};
  }
  SequencePass pass(executor, std::move(tokens));
  const std::int64_t numBlocks = (numTokens + layout.blockSize - 1) / layout.blockSize;
  for (std::int64_t i = 0; i < numBlocks; ++i) {
    pass.m_blockTable.push_back(BlockId(static_cast<std::int32_t>(i)));
  }
  return pass;
}

Result<void> SequencePass::advanceTo(std::int64_t end,
                                     std::int64_t firstWanted,
                                     const std::atomic<bool>* cancel,
                                     const PositionSink& sink) {
  const auto vocabSize = static_cast<std::size_t>(m_executor->vocabSize());
  end = std::min(end, static_cast<std::int64_t>(m_tokens.size()));
  while (m_position < end) {
    const std::int64_t first = m_position;
    const std::int64_t count = std::min(kChunk, end - first);
    const std::int64_t firstRow = std::clamp(firstWanted, first, first + count);
    SequenceRows rows;
    rows.tokens = std::span(m_tokens).subspan(static_cast<std::size_t>(first),
                                              static_cast<std::size_t>(count));
    rows.firstPosition = first;
    rows.blockTable = m_blockTable;
    rows.numLogitRows = static_cast<int>(first + count - firstRow);
    Result<void> seen;
    const auto onLogits = [&](int firstLogit, int numLogits, const float* logits) {
      for (int i = 0; i < numLogits && seen.isOk(); ++i) {
        seen = sink(firstRow + firstLogit + i, logits + static_cast<std::size_t>(i) * vocabSize);
      }
    };
    TRY_VOID(m_executor->execute(std::array{rows}, cancel, onLogits));
    TRY_VOID(seen);
    m_position += count;
  }
  return {};
}

Result<void> scoreSequence(Executor& executor,
                           std::span<const TokenId> tokens,
                           std::int64_t firstWanted,
                           const std::atomic<bool>* cancel,
                           const PositionSink& sink) {
  SequencePass pass = TRY(SequencePass::begin(executor, {tokens.begin(), tokens.end()}));
  return pass.advanceTo(static_cast<std::int64_t>(tokens.size()), firstWanted, cancel, sink);
}

}  // namespace engine::exec
