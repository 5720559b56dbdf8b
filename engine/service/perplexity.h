// Perplexity of a model on a text, by llama.cpp's rule: chunks of `context` tokens, each with a fresh
// cache, of which only the second half is scored.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "engine/exec/executor.h"

namespace engine::service {

struct ChunkRule {
  std::int64_t context = 512;  // tokens a chunk, even, >= 4
  std::optional<TokenId> bos;  // overwrites each chunk's first token
};

struct PerplexityResult {
  double perplexity = 0.0;
  double standardError = 0.0;
  std::int64_t chunks = 0, positions = 0;
  bool isCancelled = false;  // what was measured until then; perplexity is NaN when that is nothing
};

// InvalidArgument with both numbers when there are fewer than two chunks of tokens.
Result<void> checkChunks(std::span<const TokenId> tokens, const ChunkRule& rule);

// Called for each scored position: the logits after it and the token that really follows.
using ScoredPosition = std::function<Result<void>(std::span<const float> logits, TokenId next)>;

// Hands all scored positions of all whole chunks to `sink` and returns how many chunks there were; a
// rest shorter than a chunk is not used. Errors as checkChunks.
Result<std::int64_t> scoreChunks(exec::Executor& executor,
                                 std::span<const TokenId> tokens,
                                 const ChunkRule& rule,
                                 const std::atomic<bool>* cancel,
                                 const ScoredPosition& sink);

Result<PerplexityResult> measurePerplexity(exec::Executor& executor,
                                           std::span<const TokenId> tokens,
                                           const ChunkRule& rule,
                                           const std::atomic<bool>* cancel);

}  // namespace engine::service
