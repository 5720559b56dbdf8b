#include "tests/support/recording_ops.h"

#include <algorithm>
#include <utility>

namespace test_support {

RecordingOps::RecordingOps(int numLayers, std::int64_t vocabSize) : m_vocabSize(vocabSize) {
  m_layout.numLayers = numLayers;
  m_layout.numKvHeads = 1;
  m_layout.headDim = 8;
  m_layout.numBlocks = 16;
}

kernels::Status RecordingOps::record(std::string call) {
  log.push_back(call);
  if (onCall) onCall(call);
  if (call == failAt)
    return kernels::Status::failed(kernels::Outcome::DeviceFailed, call + " failed");
  return kernels::Status::ok();
}

kernels::Status RecordingOps::embed(const kernels::RaggedBatch& batch) {
  return record("embed " + std::to_string(batch.numTokens));
}

kernels::Status RecordingOps::qkv(int layer, const kernels::RaggedBatch&) {
  return record("qkv " + std::to_string(layer));
}

kernels::Status RecordingOps::attend(int layer, const kernels::RaggedBatch&) {
  return record("attend " + std::to_string(layer));
}

kernels::Status RecordingOps::project(int layer, const kernels::RaggedBatch&) {
  return record("project " + std::to_string(layer));
}

kernels::Status RecordingOps::mlp(int layer, const kernels::RaggedBatch&) {
  return record("mlp " + std::to_string(layer));
}

kernels::Status RecordingOps::logits(const kernels::RaggedBatch& batch,
                                     int first,
                                     int count,
                                     float* out,
                                     const kernels::LogitsWatch& watch) {
  std::fill(out, out + static_cast<std::int64_t>(count) * m_vocabSize, 0.0f);
  for (int i = 0; i < count; ++i) {
    const std::int32_t row = batch.logitRows[first + i];
    out[i * m_vocabSize] = static_cast<float>(batch.tokens[row]);
    if (watch) watch(i, 0, out + i * m_vocabSize, static_cast<int>(m_vocabSize));
  }
  return record("logits " + std::to_string(first) + "+" + std::to_string(count));
}

}  // namespace test_support
