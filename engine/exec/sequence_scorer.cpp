#include "engine/exec/sequence_scorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace engine::exec {

namespace {

// Enough rows to keep the backend busy; the bits do not depend on it.
constexpr std::int64_t kChunk = 512;

}  // namespace

Result<void> scoreSequence(Executor& executor,
                           std::span<const TokenId> tokens,
                           std::int64_t firstWanted,
                           const std::atomic<bool>* cancel,
                           const PositionSink& sink) {
  const kernels::KvLayout& layout = executor.layout();
  const auto numTokens = static_cast<std::int64_t>(tokens.size());
  const std::int64_t capacity = layout.numBlocks * layout.blockSize;
  if (numTokens > capacity) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{} tokens do not fit into the KV pool of {} tokens", numTokens, capacity)};
  }
  std::vector<BlockId> blockTable(static_cast<std::size_t>((numTokens + layout.blockSize - 1) / layout.blockSize));
  for (std::size_t i = 0; i < blockTable.size(); ++i) blockTable[i] = BlockId(static_cast<std::int32_t>(i));

  for (std::int64_t first = 0; first < numTokens; first += kChunk) {
    const std::int64_t count = std::min(kChunk, numTokens - first);
    const std::int64_t firstRow = std::clamp(firstWanted, first, first + count);
    SequenceRows rows;
    rows.tokens = tokens.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    rows.firstPosition = first;
    rows.blockTable = blockTable;
    rows.numLogitRows = static_cast<int>(first + count - firstRow);
    Result<void> seen;
    const auto onLogits = [&](int firstLogit, int numLogits, const float* logits) {
      for (int i = 0; i < numLogits && seen.isOk(); ++i) {
        seen = sink(firstRow + firstLogit + i, logits + static_cast<std::size_t>(i) * static_cast<std::size_t>(executor.vocabSize()));
      }
    };
    TRY_VOID(executor.execute(std::array{rows}, cancel, onLogits));
    TRY_VOID(seen);
  }
  return {};
}

}  // namespace engine::exec
