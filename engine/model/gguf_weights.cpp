#include "engine/model/gguf_weights.h"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/model/decoder_family.h"
#include "engine/model/gguf_rope.h"
#include "engine/model/safe_text.h"
#include "kernels/core/unpack.h"

namespace engine::model {

namespace {

// A vector of n elements may be stored as [n, 1].
std::vector<std::int64_t> trimmedShape(std::vector<std::int64_t> shape) {
  while (shape.size() > 1 && shape.back() == 1) shape.pop_back();
  return shape;
}

// Hands out the tensors of one file by name and remembers which.
class TensorReader {
 public:
  explicit TensorReader(const GgufFile& file) : m_file(file) {}

  bool has(const std::string& name) const { return m_file.findTensor(name) != nullptr; }

  Result<kernels::WeightView> matrix(const std::string& name,
                                     std::int64_t rows,
                                     std::int64_t cols) {
    const GgufTensor* tensor = TRY(find(name, {cols, rows}));
    return kernels::WeightView{*tensor->type->dtype, rows, cols, tensor->data};
  }

  // Several matrices stacked in one tensor, from the first row down.
  Result<void> stacked(const std::string& name,
                       std::int64_t cols,
                       std::initializer_list<std::pair<kernels::WeightView*, std::int64_t>> parts) {
    std::int64_t rows = 0;
    for (const auto& [view, partRows] : parts) rows += partRows;
    const kernels::WeightView whole = TRY(matrix(name, rows, cols));
    const std::byte* data = whole.data;
    for (const auto& [view, partRows] : parts) {
      *view = {whole.type, partRows, cols, data};
      data += view->bytes();
    }
    return {};
  }

  Result<std::vector<float>> vector(const std::string& name, std::int64_t size) {
    const GgufTensor* tensor = TRY(find(name, {size}));
    std::vector<float> out(static_cast<std::size_t>(size));
    kernels::unpackRow(*tensor->type->dtype, tensor->data, size, out.data());
    return out;
  }

  // Empty when the family has none of it, or may do without and the file does.
  Result<std::vector<float>> vectorIf(Presence presence,
                                      const std::string& name,
                                      std::int64_t size) {
    const bool isWanted =
        presence == Presence::Required || (presence == Presence::Optional && has(name));
    return isWanted ? vector(name, size) : std::vector<float>();
  }

  Result<void> refuseUnused() const {
    for (const GgufTensor& tensor : m_file.tensors()) {
      if (m_used.contains(tensor.name) || isRopeTensor(tensor.name)) continue;
      return fileError(ErrorCode::Unsupported, m_file.path(),
                       fmt::format("tensor {} has no place in this architecture as it is run",
                                   safeText(tensor.name)));
    }
    return {};
  }

 private:
  Result<const GgufTensor*> find(const std::string& name, std::vector<std::int64_t> shape) {
    const GgufTensor* tensor = m_file.findTensor(name);
    shape = trimmedShape(std::move(shape));
    if (tensor == nullptr) {
      return corrupt(
          fmt::format("tensor {} is missing, expected shape [{}]", name, fmt::join(shape, ", ")));
    }
    if (trimmedShape(tensor->shape) != shape) {
      return corrupt(fmt::format("tensor {} has shape [{}], expected [{}]", name,
                                 fmt::join(tensor->shape, ", "), fmt::join(shape, ", ")));
    }
    if (!tensor->type->dtype) {
      return fileError(
          ErrorCode::Unsupported, m_file.path(),
          fmt::format("tensor {} has type {}, which is not run", name, tensor->type->name));
    }
    m_used.insert(tensor->name);
    return tensor;
  }

  Error corrupt(std::string_view what) const {
    return fileError(ErrorCode::CorruptFile, m_file.path(), what);
  }

  const GgufFile& m_file;
  std::unordered_set<std::string_view> m_used;
};

Result<void> readAttention(TensorReader& reader,
                           const std::string& prefix,
                           const DecoderFamily& family,
                           const kernels::DecoderSpec& spec,
                           kernels::LayerWeights& out) {
  const std::int64_t queryDim = std::int64_t{spec.numHeads} * spec.headDim;
  const std::int64_t keyDim = std::int64_t{spec.numKvHeads} * spec.headDim;
  out.attnNorm = TRY(reader.vector(prefix + "attn_norm.weight", spec.hidden));
  if (family.fusesProjections) {
    TRY_VOID(reader.stacked(prefix + "attn_qkv.weight", spec.hidden,
                            {{&out.q, queryDim}, {&out.k, keyDim}, {&out.v, keyDim}}));
  } else {
    out.q = TRY(reader.matrix(prefix + "attn_q.weight", queryDim, spec.hidden));
    out.k = TRY(reader.matrix(prefix + "attn_k.weight", keyDim, spec.hidden));
    out.v = TRY(reader.matrix(prefix + "attn_v.weight", keyDim, spec.hidden));
  }
  out.attnOut = TRY(reader.matrix(prefix + "attn_output.weight", spec.hidden, queryDim));
  out.qBias = TRY(reader.vectorIf(family.qkvBias, prefix + "attn_q.bias", queryDim));
  out.kBias = TRY(reader.vectorIf(family.qkvBias, prefix + "attn_k.bias", keyDim));
  out.vBias = TRY(reader.vectorIf(family.qkvBias, prefix + "attn_v.bias", keyDim));
  out.qNorm = TRY(reader.vectorIf(family.qkNorm, prefix + "attn_q_norm.weight", spec.headDim));
  out.kNorm = TRY(reader.vectorIf(family.qkNorm, prefix + "attn_k_norm.weight", spec.headDim));
  out.postAttnNorm =
      TRY(reader.vectorIf(family.postNorms, prefix + "post_attention_norm.weight", spec.hidden));
  return {};
}

Result<void> readFeedForward(TensorReader& reader,
                             const std::string& prefix,
                             const DecoderFamily& family,
                             const kernels::DecoderSpec& spec,
                             kernels::LayerWeights& out) {
  out.ffnNorm = TRY(reader.vector(prefix + "ffn_norm.weight", spec.hidden));
  if (family.fusesProjections) {
    TRY_VOID(reader.stacked(prefix + "ffn_up.weight", spec.hidden,
                            {{&out.gate, spec.ffn}, {&out.up, spec.ffn}}));
  } else {
    out.gate = TRY(reader.matrix(prefix + "ffn_gate.weight", spec.ffn, spec.hidden));
    out.up = TRY(reader.matrix(prefix + "ffn_up.weight", spec.ffn, spec.hidden));
  }
  out.down = TRY(reader.matrix(prefix + "ffn_down.weight", spec.hidden, spec.ffn));
  out.postFfnNorm =
      TRY(reader.vectorIf(family.postNorms, prefix + "post_ffw_norm.weight", spec.hidden));
  return {};
}

}  // namespace

Result<kernels::DecoderWeights> readWeights(const GgufFile& file, const ModelConfig& config) {
  const DecoderFamily* family = findFamily(config.architecture);
  if (family == nullptr) {
    return fileError(ErrorCode::Unsupported, file.path(),
                     fmt::format("architecture \"{}\" is not run", safeText(config.architecture)));
  }
  const kernels::DecoderSpec& spec = config.decoder;
  TensorReader reader(file);
  kernels::DecoderWeights out;
  out.embedding = TRY(reader.matrix("token_embd.weight", spec.vocabSize, spec.hidden));
  // A file without an output matrix shares the embedding.
  out.output = out.embedding;
  if (reader.has("output.weight")) {
    out.output = TRY(reader.matrix("output.weight", spec.vocabSize, spec.hidden));
  }
  out.outputNorm = TRY(reader.vector("output_norm.weight", spec.hidden));
  for (int i = 0; i < spec.numLayers; ++i) {
    const std::string prefix = fmt::format("blk.{}.", i);
    kernels::LayerWeights layer;
    TRY_VOID(readAttention(reader, prefix, *family, spec, layer));
    TRY_VOID(readFeedForward(reader, prefix, *family, spec, layer));
    out.layers.push_back(std::move(layer));
  }
  TRY_VOID(reader.refuseUnused());
  return out;
}

}  // namespace engine::model
