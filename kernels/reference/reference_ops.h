// The decoder in f32 with one plain loop for each operation: what the fast backends are checked by.
#pragma once

#include <vector>

#include "kernels/core/hadamard.h"
#include "kernels/core/key_form.h"
#include "kernels/core/ops.h"
#include "kernels/reference/kv_store.h"

namespace kernels::reference {

// Engine thread only.
class ReferenceOps final : public Ops {
 public:
  explicit ReferenceOps(const BackendRequest& request);

  BackendInfo info() const override;
  Status embed(const RaggedBatch& batch) override;
  Status qkv(int layer, const RaggedBatch& batch) override;
  Status attend(int layer, const RaggedBatch& batch) override;
  Status project(int layer, const RaggedBatch& batch) override;
  Status mlp(int layer, const RaggedBatch& batch) override;
  Status logits(const RaggedBatch& batch,
                int first,
                int count,
                float* out,
                const LogitsWatch& watch) override;
  void copyBlocks(std::span<const BlockCopy> copies) override;
  void readBlock(std::int32_t block, std::byte* out) const override;
  void writeBlock(std::int32_t block, const std::byte* in) override;

  const KvLayout& layout() const override { return m_kv.layout(); }

  OpsCounters takeCounters() override;

  bool isAllocated() const { return m_kv.isAllocated(); }

 private:
  // out[row * outStride + n] = weights[n] . x[row * weights.cols]; false when cancelled.
  bool linear(const RaggedBatch& batch,
              int numRows,
              const WeightView& weights,
              const float* x,
              float* out,
              std::size_t outStride);
  void normRows(int numRows, const float* x, const std::vector<float>& weight, float* out);
  // Bias, norm and rope of `numHeads` heads starting at `heads`.
  void finishHeads(int layer,
                   std::int64_t position,
                   int numHeads,
                   const std::vector<float>& bias,
                   const std::vector<float>& norm,
                   float* heads);
  void shapeHeads(const KeyForm& form, float* queries, float* keys) const;
  void turnHeads(int numHeads, Turn turn, float* heads) const;
  void storeRow(
      int layer, const RaggedBatch& batch, int row, const float* keys, const float* values);
  void attendHead(int layer, const RaggedBatch& batch, int row, int head);
  void addToResidual(int numRows, const float* update, const std::vector<float>& postNorm);

  DecoderSpec m_spec;
  DecoderWeights m_weights;
  KvStore m_kv;
  int m_maxBatchedTokens, m_numThreads;
  std::size_t m_hidden, m_queryWidth, m_keyWidth, m_ffn;
  // [maxBatchedTokens, ...]: the residual stream, its norm, what a layer makes of it
  std::vector<KeyForm> m_keyForms;  // by layer
  std::vector<float> m_x, m_normed, m_query, m_key, m_value, m_attended, m_update, m_gate, m_up;
  OpsCounters m_counters;
};

}  // namespace kernels::reference
