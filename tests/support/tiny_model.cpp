#include "tests/support/tiny_model.h"

#include <cmath>
#include <numeric>
#include <string_view>

#include <fmt/format.h>

#include "engine/base/random.h"
#include "engine/model/gguf_types.h"
#include "tests/support/quantise.h"
#include "tests/support/tiny_vocabulary.h"

namespace test_support {

namespace {

using kernels::DType;

// Norm weights well above 1 spread the logits, and keep a tied model from echoing its input.
constexpr float kOutputNormGain = 3.0f, kPostNormGain = 3.0f;
// Sharp attention with strong values: what was said before decides, not the last token alone.
constexpr float kQueryGain = 2.5f, kValueGain = 2.0f;

// Roughly normal numbers (a sum of four uniforms), a function of seed, tensor and index alone.
class NumberStream {
 public:
  NumberStream(std::uint64_t seed, std::string_view name) : m_key(engine::mixBits(seed)) {
    for (const char c : name) m_key = engine::mixBits(m_key ^ static_cast<unsigned char>(c));
  }

  float next() {
    const std::uint64_t bits = engine::mixBits(m_key + m_counter++);
    const auto sum = static_cast<float>((bits & 0xFFFF) + ((bits >> 16) & 0xFFFF) +
                                        ((bits >> 32) & 0xFFFF) + (bits >> 48));
    return (sum / 65535.0f - 2.0f) * 1.7320508f;  // four uniforms: mean 2, variance 1/3
  }

 private:
  std::uint64_t m_key;
  std::uint64_t m_counter = 0;
};

class TinyModelBuilder {
 public:
  TinyModelBuilder(const TinyModelSpec& spec, GgufWriter& writer) : m_spec(spec), m_out(writer) {}

  void addMetadata() {
    m_out.add("general.architecture", m_spec.family);
    m_out.add("general.name", "tiny");
    addKey("context_length", m_spec.context);
    addKey("embedding_length", m_spec.hidden);
    addKey("block_count", m_spec.layers);
    addKey("feed_forward_length", m_spec.ffn);
    addKey("attention.head_count", m_spec.heads);
    addKey("attention.head_count_kv", m_spec.kvHeads);
    addKey("attention.key_length", m_spec.headDim);
    addKey("attention.value_length", m_spec.headDim);
    m_out.add(m_spec.family + ".attention.layer_norm_rms_epsilon", 1e-5f);
    m_out.add(m_spec.family + ".rope.freq_base", m_spec.ropeBase);
    if (m_spec.window > 0) addKey("attention.sliding_window", m_spec.window);
    addFloatKey("attn_logit_softcapping", m_spec.attentionSoftCap);
    addFloatKey("final_logit_softcapping", m_spec.finalSoftCap);
    if (m_spec.ropeDims > 0) addKey("rope.dimension_count", m_spec.ropeDims);
    if (m_spec.ropeScaleFactor > 0 || m_spec.originalContext > 0) {
      m_out.add(m_spec.family + ".rope.scaling.type", m_spec.ropeScaling);
    }
    addFloatKey("rope.scaling.factor", m_spec.ropeScaleFactor);
    if (m_spec.originalContext > 0) {
      addKey("rope.scaling.original_context_length", m_spec.originalContext);
    }
    for (const auto& [key, value] : m_spec.ropeScalingKeys) {
      m_out.add(m_spec.family + ".rope.scaling." + key, value);
    }
  }

  void addTensors() {
    const int vocabSize = tinyVocabSize(m_spec);
    const DType embeddingType = m_spec.embeddingType.value_or(m_spec.type);
    addMatrix("token_embd.weight", embeddingType, vocabSize, m_spec.hidden);
    if (!m_spec.ropeFactors.empty()) addFloats("rope_freqs.weight", m_spec.ropeFactors);
    if (!m_spec.longFactors.empty()) addFloats("rope_factors_long.weight", m_spec.longFactors);
    if (!m_spec.shortFactors.empty()) addFloats("rope_factors_short.weight", m_spec.shortFactors);
    for (int layer = 0; layer < m_spec.layers; ++layer) addLayer(fmt::format("blk.{}.", layer));
    addVector("output_norm.weight", m_spec.hidden, kOutputNormGain);
    if (!m_spec.tiedOutput) {
      addMatrix("output.weight", m_spec.outputType.value_or(m_spec.type), vocabSize, m_spec.hidden);
    }
  }

 private:
  void addKey(std::string_view key, int value) {
    m_out.add(fmt::format("{}.{}", m_spec.family, key), static_cast<std::uint32_t>(value));
  }

  void addFloatKey(std::string_view key, float value) {
    if (value > 0) m_out.add(fmt::format("{}.{}", m_spec.family, key), value);
  }

  void addLayer(const std::string& prefix) {
    const int queryDim = m_spec.heads * m_spec.headDim, keyDim = m_spec.kvHeads * m_spec.headDim;
    const bool isGemma = m_spec.family == "gemma2" || m_spec.family == "gemma3";
    const bool isFused = m_spec.family == "phi3";
    addVector(prefix + "attn_norm.weight", m_spec.hidden, 1.0f);
    if (isFused) {
      addMatrix(prefix + "attn_qkv.weight", m_spec.type, queryDim + 2 * keyDim, m_spec.hidden,
                kQueryGain);
    } else {
      addMatrix(prefix + "attn_q.weight", m_spec.type, queryDim, m_spec.hidden, kQueryGain);
      addMatrix(prefix + "attn_k.weight", m_spec.type, keyDim, m_spec.hidden, kQueryGain);
      addMatrix(prefix + "attn_v.weight", m_spec.type, keyDim, m_spec.hidden, kValueGain);
    }
    addMatrix(prefix + "attn_output.weight", m_spec.type, m_spec.hidden, queryDim);
    if (m_spec.family == "qwen2") {
      addVector(prefix + "attn_q.bias", queryDim, 0.0f);
      addVector(prefix + "attn_k.bias", keyDim, 0.0f);
      addVector(prefix + "attn_v.bias", keyDim, 0.0f);
    }
    if (m_spec.family == "gemma3" || m_spec.family == "qwen3") {
      addVector(prefix + "attn_q_norm.weight", m_spec.headDim, kQueryGain);
      addVector(prefix + "attn_k_norm.weight", m_spec.headDim, kQueryGain);
    }
    if (isGemma) {
      addVector(prefix + "post_attention_norm.weight", m_spec.hidden, kPostNormGain);
      addVector(prefix + "post_ffw_norm.weight", m_spec.hidden, kPostNormGain);
    }
    addVector(prefix + "ffn_norm.weight", m_spec.hidden, 1.0f);
    if (!isFused) addMatrix(prefix + "ffn_gate.weight", m_spec.type, m_spec.ffn, m_spec.hidden);
    addMatrix(prefix + "ffn_up.weight", m_spec.type, (isFused ? 2 : 1) * m_spec.ffn, m_spec.hidden);
    addMatrix(prefix + "ffn_down.weight", m_spec.type, m_spec.hidden, m_spec.ffn);
  }

  void addMatrix(const std::string& name, DType type, int rows, int cols, float gain = 1.0f) {
    NumberStream numbers(m_spec.seed, name);
    const float scale = m_spec.weightScale * gain / std::sqrt(static_cast<float>(cols));
    std::vector<float> row(static_cast<std::size_t>(cols));
    std::string data;
    data.reserve(static_cast<std::size_t>(rows) * kernels::rowBytes(type, cols));
    for (int r = 0; r < rows; ++r) {
      for (float& value : row) value = scale * numbers.next();
      data += quantiseRow(type, row.data(), cols);
    }
    m_out.addTensor(name, engine::model::tensorTypeOf(type).id, {cols, rows}, std::move(data));
  }

  void addVector(const std::string& name, int size, float mean) {
    NumberStream numbers(m_spec.seed, name);
    std::vector<float> values(static_cast<std::size_t>(size));
    for (float& value : values) value = mean + 0.1f * numbers.next();
    addFloats(name, values);
  }

  void addFloats(const std::string& name, const std::vector<float>& values) {
    const auto size = static_cast<std::int64_t>(values.size());
    m_out.addTensor(name, 0, {size}, quantiseRow(DType::F32, values.data(), size));
  }

  const TinyModelSpec& m_spec;
  GgufWriter& m_out;
};

int roundedUp(int value, int step) {
  return (value + step - 1) / step * step;
}

}  // namespace

TinyModelSpec withType(TinyModelSpec spec, DType type) {
  const int block = kernels::dtypeInfo(type).elementsPerBlock;
  spec.type = type;
  spec.hidden = roundedUp(spec.hidden, block);
  spec.ffn = roundedUp(spec.ffn, block);
  // heads * headDim must be whole blocks; an even headDim in any case
  spec.headDim = roundedUp(spec.headDim, std::lcm(2, block / std::gcd(block, spec.heads)));
  return spec;
}

GgufWriter tinyModel(const TinyModelSpec& spec) {
  GgufWriter writer;
  TinyModelBuilder builder(spec, writer);
  builder.addMetadata();
  addTinyVocabulary(spec, writer);
  builder.addTensors();
  return writer;
}

void writeTinyModel(const TinyModelSpec& spec, const std::string& path) {
  tinyModel(spec).writeTo(path);
}

}  // namespace test_support
