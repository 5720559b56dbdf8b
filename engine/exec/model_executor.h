// The forward pass of a decoder over a backend's Ops.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/exec/backend_choice.h"
#include "engine/exec/executor.h"
#include "engine/exec/packed_batch.h"
#include "engine/model/weight_source.h"
#include "kernels/core/ops.h"

namespace engine::exec {

struct ModelExecutorOptions {
  BackendChoice backend;
  kernels::KvType kvType = kernels::KvType::BF16;
  int blockSize = 16;
  std::int64_t numBlocks = 0;
  int maxBatchedTokens = 512;  // rows the backend computes at once; larger steps are cut
  int threads = 1;             // 0 = as many as are worth starting (physical cores, quota)
  std::string packedFolder;    // where packed weights are kept between loads; empty = nowhere
  std::function<void(double)> progress;       // 0..1, from the calling thread; may be empty
  const std::atomic<bool>* cancel = nullptr;  // may be null
};

class ModelExecutor final : public Executor {
 public:
  // Packs the weights of `source`, which lives as long as the executor, or reads what was kept of
  // them. Cancelled when the flag rose. Whoever calls it looks at source->change() afterwards.
  static Result<std::unique_ptr<ModelExecutor>> create(
      std::shared_ptr<const model::WeightSource> source,
      const model::ModelConfig& config,
      const ModelExecutorOptions& options);
  // Over Ops made elsewhere, for tests; `source` may be null.
  ModelExecutor(std::shared_ptr<const model::WeightSource> source,
                std::unique_ptr<kernels::Ops> ops,
                std::int64_t vocabSize,
                int maxBatchedTokens);

  Result<void> execute(std::span<const SequenceRows> sequences,
                       const std::atomic<bool>* cancel,
                       const LogitsSink& sink) override;

  void shareOut(int count, const std::function<void(int item, int thread)>& fn) override {
    m_ops->shareOut(count, fn);
  }

  std::int64_t vocabSize() const override { return m_vocabSize; }

  int maxLogitRows() const override;

  const kernels::KvLayout& layout() const override { return m_ops->layout(); }

  kernels::BackendInfo info() const override;

  kernels::OpsCounters takeCounters() override { return m_ops->takeCounters(); }

  std::string takeWarning() override { return std::exchange(m_warning, {}); }

  void copyBlocks(std::span<const kernels::BlockCopy> copies) override {
    m_ops->copyBlocks(copies);
  }

  void readBlock(BlockId block, std::byte* out) const override {
    m_ops->readBlock(block.value, out);
  }

  void writeBlock(BlockId block, const std::byte* in) override {
    m_ops->writeBlock(block.value, in);
  }

 private:
  kernels::Status forward(const kernels::RaggedBatch& batch);
  // CorruptFile when the file was cut short: zeros may have been read.
  Result<void> checkSource();
  // Numbers the rows from `firstRow` on.
  Result<void> emitLogits(const kernels::RaggedBatch& batch,
                          int firstRow,
                          const LogitsSink& sink);

  std::shared_ptr<const model::WeightSource> m_source;  // the bytes behind the packed weights
  std::unique_ptr<kernels::Ops> m_ops;
  std::int64_t m_vocabSize;
  int m_maxBatchedTokens;
  std::string m_note;  // of the backend choice
  std::string m_warning;
  bool m_hasWarned = false;
  PackedBatch m_batch;
  std::vector<float> m_logits;  // [maxLogitRows, vocabSize], grown on demand
};

}  // namespace engine::exec
