#include "engine/service/perplexity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/exec/sequence_scorer.h"
#include "engine/sample/column_tiles.h"

namespace engine::service {

Result<void> checkChunks(std::span<const TokenId> tokens, const ChunkRule& rule) {
  const auto numTokens = static_cast<std::int64_t>(tokens.size());
  if (numTokens < 2 * rule.context) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the text has {} {}, a context of {} needs at least {}", numTokens,
                             numTokens == 1 ? "token" : "tokens", rule.context, 2 * rule.context)};
  }
  return {};
}

Result<std::int64_t> scoreChunks(exec::Executor& executor,
                                 std::span<const TokenId> tokens,
                                 const ChunkRule& rule,
                                 const std::atomic<bool>* cancel,
                                 const ScoredPosition& sink) {
  TRY_VOID(checkChunks(tokens, rule));
  const std::int64_t chunks = static_cast<std::int64_t>(tokens.size()) / rule.context;
  const auto vocabSize = static_cast<std::size_t>(executor.vocabSize());
  std::vector<TokenId> chunk;
  for (std::int64_t c = 0; c < chunks; ++c) {
    const auto truth = tokens.subspan(static_cast<std::size_t>(c * rule.context),
                                      static_cast<std::size_t>(rule.context));
    chunk.assign(truth.begin(), truth.end());
    if (rule.bos) chunk.front() = *rule.bos;
    const auto onRow = [&](std::int64_t position, const float* row) -> Result<void> {
      if (position + 1 >= rule.context) return {};  // nothing follows within the chunk
      return sink({row, vocabSize}, truth[static_cast<std::size_t>(position) + 1]);
    };
    TRY_VOID(exec::scoreSequence(executor, chunk, rule.context / 2, cancel, onRow));
  }
  return chunks;
}

Result<PerplexityResult> measurePerplexity(exec::Executor& executor,
                                           std::span<const TokenId> tokens,
                                           const ChunkRule& rule,
                                           const std::atomic<bool>* cancel) {
  double sum = 0.0, sumOfSquares = 0.0;
  std::int64_t positions = 0;
  const auto onPosition = [&](std::span<const float> logits, TokenId next) -> Result<void> {
    const sample::RowSummary summary = TRY(sample::summarizeRow(logits));
    const double nll = summary.logSumExp - double{logits[static_cast<std::size_t>(next)]};
    sum += nll;
    sumOfSquares += nll * nll;
    ++positions;
    return {};
  };
  const auto chunks = scoreChunks(executor, tokens, rule, cancel, onPosition);
  if (!chunks && chunks.error().code != ErrorCode::Cancelled) return chunks.error();
  PerplexityResult result;
  result.isCancelled = !chunks;
  result.chunks = chunks ? *chunks : positions / (rule.context / 2 - 1);  // whole ones
  result.positions = positions;
  const auto n = static_cast<double>(positions);
  const double mean = sum / n;
  const double variance = std::max(0.0, sumOfSquares / n - mean * mean);
  result.perplexity = std::exp(mean);
  if (positions > 1) result.standardError = result.perplexity * std::sqrt(variance / (n - 1));
  return result;
}

}  // namespace engine::service
