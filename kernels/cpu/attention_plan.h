// Cuts the attention of a ragged batch into items for the threads.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/core/ragged_batch.h"
#include "kernels/cpu/attention.h"
#include "kernels/cpu/kv_pool.h"

namespace kernels::cpu {

struct AttentionShape {
  int numHeads = 0, numKvHeads = 0, headDim = 0;
  int window = 0;
  float scale = 0.0f, softCap = 0.0f;
  int numThreads = 1;
};

// How the work is cut depends on batch and threads; what comes out does not (see attention.h).
// Engine thread only; keeps its memory from step to step.
class AttentionPlan {
 public:
  // queries, out: [numTokens, numHeads, headDim]
  void build(const RaggedBatch& batch,
             const AttentionShape& shape,
             const KvPool& pool,
             int layer,
             const float* queries,
             float* out);

  const std::vector<AttentionItem>& items() const { return m_items; }

  // To be run after all items.
  const std::vector<AttentionMerge>& merges() const { return m_merges; }

 private:
  void addSequence(const RaggedBatch& batch, const AttentionShape& shape, int sequence);
  void splitItems(const AttentionShape& shape);

  std::vector<AttentionItem> m_items;
  std::vector<AttentionMerge> m_merges;
  std::vector<float> m_partials;
  std::vector<KvPlanes> m_planes;  // [numKvHeads]
  const float* m_queries = nullptr;
  float* m_out = nullptr;
  int m_queriesPerItem = 1;
};

}  // namespace kernels::cpu
