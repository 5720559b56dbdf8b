// The shape of a published model, as data, and what it costs in a number format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/accounting.h"
#include "engine/api/engine_config.h"
#include "engine/base/result.h"

namespace engine::sim {

struct ModelCard {
  std::string name;   // "llama-3.1-8b"
  std::string title;  // "Llama 3.1 8B"
  std::int64_t numLayers = 0, hidden = 0, numHeads = 0, numKvHeads = 0, headDim = 0, ffn = 0;
  std::int64_t vocabSize = 0, maxContext = 0;
  bool isTied = false;  // the output matrix is the embedding
  bool hasQkvBias = false;
  std::int64_t window = 0, globalEvery = 0;  // 0 = all layers see all positions

  // Of all tensors.
  std::int64_t parameters() const;
};

// Number formats of weights. Int8 and Int4 count a scale (and for Int4 a zero point) of 16 bits for
// each 32 and each 128 weights; Q4_1 and Q8_0 are GGUF's.
enum class WeightFormat : std::uint8_t { F32, Bf16, Fp8, Int8, Int4, Q4_1, Q8_0 };

double bytesPerWeight(WeightFormat format);
// "bf16", "fp8", ...; InvalidArgument names what there is.
Result<WeightFormat> parseWeightFormat(std::string_view name);
const char* weightFormatName(WeightFormat format);

// The shape that the accounting counts with. Norms and biases are left out: they are a ten-thousandth.
accounting::ModelShape shapeOf(const ModelCard& card, WeightFormat weights, KvDType kv);
// Memory of all weights.
double weightBytes(const ModelCard& card, WeightFormat weights);

const std::vector<ModelCard>& modelCards();
// NotFound, with the names there are.
Result<ModelCard> findModelCard(std::string_view name);

}  // namespace engine::sim
