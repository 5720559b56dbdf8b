#include "engine/sim/model_card.h"

#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "engine/api/capacity.h"
#include "engine/sim/card_data.h"
#include "engine/sim/card_search.h"

namespace engine::sim {

namespace {

struct NamedFormat {
  const char* name;
  WeightFormat format;
  double bytes;
};

constexpr std::array<NamedFormat, 7> kFormats = {{
    {"f32", WeightFormat::F32, 4.0},
    {"bf16", WeightFormat::Bf16, 2.0},
    {"fp8", WeightFormat::Fp8, 1.0},
    {"int8", WeightFormat::Int8, 1.0 + 2.0 / 32},
    {"int4", WeightFormat::Int4, 0.5 + 4.0 / 128},
    {"q4_1", WeightFormat::Q4_1, 20.0 / 32},
    {"q8_0", WeightFormat::Q8_0, 34.0 / 32},
}};

const NamedFormat& entryOf(WeightFormat format) {
  return kFormats[static_cast<std::size_t>(format)];
}

ModelCard readCard(const nlohmann::json& entry) {
  ModelCard card;
  card.name = entry.at("name").get<std::string>();
  card.title = entry.at("title").get<std::string>();
  for (const auto& [key, target] : {std::pair{"layers", &card.numLayers},
                                    {"hidden", &card.hidden},
                                    {"heads", &card.numHeads},
                                    {"kv_heads", &card.numKvHeads},
                                    {"head_dim", &card.headDim},
                                    {"ffn", &card.ffn},
                                    {"vocab", &card.vocabSize},
                                    {"context", &card.maxContext}}) {
    *target = entry.at(key).get<std::int64_t>();
  }
  card.isTied = entry.at("tied").get<bool>();
  card.hasQkvBias = entry.value("bias", false);
  card.window = entry.value("window", std::int64_t{0});
  card.globalEvery = entry.value("global_every", std::int64_t{0});
  return card;
}

}  // namespace

std::int64_t ModelCard::parameters() const {
  const std::int64_t qWidth = numHeads * headDim, kvWidth = numKvHeads * headDim;
  std::int64_t layer = hidden * (2 * qWidth + 2 * kvWidth) + 3 * hidden * ffn + 2 * hidden;
  if (hasQkvBias) layer += qWidth + 2 * kvWidth;
  return numLayers * layer + hidden + (isTied ? 1 : 2) * vocabSize * hidden;
}

double bytesPerWeight(WeightFormat format) {
  return entryOf(format).bytes;
}

const char* weightFormatName(WeightFormat format) {
  return entryOf(format).name;
}

Result<WeightFormat> parseWeightFormat(std::string_view name) {
  std::string names;
  for (const NamedFormat& entry : kFormats) {
    if (name == entry.name) return entry.format;
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  return Error{ErrorCode::InvalidArgument, fmt::format("there is no weight format {}; there are {}",
                                                       name.substr(0, 100), names)};
}

accounting::ModelShape shapeOf(const ModelCard& card, WeightFormat weights, KvDType kv) {
  accounting::ModelShape shape;
  shape.numLayers = card.numLayers;
  shape.hidden = card.hidden;
  shape.numHeads = card.numHeads;
  shape.numKvHeads = card.numKvHeads;
  shape.headDim = card.headDim;
  shape.ffn = card.ffn;
  shape.vocabSize = card.vocabSize;
  for (std::int64_t layer = 0; card.window > 0 && layer < card.numLayers; ++layer) {
    const bool isGlobal = card.globalEvery > 0 && (layer + 1) % card.globalEvery == 0;
    shape.windows.push_back(isGlobal ? 0 : card.window);
  }
  const double bytes = bytesPerWeight(weights);
  const double matrix = static_cast<double>(card.vocabSize * card.hidden) * bytes;
  shape.layerWeightBytes = accounting::layerParameters(shape) * bytes;
  shape.outputWeightBytes = matrix;
  shape.embeddingRowBytes = static_cast<double>(card.hidden) * bytes;
  shape.kvBytesPerTokenLayer = accounting::kvBytesPerTokenLayer(kv, card.numKvHeads, card.headDim);
  return shape;
}

double weightBytes(const ModelCard& card, WeightFormat weights) {
  return static_cast<double>(card.parameters()) * bytesPerWeight(weights);
}

const std::vector<ModelCard>& modelCards() {
  static const std::vector<ModelCard> cards = [] {
    std::vector<ModelCard> read;
    // part of the program: a mistake in it throws at the first use, in any test
    const auto document = nlohmann::json::parse(kModelCardsJson);
    for (const auto& entry : document.at("models")) read.push_back(readCard(entry));
    return read;
  }();
  return cards;
}

Result<ModelCard> findModelCard(std::string_view name) {
  return findCard(modelCards(), name, "model card");
}

}  // namespace engine::sim
