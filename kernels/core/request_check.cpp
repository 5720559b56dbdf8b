#include "kernels/core/request_check.h"

#include <bit>
#include <string>

namespace kernels {

namespace {

using std::to_string;

// Collects the first thing that is wrong.
class Checker {
 public:
  void expect(bool isRight, const std::string& what) {
    if (!isRight && m_status.isOk()) m_status = Status::failed(Outcome::Unsupported, what);
  }

  void matrix(const std::string& name,
              const WeightView& view,
              std::int64_t rows,
              std::int64_t cols) {
    expect(view.isPresent(), name + " is missing");
    if (!view.isPresent()) return;
    expect(view.rows == rows && view.cols == cols, name + " is " + to_string(view.rows) + " x " +
                                                       to_string(view.cols) + " but must be " +
                                                       to_string(rows) + " x " + to_string(cols));
    const DTypeInfo& info = dtypeInfo(view.type);
    expect(view.cols % info.elementsPerBlock == 0,
           name + " has " + to_string(view.cols) + " columns, not a multiple of " +
               to_string(info.elementsPerBlock) + " as " + info.name + " needs");
  }

  void vector(const std::string& name,
              const std::vector<float>& values,
              int size,
              bool isRequired) {
    if (values.empty() && !isRequired) return;
    expect(values.size() == static_cast<std::size_t>(size),
           name + " has " + to_string(values.size()) + " values but must have " + to_string(size));
  }

  Status take() { return std::move(m_status); }

 private:
  Status m_status;
};

void checkSpec(Checker& check, const DecoderSpec& spec) {
  check.expect(spec.numLayers > 0 && spec.hidden > 0 && spec.numHeads > 0 && spec.numKvHeads > 0 &&
                   spec.headDim > 0 && spec.ffn > 0 && spec.vocabSize > 0,
               "every size of the model must be positive");
  check.expect(spec.numKvHeads > 0 && spec.numHeads % spec.numKvHeads == 0,
               to_string(spec.numHeads) + " heads do not divide into " +
                   to_string(spec.numKvHeads) + " KV heads");
  check.expect(spec.layers.size() == static_cast<std::size_t>(spec.numLayers),
               to_string(spec.layers.size()) + " layer descriptions for " +
                   to_string(spec.numLayers) + " layers");
  for (const LayerSpec& layer : spec.layers) {
    check.expect(
        layer.rope >= 0 && static_cast<std::size_t>(layer.rope) < spec.ropes.size(),
        "a layer names rope " + to_string(layer.rope) + " of " + to_string(spec.ropes.size()));
    check.expect(layer.window >= 0, "window " + to_string(layer.window) + " is negative");
  }
  for (const RopeSpec& rope : spec.ropes) {
    check.expect(2 * rope.inverseFrequencies.size() <= static_cast<std::size_t>(spec.headDim),
                 "rope turns " + to_string(2 * rope.inverseFrequencies.size()) +
                     " elements of a head of " + to_string(spec.headDim));
  }
}

void checkLayer(Checker& check, const DecoderSpec& spec, const LayerWeights& w, int index) {
  const std::string layer = "layer " + to_string(index) + " ";
  const int queries = spec.numHeads * spec.headDim, keys = spec.numKvHeads * spec.headDim;
  check.matrix(layer + "attn_q", w.q, queries, spec.hidden);
  check.matrix(layer + "attn_k", w.k, keys, spec.hidden);
  check.matrix(layer + "attn_v", w.v, keys, spec.hidden);
  check.matrix(layer + "attn_output", w.attnOut, spec.hidden, queries);
  check.matrix(layer + "ffn_gate", w.gate, spec.ffn, spec.hidden);
  check.matrix(layer + "ffn_up", w.up, spec.ffn, spec.hidden);
  check.matrix(layer + "ffn_down", w.down, spec.hidden, spec.ffn);
  check.vector(layer + "attn_norm", w.attnNorm, spec.hidden, true);
  check.vector(layer + "ffn_norm", w.ffnNorm, spec.hidden, true);
  check.vector(layer + "post_attention_norm", w.postAttnNorm, spec.hidden, false);
  check.vector(layer + "post_ffw_norm", w.postFfnNorm, spec.hidden, false);
  check.vector(layer + "attn_q_norm", w.qNorm, spec.headDim, false);
  check.vector(layer + "attn_k_norm", w.kNorm, spec.headDim, false);
  check.vector(layer + "attn_q.bias", w.qBias, queries, false);
  check.vector(layer + "attn_k.bias", w.kBias, keys, false);
  check.vector(layer + "attn_v.bias", w.vBias, keys, false);
}

void checkLayout(Checker& check, const DecoderSpec& spec, const KvLayout& layout) {
  check.expect(layout.numLayers == spec.numLayers && layout.numKvHeads == spec.numKvHeads &&
                   layout.headDim == spec.headDim,
               "the KV layout is for " + to_string(layout.numLayers) + " layers of " +
                   to_string(layout.numKvHeads) + " x " + to_string(layout.headDim) +
                   ", the model has " + to_string(spec.numLayers) + " of " +
                   to_string(spec.numKvHeads) + " x " + to_string(spec.headDim));
  check.expect(layout.blockSize > 0 && std::has_single_bit(static_cast<unsigned>(layout.blockSize)),
               "block size " + to_string(layout.blockSize) + " is not a power of two");
  check.expect(layout.numBlocks > 0 && layout.numBlocks <= INT32_MAX,
               to_string(layout.numBlocks) + " KV blocks; must be 1 to " + to_string(INT32_MAX));
}

Status rowFailed(int row, const std::string& what) {
  return Status::failed(Outcome::DeviceFailed, "row " + to_string(row) + " of the batch " + what);
}

Status checkSequences(const RaggedBatch& batch, const KvLayout& layout) {
  for (int s = 0; s < batch.numSeqs; ++s) {
    const int begin = batch.queryStart[s], end = batch.queryStart[s + 1];
    if (begin < 0 || end < begin || end > batch.numTokens) {
      return Status::failed(Outcome::DeviceFailed, "sequence " + to_string(s) + " owns rows " +
                                                       to_string(begin) + " to " + to_string(end) +
                                                       " of " + to_string(batch.numTokens));
    }
    for (int row = begin; row < end; ++row) {
      const std::int64_t position = batch.positions[row];
      if (batch.sequences[row] != s || position != batch.seqLen[s] - (end - row)) {
        return rowFailed(row, "is not the next position of its sequence");
      }
      if (position < 0 || layout.blockOf(position) >= batch.maxBlocks) {
        return rowFailed(row, "has position " + to_string(position) + " outside its block table");
      }
      const std::int64_t slot =
          static_cast<std::int64_t>(s) * batch.maxBlocks + layout.blockOf(position);
      const std::int32_t block = batch.blockTable[slot];
      if (block < 0 || block >= layout.numBlocks) {
        return rowFailed(
            row, "writes to block " + to_string(block) + " of " + to_string(layout.numBlocks));
      }
    }
  }
  return Status::ok();
}

}  // namespace

const char* kvTypeName(KvType type) {
  switch (type) {
    case KvType::F32:
      return "f32";
    case KvType::F16:
      return "f16";
    case KvType::BF16:
      return "bf16";
    case KvType::Fp8E4M3:
      return "fp8";
    case KvType::Int8:
      return "int8";
    case KvType::Int4:
      return "int4";
  }
  return "?";
}

Status checkRequest(const BackendRequest& request) {
  Checker check;
  check.expect(request.spec && request.weights, "a backend needs a model's spec and weights");
  if (Status status = check.take(); !status.isOk()) return status;
  const DecoderSpec& spec = *request.spec;
  const DecoderWeights& weights = *request.weights;
  checkSpec(check, spec);
  check.expect(weights.layers.size() == static_cast<std::size_t>(spec.numLayers),
               "weights of " + to_string(weights.layers.size()) + " layers for " +
                   to_string(spec.numLayers));
  check.matrix("token_embd", weights.embedding, spec.vocabSize, spec.hidden);
  check.matrix("output", weights.output, spec.vocabSize, spec.hidden);
  check.vector("output_norm", weights.outputNorm, spec.hidden, true);
  for (std::size_t i = 0; i < weights.layers.size(); ++i) {
    checkLayer(check, spec, weights.layers[i], static_cast<int>(i));
  }
  checkLayout(check, spec, request.layout);
  check.expect(request.maxBatchedTokens > 0,
               "a batch of " + to_string(request.maxBatchedTokens) + " tokens; must be at least 1");
  check.expect(request.threads > 0, to_string(request.threads) + " threads; must be at least 1");
  return check.take();
}

Status checkBatch(const RaggedBatch& batch,
                  const KvLayout& layout,
                  std::int64_t vocabSize,
                  int maxBatchedTokens) {
  if (batch.numTokens > maxBatchedTokens) {
    return Status::failed(Outcome::DeviceFailed, "a batch of " + to_string(batch.numTokens) +
                                                     " rows, more than the " +
                                                     to_string(maxBatchedTokens) + " agreed on");
  }
  for (int row = 0; row < batch.numTokens; ++row) {
    if (batch.tokens[row] < 0 || batch.tokens[row] >= vocabSize) {
      return rowFailed(row, "has token " + to_string(batch.tokens[row]) + " of a vocabulary of " +
                                to_string(vocabSize));
    }
  }
  for (int i = 0; i < batch.numLogitRows; ++i) {
    if (batch.logitRows[i] < 0 || batch.logitRows[i] >= batch.numTokens) {
      return rowFailed(batch.logitRows[i],
                       "is asked for logits but there are " + to_string(batch.numTokens) + " rows");
    }
  }
  return checkSequences(batch, layout);
}

}  // namespace kernels
