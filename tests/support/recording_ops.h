// An Ops that computes nothing but writes down every call, and fails or runs a hook where told.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/core/ops.h"

namespace test_support {

// The logits of a row: its token in column 0, zeros elsewhere.
class RecordingOps final : public kernels::Ops {
 public:
  RecordingOps(int numLayers, std::int64_t vocabSize);

  std::vector<std::string> log;
  std::string failAt;  // a call as the log writes it
  std::function<void(const std::string&)> onCall;

  kernels::BackendInfo info() const override { return {"test", "recording", "", 1, 0, 0, 0}; }

  kernels::Status embed(const kernels::RaggedBatch& batch) override;
  kernels::Status qkv(int layer, const kernels::RaggedBatch& batch) override;
  kernels::Status attend(int layer, const kernels::RaggedBatch& batch) override;
  kernels::Status project(int layer, const kernels::RaggedBatch& batch) override;
  kernels::Status mlp(int layer, const kernels::RaggedBatch& batch) override;
  kernels::Status logits(const kernels::RaggedBatch& batch,
                         int first,
                         int count,
                         float* out,
                         const kernels::LogitsWatch& watch) override;

  void copyBlocks(std::span<const kernels::BlockCopy>) override {}

  void readBlock(std::int32_t, std::byte*) const override {}

  void writeBlock(std::int32_t, const std::byte*) override {}

  const kernels::KvLayout& layout() const override { return m_layout; }

  kernels::OpsCounters takeCounters() override { return {}; }

 private:
  kernels::Status record(std::string call);

  kernels::KvLayout m_layout;
  std::int64_t m_vocabSize;
};

}  // namespace test_support
