// Decoders of a few thousand weights, made by hand, and a driver that feeds them ragged batches.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "kernels/core/float_bits.h"
#include "kernels/core/ops.h"

namespace tests {

struct TinyShape {
  int numLayers = 2, hidden = 64, numHeads = 4, numKvHeads = 2, headDim = 64, ffn = 96;
  int vocabSize = 67;
  int window = 0;           // of the odd layers
  bool isGemma = false;     // post norms, q/k norms, gelu, scaled embedding, two ropes
  bool hasBias = false;
  bool isInterleaved = false;
  float attentionSoftCap = 0.0f, finalSoftCap = 0.0f;
  kernels::DType type = kernels::DType::F32;
};

// Owns the bytes that its weights look at.
class TinyDecoder {
 public:
  explicit TinyDecoder(const TinyShape& shape, unsigned seed = 1) : m_shape(shape), m_random(seed) {
    makeSpec();
    makeWeights();
  }

  TinyDecoder(const TinyDecoder&) = delete;

  const kernels::DecoderSpec& spec() const { return m_spec; }
  const kernels::DecoderWeights& weights() const { return m_weights; }
  const TinyShape& shape() const { return m_shape; }

  kernels::BackendRequest request(kernels::KvType kv, int blockSize, int numBlocks, int threads) const {
    kernels::BackendRequest request;
    request.spec = &m_spec;
    request.weights = &m_weights;
    request.layout.type = kv;
    request.layout.numLayers = m_spec.numLayers;
    request.layout.numKvHeads = m_spec.numKvHeads;
    request.layout.headDim = m_spec.headDim;
    request.layout.blockSize = blockSize;
    request.layout.numBlocks = numBlocks;
    request.maxBatchedTokens = 1024;
    request.threads = threads;
    return request;
  }

 private:
  float uniform(float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(m_random);
  }

  std::vector<float> vector(int size, float center, float spread) {
    std::vector<float> values(static_cast<std::size_t>(size));
    for (float& value : values) value = uniform(center - spread, center + spread);
    return values;
  }

  // Uniform weights of variance 1/cols; block formats get random codes under one scale of that size.
  kernels::WeightView matrix(int rows, int cols) {
    const kernels::DType type = cols % kernels::dtypeInfo(m_shape.type).elementsPerBlock == 0
                                    ? m_shape.type
                                    : kernels::DType::F32;
    const std::size_t size = static_cast<std::size_t>(rows) * kernels::rowBytes(type, cols);
    m_bytes.push_back(std::make_unique<std::byte[]>(size));
    std::byte* bytes = m_bytes.back().get();
    const float reach = std::sqrt(3.0f / static_cast<float>(cols));
    if (type == kernels::DType::F32) {
      for (std::size_t i = 0; i < size; i += 4) {
        const float value = uniform(-reach, reach);
        std::memcpy(bytes + i, &value, 4);
      }
    } else {
      fillBlocks(type, reach, bytes, size);
    }
    return {type, rows, cols, bytes};
  }

  void fillBlocks(kernels::DType type, float reach, std::byte* bytes, std::size_t size) {
    const auto step = static_cast<std::size_t>(kernels::dtypeInfo(type).bytesPerBlock);
    const auto putHalf = [&](std::size_t offset, float value) {
      const std::uint16_t half = kernels::f16OfFloat(value);
      std::memcpy(bytes + offset, &half, 2);
    };
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(m_random());
    for (std::size_t block = 0; block < size; block += step) {
      const float jitter = uniform(0.5f, 1.5f);
      if (type == kernels::DType::Q8_0) putHalf(block, jitter * reach / 127.0f);
      if (type == kernels::DType::Q4_1) {
        putHalf(block, jitter * reach / 7.5f);
        putHalf(block + 2, -jitter * reach);
      }
    }
  }

  void makeSpec() {
    m_spec.numLayers = m_shape.numLayers;
    m_spec.hidden = m_shape.hidden;
    m_spec.numHeads = m_shape.numHeads;
    m_spec.numKvHeads = m_shape.numKvHeads;
    m_spec.headDim = m_shape.headDim;
    m_spec.ffn = m_shape.ffn;
    m_spec.vocabSize = m_shape.vocabSize;
    m_spec.normEps = 1e-5f;
    m_spec.activation = m_shape.isGemma ? kernels::Activation::GeluTanhGate
                                        : kernels::Activation::SiluGate;
    m_spec.embedScale = m_shape.isGemma ? 8.0f : 1.0f;
    m_spec.attentionScale = 1.0f / std::sqrt(static_cast<float>(m_shape.headDim));
    m_spec.attentionSoftCap = m_shape.attentionSoftCap;
    m_spec.finalSoftCap = m_shape.finalSoftCap;
    for (const float base : {10000.0f, 500.0f}) {
      kernels::RopeSpec rope;
      rope.pairing = m_shape.isInterleaved ? kernels::RopePairing::Interleaved
                                           : kernels::RopePairing::Halves;
      for (int i = 0; i < m_shape.headDim / 2; ++i) {
        rope.inverseFrequencies.push_back(
            std::pow(base, -2.0f * static_cast<float>(i) / static_cast<float>(m_shape.headDim)));
      }
      m_spec.ropes.push_back(rope);
    }
    for (int i = 0; i < m_shape.numLayers; ++i) {
      m_spec.layers.push_back({m_shape.isGemma ? i % 2 : 0, i % 2 == 1 ? m_shape.window : 0});
    }
  }

  void makeWeights() {
    const int queries = m_shape.numHeads * m_shape.headDim;
    const int keys = m_shape.numKvHeads * m_shape.headDim;
    m_weights.embedding = matrix(m_shape.vocabSize, m_shape.hidden);
    m_weights.output = m_weights.embedding;
    m_weights.outputNorm = vector(m_shape.hidden, 1.0f, 0.3f);
    for (int i = 0; i < m_shape.numLayers; ++i) {
      kernels::LayerWeights w;
      w.q = matrix(queries, m_shape.hidden);
      w.k = matrix(keys, m_shape.hidden);
      w.v = matrix(keys, m_shape.hidden);
      w.attnOut = matrix(m_shape.hidden, queries);
      w.gate = matrix(m_shape.ffn, m_shape.hidden);
      w.up = matrix(m_shape.ffn, m_shape.hidden);
      w.down = matrix(m_shape.hidden, m_shape.ffn);
      w.attnNorm = vector(m_shape.hidden, 1.0f, 0.3f);
      w.ffnNorm = vector(m_shape.hidden, 1.0f, 0.3f);
      if (m_shape.isGemma) {
        w.postAttnNorm = vector(m_shape.hidden, 0.5f, 0.3f);
        w.postFfnNorm = vector(m_shape.hidden, 0.5f, 0.3f);
        w.qNorm = vector(m_shape.headDim, 1.0f, 0.3f);
        w.kNorm = vector(m_shape.headDim, 1.0f, 0.3f);
      }
      if (m_shape.hasBias) {
        w.qBias = vector(queries, 0.0f, 0.5f);
        w.kBias = vector(keys, 0.0f, 0.5f);
        w.vBias = vector(keys, 0.0f, 0.5f);
      }
      m_weights.layers.push_back(std::move(w));
    }
  }

  TinyShape m_shape;
  std::mt19937 m_random;
  kernels::DecoderSpec m_spec;
  kernels::DecoderWeights m_weights;
  std::vector<std::unique_ptr<std::byte[]>> m_bytes;
};

// One sequence in the driver's hands.
struct TinySequence {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> blocks;  // of the whole sequence
  int numDone = 0;
};

struct TinyChunk {
  TinySequence* sequence = nullptr;
  int numTokens = 0;  // 0: the sequence is in the batch without a row
};

// Holds the arrays of one RaggedBatch; wants the logits of every row.
class TinyBatch {
 public:
  explicit TinyBatch(const std::vector<TinyChunk>& chunks) {
    std::size_t widest = 1;
    for (const TinyChunk& chunk : chunks) widest = std::max(widest, chunk.sequence->blocks.size());
    m_queryStart.push_back(0);
    for (const TinyChunk& chunk : chunks) {
      const TinySequence& sequence = *chunk.sequence;
      for (int i = 0; i < chunk.numTokens; ++i) {
        m_logitRows.push_back(static_cast<std::int32_t>(m_tokens.size()));
        m_tokens.push_back(sequence.tokens[static_cast<std::size_t>(sequence.numDone + i)]);
        m_positions.push_back(sequence.numDone + i);
        m_sequences.push_back(static_cast<std::int32_t>(m_seqLen.size()));
      }
      m_queryStart.push_back(static_cast<std::int32_t>(m_tokens.size()));
      m_seqLen.push_back(sequence.numDone + chunk.numTokens);
      m_table.insert(m_table.end(), sequence.blocks.begin(), sequence.blocks.end());
      m_table.resize(m_seqLen.size() * widest, -1);
    }
    m_maxBlocks = static_cast<int>(widest);
  }

  kernels::RaggedBatch view() const {
    kernels::RaggedBatch batch;
    batch.numTokens = static_cast<int>(m_tokens.size());
    batch.numSeqs = static_cast<int>(m_seqLen.size());
    batch.tokens = m_tokens.data();
    batch.positions = m_positions.data();
    batch.sequences = m_sequences.data();
    batch.queryStart = m_queryStart.data();
    batch.seqLen = m_seqLen.data();
    batch.blockTable = m_table.data();
    batch.maxBlocks = m_maxBlocks;
    batch.logitRows = m_logitRows.data();
    batch.numLogitRows = batch.numTokens;
    return batch;
  }

 private:
  std::vector<std::int32_t> m_tokens, m_positions, m_sequences, m_queryStart, m_seqLen, m_table,
      m_logitRows;
  int m_maxBlocks = 0;
};

// Runs one step and moves the sequences on. logits [rows, vocabSize] of every row when Ok.
inline kernels::Status runStep(kernels::Ops& ops,
                               const TinyDecoder& decoder,
                               const std::vector<TinyChunk>& chunks,
                               std::vector<float>& logits,
                               const std::atomic<bool>* cancel = nullptr,
                               const kernels::LogitsWatch& watch = {}) {
  const TinyBatch holder(chunks);
  kernels::RaggedBatch batch = holder.view();
  batch.cancel = cancel;
  kernels::Status status = ops.embed(batch);
  for (int layer = 0; status.isOk() && layer < decoder.spec().numLayers; ++layer) {
    status = ops.qkv(layer, batch);
    if (status.isOk()) status = ops.attend(layer, batch);
    if (status.isOk()) status = ops.project(layer, batch);
    if (status.isOk()) status = ops.mlp(layer, batch);
  }
  logits.assign(static_cast<std::size_t>(batch.numTokens * decoder.spec().vocabSize), 0.0f);
  if (status.isOk()) status = ops.logits(batch, 0, batch.numTokens, logits.data(), watch);
  if (status.isOk()) {
    for (const TinyChunk& chunk : chunks) chunk.sequence->numDone += chunk.numTokens;
  }
  return status;
}

inline std::vector<std::int32_t> randomTokens(int count, int vocabSize, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
  for (std::int32_t& token : tokens) {
    token = static_cast<std::int32_t>(random() % static_cast<unsigned>(vocabSize));
  }
  return tokens;
}

// `count` blocks beginning with `first`, every `step`-th one of a pool of `poolSize`.
inline std::vector<std::int32_t> blockRun(int count, int first = 0, int step = 1, int poolSize = 1 << 30) {
  std::vector<std::int32_t> blocks;
  for (int i = 0; i < count; ++i) blocks.push_back((first + i * step) % poolSize);
  return blocks;
}

}  // namespace tests
