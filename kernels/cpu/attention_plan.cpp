#include "kernels/cpu/attention_plan.h"

#include <algorithm>
#include <utility>

namespace kernels::cpu {

namespace {

constexpr int kItemsPerThread = 4;  // fewer, and one late thread holds up the layer
constexpr int kTileRows = 6;        // rows that the panels work on at once

int segmentsOf(const AttentionItem& item) {
  const int first = firstVisible(item.firstPosition, item.window) / kSegmentTokens;
  return (item.firstPosition + item.numQueries - 1) / kSegmentTokens + 1 - first;
}

// Enough rows to use a key step well while it is in L1, few enough for the state to stay in L2.
int queriesPerItem(const RaggedBatch& batch, const AttentionShape& shape) {
  const int group = shape.numHeads / shape.numKvHeads;
  const int most = std::max(1, (shape.headDim <= 128 ? 48 : 24) / group);
  const int least = std::min(most, (kTileRows + group - 1) / group);
  const int wanted = shape.numThreads * kItemsPerThread;
  const std::int64_t total = static_cast<std::int64_t>(batch.numTokens) * shape.numKvHeads;
  return static_cast<int>(std::clamp<std::int64_t>(total / wanted, least, most));
}

}  // namespace

void AttentionPlan::build(const RaggedBatch& batch,
                          const AttentionShape& shape,
                          const KvPool& pool,
                          int layer,
                          const float* queries,
                          float* out) {
  m_items.clear();
  m_merges.clear();
  m_planes.clear();
  m_queries = queries;
  m_out = out;
  m_queriesPerItem = queriesPerItem(batch, shape);
  for (int head = 0; head < shape.numKvHeads; ++head) m_planes.push_back(pool.planes(layer, head));
  for (int sequence = 0; sequence < batch.numSeqs; ++sequence) addSequence(batch, shape, sequence);
  const auto wanted = static_cast<std::size_t>(shape.numThreads * kItemsPerThread);
  if (shape.numThreads > 1 && m_items.size() < wanted) splitItems(shape);
  for (std::size_t i = 1; i < m_items.size(); ++i) m_items[i - 1].next = &m_items[i];
}

void AttentionPlan::addSequence(const RaggedBatch& batch,
                                const AttentionShape& shape,
                                int sequence) {
  const int rowBegin = batch.queryStart[sequence], rowEnd = batch.queryStart[sequence + 1];
  const std::ptrdiff_t stride = static_cast<std::ptrdiff_t>(shape.numHeads) * shape.headDim;
  const int group = shape.numHeads / shape.numKvHeads;
  AttentionItem item;
  item.blockTable = batch.blockTable + static_cast<std::ptrdiff_t>(sequence) * batch.maxBlocks;
  item.queryStride = item.outStride = stride;
  item.headsPerKv = group;
  item.window = shape.window;
  item.scale = shape.scale;
  item.softCap = shape.softCap;
  // The last rows see most: they go first, so that no thread is left with a long item at the end.
  for (int end = rowEnd; end > rowBegin; end -= m_queriesPerItem) {
    const int begin = std::max(rowBegin, end - m_queriesPerItem);
    item.numQueries = end - begin;
    item.firstPosition = batch.positions[begin];
    for (int head = 0; head < shape.numKvHeads; ++head) {
      const std::ptrdiff_t at =
          begin * stride + static_cast<std::ptrdiff_t>(head) * group * shape.headDim;
      item.planes = m_planes[static_cast<std::size_t>(head)];
      item.queries = m_queries + at;
      item.out = m_out + at;
      m_items.push_back(item);
    }
  }
}

void AttentionPlan::splitItems(const AttentionShape& shape) {
  const int dim = shape.headDim;
  const std::ptrdiff_t floats = partialFloats(dim);
  std::ptrdiff_t total = 0;
  for (const AttentionItem& item : m_items) {
    total += segmentsOf(item) * item.numQueries * item.headsPerKv * floats;
  }
  m_partials.resize(static_cast<std::size_t>(total));
  float* next = m_partials.data();
  for (const AttentionItem& whole : std::exchange(m_items, {})) {
    const int numSegments = segmentsOf(whole), numRows = whole.numQueries * whole.headsPerKv;
    if (numSegments == 1) {
      m_items.push_back(whole);
      continue;
    }
    for (int i = 0; i < numSegments; ++i) {
      AttentionItem part = whole;
      part.segment = firstVisible(whole.firstPosition, whole.window) / kSegmentTokens + i;
      part.partials = next + i * numRows * floats;
      part.partialStride = floats;
      m_items.push_back(part);
    }
    for (int row = 0; row < numRows; ++row) {
      m_merges.push_back({next + row * floats, numRows * floats, numSegments, dim,
                          whole.out + row / whole.headsPerKv * whole.outStride +
                              static_cast<std::ptrdiff_t>(row % whole.headsPerKv) * dim});
    }
    next += numSegments * numRows * floats;
  }
}

}  // namespace kernels::cpu
