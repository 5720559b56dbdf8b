// Runs one token sequence through an executor and looks at every position's logits in turn.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "engine/exec/executor.h"

namespace engine::exec {

// row [vocabSize] f32 are the logits after tokens[position]; valid during the call. An error ends the
// pass and is returned.
using PositionSink = std::function<Result<void>(std::int64_t position, const float* row)>;

// A sequence on its way through an executor, using blocks 0, 1, ... of its pool; at most one at a time.
class SequencePass {
 public:
  // InvalidArgument with both numbers when the pool is too small. `executor` must outlive the pass.
  static Result<SequencePass> begin(Executor& executor, std::vector<TokenId> tokens);

  std::int64_t position() const { return m_position; }  // tokens computed so far
  // Computes up to position `end` and hands over the logits of those of its positions that are at
  // least `firstWanted`.
  Result<void> advanceTo(std::int64_t end,
                         std::int64_t firstWanted,
                         const std::atomic<bool>* cancel,
                         const PositionSink& sink);

 private:
  SequencePass(Executor& executor, std::vector<TokenId> tokens)
      : m_executor(&executor), m_tokens(std::move(tokens)) {}

  Executor* m_executor;
  std::vector<TokenId> m_tokens;
  std::vector<BlockId> m_blockTable;
  std::int64_t m_position = 0;
};

// Computes `tokens` from position 0 in chunks and hands the logits of positions [firstWanted, tokens.size()) to `sink` in order. Never holds more rows than
// the executor gives at once. InvalidArgument with both numbers when the pool is too small.
Result<void> scoreSequence(Executor& executor,
                           std::span<const TokenId> tokens,
                           std::int64_t firstWanted,
                           const std::atomic<bool>* cancel,
                           const PositionSink& sink);

}  // namespace engine::exec
