#include "engine/model/memory_estimate.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "engine/api/kv_type.h"

namespace engine::model {

namespace {

constexpr std::int64_t kDefaultPoolLimit = std::int64_t{4} << 30;
// Measured: 190 in byte-level BPE (49,152 and 151,936 tokens), 256 in sentencepiece (262,144).
constexpr std::int64_t kBytesPerToken = 220;
constexpr std::int64_t kMaxBlocks = std::numeric_limits<std::int32_t>::max();  // BlockId

// 1536 as "1,536".
std::string grouped(std::int64_t value) {
  std::string digits = std::to_string(value);
  for (auto at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return digits;
}

std::int64_t bytesOf(const kernels::WeightView& view) {
  return view.isPresent() ? static_cast<std::int64_t>(view.bytes()) : 0;
}

std::int64_t bytesOf(const std::vector<float>& values) {
  return static_cast<std::int64_t>(values.size() * sizeof(float));
}

Result<std::int64_t> poolBytes(std::int64_t numBlocks, std::int64_t blockBytes) {
  std::int64_t bytes = 0;
  if (!__builtin_mul_overflow(numBlocks, blockBytes, &bytes)) return bytes;
  return Error{ErrorCode::InvalidArgument,
               fmt::format("a KV pool of {} blocks of {} bytes is beyond 2^63 bytes",
                           grouped(numBlocks), grouped(blockBytes))};
}

// A model's own items; `prefix` names whose they are.
Result<void> addItems(MemoryEstimate& estimate,
                      const std::string& prefix,
                      const ModelConfig& model,
                      const kernels::DecoderWeights& weights,
                      const kernels::KvLayout& layout) {
  estimate.items.push_back(
      {prefix + "weights", weightBytes(weights),
       fmt::format("{} parameters, mostly {}", grouped(model.parameters), model.quantisation)});
  const std::int64_t pool = TRY(
      poolBytes(layout.numBlocks, static_cast<std::int64_t>(layout.bytesPerBlock())));
  estimate.items.push_back({prefix + "KV pool", pool,
                            fmt::format("{} blocks of {} tokens, {}", grouped(layout.numBlocks),
                                        layout.blockSize, kvDTypeName(kvDTypeOf(layout.type)))});
  return {};
}

}  // namespace

std::optional<std::int64_t> parseFreeMemory(std::string_view meminfo) {
  constexpr std::string_view kField = "MemAvailable:";
  const auto at = meminfo.find(kField);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = meminfo.substr(at + kField.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  std::int64_t kibibytes = 0;
  const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), kibibytes);
  if (parsed.ec != std::errc() || kibibytes < 0 || kibibytes > (std::int64_t{1} << 50)) {
    return std::nullopt;
  }
  return kibibytes * 1024;
}

std::optional<std::int64_t> freeMemoryBytes() {
  std::ifstream file("/proc/meminfo");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return parseFreeMemory(text);
}

kernels::KvLayout kvLayoutOf(const kernels::DecoderSpec& spec, const LoadConfig& config) {
  kernels::KvLayout layout;
  const bool isReference = config.isa == IsaKind::Reference;
  layout.type = kvTypeOf(config.kvDtype)
                    .value_or(isReference ? kernels::KvType::F32 : kernels::KvType::BF16);
  layout.numLayers = spec.numLayers;
  layout.numKvHeads = spec.numKvHeads;
  layout.headDim = spec.headDim;
  layout.blockSize = config.blockSize;
  return layout;
}

std::int64_t usefulBlocks(const EngineConfig& config, std::int64_t maxContext) {
  const std::int64_t blockSize = config.load.blockSize;
  const std::int64_t perSequence = maxContext / blockSize + (maxContext % blockSize != 0);
  // maxSeqs has 17 bits at most
  return std::max<std::int64_t>(1, std::min(perSequence, kMaxBlocks) * config.limits.maxSeqs);
}

Result<std::int64_t> resolveKvBlocks(const LoadConfig& config,
                                     std::int64_t bytesPerBlock,
                                     std::int64_t freeBytes,
                                     std::int64_t useful) {
  CHECK(bytesPerBlock > 0);
  if (config.kvBlocks > 0) {
    if (config.kvBlocks > kMaxBlocks) {
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("a KV pool of {} blocks is asked for, the limit is {}",
                               grouped(config.kvBlocks), grouped(kMaxBlocks))};
    }
    return config.kvBlocks;
  }
  const std::int64_t bytes =
      config.kvMemoryBytes > 0 ? config.kvMemoryBytes : std::min(freeBytes / 4, kDefaultPoolLimit);
  if (bytes < bytesPerBlock) {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("a KV pool of {} bytes holds no block: one of {} tokens takes {} bytes",
                    grouped(bytes), config.blockSize, grouped(bytesPerBlock))};
  }
  const std::int64_t blocks = std::min(bytes / bytesPerBlock, kMaxBlocks);
  return config.kvMemoryBytes > 0 ? blocks : std::min(blocks, useful);
}

std::int64_t weightBytes(const kernels::DecoderWeights& weights) {
  std::int64_t sum = bytesOf(weights.output) + bytesOf(weights.outputNorm);
  for (const kernels::LayerWeights& layer : weights.layers) {
    for (const auto* view :
         {&layer.q, &layer.k, &layer.v, &layer.attnOut, &layer.gate, &layer.up, &layer.down}) {
      sum += bytesOf(*view);
    }
    for (const auto* values :
         {&layer.attnNorm, &layer.ffnNorm, &layer.postAttnNorm, &layer.postFfnNorm, &layer.qNorm,
          &layer.kNorm, &layer.qBias, &layer.kBias, &layer.vBias}) {
      sum += bytesOf(*values);
    }
  }
  return sum;
}

std::int64_t vocabularyBytes(std::int64_t vocabSize) { return vocabSize * kBytesPerToken; }

int backendRows(const SchedulerLimits& limits) {
  constexpr int kLeast = 512, kMost = 2048;
  return std::clamp(limits.maxBatchedTokens, kLeast, kMost);
}

std::int64_t activationBytes(const kernels::DecoderSpec& spec, std::int64_t rows) {
  const std::int64_t heads = spec.numHeads + std::int64_t{2} * spec.numKvHeads;
  // residual, normed input and sublayer output; q, k, v and the attention's output; gate and up
  const std::int64_t perRow = std::int64_t{3} * spec.hidden +
                              (heads + spec.numHeads) * spec.headDim + std::int64_t{2} * spec.ffn;
  return (rows * perRow + spec.vocabSize) * static_cast<std::int64_t>(sizeof(float));
}

Result<MemoryEstimate> estimateMemory(const WeightSource& source,
                                      const EngineConfig& config,
                                      std::int64_t freeBytes,
                                      const WeightSource* draft) {
  const LoadConfig& load = config.load;
  const ModelConfig model = TRY(source.configFor(load.maxContext));
  const kernels::DecoderWeights weights = TRY(source.weights(model));
  kernels::KvLayout layout = kvLayoutOf(model.decoder, load);
  auto blockBytes = static_cast<std::int64_t>(layout.bytesPerBlock());
  const std::int64_t maxContext = load.maxContext > 0 ? load.maxContext : model.trainedContext;
  ModelConfig draftModel;
  kernels::KvLayout draftLayout;
  if (draft != nullptr) {
    draftModel = TRY(draft->configFor(0));
    draftLayout = kvLayoutOf(draftModel.decoder, load);
    blockBytes += static_cast<std::int64_t>(draftLayout.bytesPerBlock());
  }
  layout.numBlocks =
      TRY(resolveKvBlocks(load, blockBytes, freeBytes, usefulBlocks(config, maxContext)));

  const std::int64_t rows = backendRows(config.limits);
  MemoryEstimate estimate;
  TRY_VOID(addItems(estimate, "", model, weights, layout));
  std::int64_t activations = activationBytes(model.decoder, rows);
  if (draft != nullptr) {
    draftLayout.numBlocks = layout.numBlocks;
    const kernels::DecoderWeights draftWeights = TRY(draft->weights(draftModel));
    TRY_VOID(addItems(estimate, "draft ", draftModel, draftWeights, draftLayout));
    activations += activationBytes(draftModel.decoder, rows);
  }
  estimate.items.push_back(
      {"activations", activations, fmt::format("{} tokens at once", grouped(rows))});
  estimate.items.push_back({"vocabulary", vocabularyBytes(model.decoder.vocabSize),
                            fmt::format("{} tokens", grouped(model.decoder.vocabSize))});
  for (const MemoryItem& item : estimate.items) estimate.totalBytes += item.bytes;
  estimate.freeBytes = freeBytes;
  estimate.kvCapacityTokens = layout.numBlocks * layout.blockSize;
  return estimate;
}

}  // namespace engine::model
