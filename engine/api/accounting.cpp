#include "engine/api/accounting.h"

#include <algorithm>

namespace engine::accounting {

namespace {

std::int64_t windowOf(const ModelShape& shape, std::int64_t layer) {
  return shape.windows.empty() ? 0 : shape.windows[static_cast<std::size_t>(layer)];
}

// Positions whose keys and values the row reads.
double positionsRead(const RowCost& row, std::int64_t window) {
  if (window == 0) return static_cast<double>(row.kvLength);
  return static_cast<double>(std::min(row.kvLength, row.tokens + window - 1));
}

}  // namespace

double layerParameters(const ModelShape& shape) {
  const auto hidden = static_cast<double>(shape.hidden);
  const auto qWidth = static_cast<double>(shape.numHeads * shape.headDim);
  const auto kvWidth = static_cast<double>(shape.numKvHeads * shape.headDim);
  const double attention = hidden * (qWidth + 2 * kvWidth) + qWidth * hidden;
  const double feedForward = 3 * hidden * static_cast<double>(shape.ffn);
  return static_cast<double>(shape.numLayers) * (attention + feedForward);
}

double attendedPairs(std::int64_t tokens, std::int64_t kvLength, std::int64_t window) {
  const std::int64_t first = kvLength - tokens + 1;  // positions the first query sees
  const auto sumUpTo = [](std::int64_t n) {
    return static_cast<double>(n) * static_cast<double>(n + 1) / 2;
  };
  if (window == 0 || kvLength <= window) return sumUpTo(kvLength) - sumUpTo(first - 1);
  if (first >= window) return static_cast<double>(tokens) * static_cast<double>(window);
  // queries that still see everything, then those that see a full window
  return sumUpTo(window) - sumUpTo(first - 1) +
         static_cast<double>(kvLength - window) * static_cast<double>(window);
}

StepParts stepParts(const ModelShape& shape, std::span<const RowCost> rows) {
  double tokens = 0, logitRows = 0;
  StepParts parts;
  const double flopsPerPair = 4.0 * static_cast<double>(shape.numHeads * shape.headDim);
  // layers that see all positions cost the same: counted once
  const bool isUniform = shape.windows.empty();
  const std::int64_t numCounted = isUniform ? 1 : shape.numLayers;
  const double weight = isUniform ? static_cast<double>(shape.numLayers) : 1.0;
  for (const RowCost& row : rows) {
    tokens += static_cast<double>(row.tokens);
    logitRows += static_cast<double>(row.logitRows);
    for (std::int64_t layer = 0; layer < numCounted; ++layer) {
      const std::int64_t window = windowOf(shape, layer);
      parts.attention.flops +=
          weight * flopsPerPair * attendedPairs(row.tokens, row.kvLength, window);
      parts.attention.bytes += weight * shape.kvBytesPerTokenLayer *
                               (positionsRead(row, window) + static_cast<double>(row.tokens));
    }
  }
  if (tokens == 0) return {};
  parts.linear.flops = 2 * layerParameters(shape) * tokens;
  parts.linear.flops +=
      2 * static_cast<double>(shape.hidden) * static_cast<double>(shape.vocabSize) * logitRows;
  parts.linear.bytes = shape.layerWeightBytes + shape.embeddingRowBytes * tokens;
  if (logitRows > 0) parts.linear.bytes += shape.outputWeightBytes;
  return parts;
}

StepCost stepCost(const ModelShape& shape, std::span<const RowCost> rows) {
  const StepParts parts = stepParts(shape, rows);
  return {parts.linear.flops + parts.attention.flops, parts.linear.bytes + parts.attention.bytes};
}

}  // namespace engine::accounting
