#include "engine/model/gguf_config.h"

#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "engine/model/architecture_keys.h"
#include "engine/model/decoder_family.h"
#include "engine/model/gguf_rope.h"
#include "engine/model/gguf_split.h"
#include "engine/model/safe_text.h"

namespace engine::model {

namespace {

// Far above any model we know; they keep every product of two within 64 bits and memory bounded.
constexpr IntegerRange kLayers = {1, 1024};
constexpr IntegerRange kHidden = {1, 131072};
constexpr IntegerRange kHeads = {1, 1024};
constexpr IntegerRange kHeadDim = {2, 1024};
constexpr IntegerRange kFfn = {1, 1048576};
constexpr IntegerRange kPositions = {1, std::numeric_limits<std::int32_t>::max()};
constexpr std::int64_t kMaxVocab = std::int64_t{1} << 24;

constexpr int kGemma2Window = 4096;
constexpr int kSmallGemma3Layers = 26;  // 270M and 1B use windows of 512, the larger ones 1024

Result<std::string> readArchitecture(const GgufFile& file) {
  auto architecture = TRY(file.metadata().text("general.architecture"));
  if (!architecture) {
    return fileError(ErrorCode::CorruptFile, file.path(), "has no general.architecture");
  }
  return std::move(*architecture);
}

Result<void> refuseWhatWeDoNotRun(const GgufFile& file, const ArchitectureKeys& keys) {
  if (findFamily(keys.architecture()) == nullptr) {
    return keys.unsupported(fmt::format("architecture \"{}\" is not run ({} are)",
                                        safeText(keys.architecture()), familyNames()));
  }
  const auto numExperts = TRY(keys.integerOr("expert_count", kPositions, 0));
  if (numExperts > 0) {
    return keys.unsupported(fmt::format("mixture of experts ({} experts) is not run", numExperts));
  }
  if (!TRY(keys.booleanOr("attention.causal", true))) {
    return keys.unsupported("attention that is not causal is not run");
  }
  if (file.tensors().empty()) return keys.unsupported("holds no weights (vocabulary only)");
  for (const GgufTensor& tensor : file.tensors()) {
    if (!tensor.type->dtype) {
      return keys.unsupported(fmt::format("tensor {} has type {}, which is not run",
                                          safeText(tensor.name), tensor.type->name));
    }
  }
  return {};
}

Result<void> readHeads(const ArchitectureKeys& keys, kernels::DecoderSpec& spec) {
  spec.numHeads = static_cast<int>(TRY(keys.integer("attention.head_count", kHeads)));
  spec.numKvHeads =
      static_cast<int>(TRY(keys.integerOr("attention.head_count_kv", kHeads, spec.numHeads)));
  if (spec.numHeads % spec.numKvHeads != 0) {
    return keys.corrupt(fmt::format("has {} attention heads for {} key-value heads, not a multiple",
                                    spec.numHeads, spec.numKvHeads));
  }
  if (!keys.has("attention.key_length") && spec.hidden % spec.numHeads != 0) {
    return keys.corrupt(fmt::format("splits a width of {} into {} heads without a key_length",
                                    spec.hidden, spec.numHeads));
  }
  const int evenShare = spec.hidden / spec.numHeads;
  const auto headDim = TRY(keys.integerOr("attention.key_length", kHeadDim, evenShare));
  const auto valueDim = TRY(keys.integerOr("attention.value_length", kHeadDim, headDim));
  if (valueDim != headDim) {
    return keys.unsupported(
        fmt::format("keys of {} and values of {} elements are not run", headDim, valueDim));
  }
  if (headDim % 2 != 0 || headDim > kHeadDim.highest) {
    return keys.corrupt(fmt::format("has heads of {} elements, must be even and at most {}",
                                    headDim, kHeadDim.highest));
  }
  spec.headDim = static_cast<int>(headDim);
  return {};
}

// The embedding's rows, which the vocabulary must match.
Result<std::int64_t> readVocabSize(const GgufFile& file, const ArchitectureKeys& keys) {
  const GgufTensor* embedding = file.findTensor("token_embd.weight");
  if (embedding == nullptr) return keys.corrupt("tensor token_embd.weight is missing");
  if (embedding->shape.size() != 2 || embedding->shape[1] > kMaxVocab) {
    return keys.corrupt(
        fmt::format("tensor token_embd.weight is no matrix of at most {} rows", kMaxVocab));
  }
  const std::int64_t rows = embedding->shape[1];
  const GgufEntry* tokens = file.metadata().find("tokenizer.ggml.tokens");
  const auto* array = tokens == nullptr ? nullptr : std::get_if<GgufArray>(&tokens->value);
  if (array != nullptr && array->count != static_cast<std::uint64_t>(rows)) {
    return keys.corrupt(
        fmt::format("has {} tokens, but tensor token_embd.weight has {} rows", array->count, rows));
  }
  return rows;
}

Result<void> readScales(const ArchitectureKeys& keys,
                        const DecoderFamily& family,
                        kernels::DecoderSpec& spec) {
  const char* epsKey = "attention.layer_norm_rms_epsilon";
  if (!keys.has(epsKey)) return keys.corrupt(fmt::format("has no {}", keys.fullKey(epsKey)));
  const double eps = TRY(keys.positiveOr(epsKey, 0.0));
  if (eps >= 1.0) {
    return keys.corrupt(
        fmt::format("{} is {}, must be above 0 and below 1", keys.fullKey(epsKey), eps));
  }
  spec.normEps = static_cast<float>(eps);
  spec.activation = family.activation;
  if (family.scalesEmbedding) spec.embedScale = std::sqrt(static_cast<float>(spec.hidden));
  const bool isEvenShare = spec.numLayers == family.evenShareLayers;
  const int scaledDim = isEvenShare ? spec.hidden / spec.numHeads : spec.headDim;
  spec.attentionScale = static_cast<float>(
      TRY(keys.positiveOr("attention.scale", 1.0 / std::sqrt(static_cast<double>(scaledDim)))));
  spec.attentionSoftCap = static_cast<float>(
      TRY(keys.positiveOr("attn_logit_softcapping", double{family.attentionSoftCap})));
  spec.finalSoftCap = static_cast<float>(
      TRY(keys.positiveOr("final_logit_softcapping", double{family.finalSoftCap})));
  return {};
}

// The period of layers that see everything; 1 where there is no such pattern.
int globalEveryOf(WindowPattern windows) {
  switch (windows) {
    case WindowPattern::OneLocalToOne:
      return 2;
    case WindowPattern::FiveLocalToOne:
      return 6;
    case WindowPattern::AllLayers:
      break;
  }
  return 1;
}

int defaultWindow(WindowPattern windows, int numLayers) {
  switch (windows) {
    case WindowPattern::OneLocalToOne:
      return kGemma2Window;
    case WindowPattern::FiveLocalToOne:
      return numLayers <= kSmallGemma3Layers ? 512 : 1024;
    case WindowPattern::AllLayers:
      break;
  }
  return 0;
}

Result<void> readLayers(const ArchitectureKeys& keys,
                        const DecoderFamily& family,
                        kernels::DecoderSpec& spec) {
  spec.layers.assign(static_cast<std::size_t>(spec.numLayers), {});
  const bool isMixed = family.windows != WindowPattern::AllLayers;
  const auto window = static_cast<int>(
      TRY(keys.integerOr("attention.sliding_window", IntegerRange{0, kPositions.highest},
                         defaultWindow(family.windows, spec.numLayers))));
  const auto globalEvery = static_cast<int>(TRY(
      keys.integerOr("attention.sliding_window_pattern", kLayers, globalEveryOf(family.windows))));
  for (int i = 0; i < spec.numLayers; ++i) {
    const bool isGlobal = isMixed && (i + 1) % globalEvery == 0;
    auto& layer = spec.layers[static_cast<std::size_t>(i)];
    layer.window = isGlobal ? 0 : window;
    layer.rope = spec.ropes.size() > 1 && !isGlobal ? 1 : 0;
  }
  return {};
}

}  // namespace

std::int64_t countParameters(const GgufFile& file) {
  // Cannot wrap: tensors lie apart in the file and no type packs more than 8 elements a byte.
  std::int64_t count = 0;
  for (const GgufTensor& tensor : file.tensors()) count += tensor.elements;
  return count;
}

std::string dominantType(const GgufFile& file) {
  std::map<std::string_view, std::int64_t> elements;
  std::string_view best;
  for (const GgufTensor& tensor : file.tensors()) elements[tensor.type->name] += tensor.elements;
  for (const auto& [name, count] : elements) {
    if (best.empty() || count > elements[best]) best = name;
  }
  return std::string(best);
}

Result<ModelConfig> readConfig(const GgufFile& file, std::int64_t maxContext) {
  const ArchitectureKeys keys(file, TRY(readArchitecture(file)));
  TRY_VOID(refuseWhatWeDoNotRun(file, keys));
  const DecoderFamily& family = *findFamily(keys.architecture());

  ModelConfig config;
  config.architecture = keys.architecture();
  config.name = safeText(TRY(file.metadata().text("general.name")).value_or(titleOf(file.path())));
  config.quantisation = dominantType(file);
  config.parameters = countParameters(file);
  config.trainedContext = TRY(keys.integer("context_length", kPositions));

  kernels::DecoderSpec& spec = config.decoder;
  spec.numLayers = static_cast<int>(TRY(keys.integer("block_count", kLayers)));
  spec.hidden = static_cast<int>(TRY(keys.integer("embedding_length", kHidden)));
  spec.ffn = static_cast<int>(TRY(keys.integer("feed_forward_length", kFfn)));
  TRY_VOID(readHeads(keys, spec));
  spec.vocabSize = TRY(readVocabSize(file, keys));
  TRY_VOID(readScales(keys, family, spec));
  const std::int64_t context = maxContext > 0 ? maxContext : config.trainedContext;
  spec.ropes = TRY(readRopes(file, keys, family, spec.headDim, context));
  TRY_VOID(readLayers(keys, family, spec));
  return config;
}

}  // namespace engine::model
