#include "engine/service/chunk_divergence.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "engine/exec/sequence_scorer.h"
#include "engine/sample/column_tiles.h"

namespace engine::service {

namespace {

// Positions the two models advance by turns: bounds the base rows held.
constexpr std::int64_t kStride = 32;

Result<void> appendLogprobs(const float* row, std::size_t vocabSize, std::vector<float>& out) {
  const sample::RowSummary summary = TRY(sample::summarizeRow({row, vocabSize}));
  for (std::size_t i = 0; i < vocabSize; ++i) out.push_back(summary.logprob(row[i]));
  return {};
}

// One chunk; `truth` are its tokens before BOS was put in place.
Result<void> compareChunk(exec::SequencePass& base,
                          exec::SequencePass& measured,
                          std::size_t vocabSize,
                          std::span<const TokenId> truth,
                          const std::atomic<bool>* cancel,
                          DivergenceMeter& meter) {
  const auto context = static_cast<std::int64_t>(truth.size());
  const std::int64_t firstWanted = context / 2;
  std::vector<float> baseRows;
  const auto keep = [&](std::int64_t, const float* row) {
    return appendLogprobs(row, vocabSize, baseRows);
  };
  // The last position predicts nothing within the chunk.
  for (std::int64_t end = firstWanted; end < context;) {
    end = std::min(end + kStride, context - 1);
    baseRows.clear();
    const std::int64_t first = std::max(firstWanted, base.position());
    TRY_VOID(base.advanceTo(end, firstWanted, cancel, keep));
    const auto compare = [&](std::int64_t position, const float* row) {
      const float* baseRow = baseRows.data() + static_cast<std::size_t>(position - first) * vocabSize;
      return meter.add({baseRow, vocabSize}, {row, vocabSize},
                       truth[static_cast<std::size_t>(position) + 1]);
    };
    TRY_VOID(measured.advanceTo(end, firstWanted, cancel, compare));
    if (end == context - 1) break;
  }
  return {};
}

Result<void> compareChunks(exec::Executor& base,
                           exec::Executor& measured,
                           std::span<const TokenId> tokens,
                           const ChunkRule& rule,
                           const std::atomic<bool>* cancel,
                           DivergenceMeter& meter) {
  const auto context = static_cast<std::size_t>(rule.context);
  for (std::size_t from = 0; from + context <= tokens.size(); from += context) {
    const auto truth = tokens.subspan(from, context);
    std::vector<TokenId> chunk(truth.begin(), truth.end());
    if (rule.bos) chunk.front() = *rule.bos;
    auto basePass = TRY(exec::SequencePass::begin(base, chunk));
    auto measuredPass = TRY(exec::SequencePass::begin(measured, chunk));
    TRY_VOID(compareChunk(basePass, measuredPass, static_cast<std::size_t>(base.vocabSize()), truth,
                          cancel, meter));
  }
  return {};
}

// Being cancelled is no failure of what was measured before.
Result<DivergenceResult> resultSoFar(const Result<void>& end, const DivergenceMeter& meter) {
  if (!end && end.error().code != ErrorCode::Cancelled) return end.error();
  DivergenceResult result = meter.result();
  result.isCancelled = !end;
  return result;
}

}  // namespace

Result<DivergenceResult> compareExecutors(exec::Executor& base,
                                          exec::Executor& measured,
                                          std::span<const TokenId> tokens,
                                          const ChunkRule& rule,
                                          const std::atomic<bool>* cancel) {
  if (base.vocabSize() != measured.vocabSize()) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the base has {} tokens in its vocabulary, this model {}",
                             base.vocabSize(), measured.vocabSize())};
  }
  TRY_VOID(checkChunks(tokens, rule));
  DivergenceMeter meter;
  return resultSoFar(compareChunks(base, measured, tokens, rule, cancel, meter), meter);
}

Result<DivergenceResult> compareToFile(BaseFileReader& base,
                                       exec::Executor& measured,
                                       std::span<const TokenId> tokens,
                                       const ChunkRule& rule,
                                       const std::atomic<bool>* cancel) {
  const BaseHeader& header = base.header();
  const std::size_t used = header.tokens.size();
  if (header.context != static_cast<std::uint64_t>(rule.context)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the base file was made with a context of {}, asked for is {}",
                             header.context, rule.context)};
  }
  if (tokens.size() < used || !std::ranges::equal(tokens.first(used), header.tokens)) {
    return Error{ErrorCode::InvalidArgument, "the base file was made from another text or vocabulary"};
  }
  DivergenceMeter meter;
  std::vector<float> logprobs;
  const auto compare = [&](std::span<const float> logits, TokenId next) -> Result<void> {
    TRY_VOID(base.next(logprobs));
    return meter.add(logprobs, logits, next);
  };
  const auto scored = scoreChunks(measured, tokens.first(used), rule, cancel, compare);
  return resultSoFar(scored ? Result<void>() : scored.error(), meter);
}

}  // namespace engine::service
