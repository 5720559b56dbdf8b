#include "engine/model/gguf_rope.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "engine/model/safe_text.h"
#include "kernels/core/unpack.h"

namespace engine::model {

namespace {

constexpr const char* kFactorTensor = "rope_freqs.weight";
constexpr double kLocalRopeBase = 10000.0;

Result<int> readRotatedDims(const ArchitectureKeys& keys, int headDim) {
  const auto dims = TRY(keys.integerOr("rope.dimension_count", IntegerRange{2, headDim}, headDim));
  if (dims % 2 != 0) {
    return keys.corrupt(
        fmt::format("{} is {}, must be even", keys.fullKey("rope.dimension_count"), dims));
  }
  return static_cast<int>(dims);
}

// What every frequency is divided by.
Result<double> readScale(const ArchitectureKeys& keys) {
  const std::string kind = TRY(keys.textOr("rope.scaling.type", "linear"));
  if (kind == "none") return 1.0;
  if (kind != "linear") {
    return keys.unsupported(
        fmt::format("rope scaling \"{}\" is not run (none and linear are)", safeText(kind)));
  }
  const double older = TRY(keys.positiveOr("rope.scale_linear", 1.0));
  return TRY(keys.positiveOr("rope.scaling.factor", older));
}

Result<std::vector<float>> readFactors(const GgufFile& file,
                                       const ArchitectureKeys& keys,
                                       int rotatedDims) {
  for (const char* name : {"rope_factors_long.weight", "rope_factors_short.weight"}) {
    if (file.findTensor(name) != nullptr) {
      return keys.unsupported(fmt::format("rope scaling by {} is not run", name));
    }
  }
  const GgufTensor* tensor = file.findTensor(kFactorTensor);
  if (tensor == nullptr) return std::vector<float>();
  if (tensor->elements != rotatedDims / 2 || tensor->shape.size() != 1 || !tensor->type->dtype) {
    return keys.corrupt(fmt::format("tensor {} has {} elements of type {}, expected {} floats",
                                    kFactorTensor, tensor->elements, tensor->type->name,
                                    rotatedDims / 2));
  }
  std::vector<float> factors(static_cast<std::size_t>(tensor->elements));
  kernels::unpackRow(*tensor->type->dtype, tensor->data, tensor->elements, factors.data());
  const auto isGood = [](float factor) { return std::isfinite(factor) && factor > 0.0f; };
  if (!std::ranges::all_of(factors, isGood)) {
    return keys.corrupt(fmt::format("tensor {} holds a factor that is not above 0", kFactorTensor));
  }
  return factors;
}

}  // namespace

std::vector<float> inverseFrequencies(double base,
                                      int rotatedDims,
                                      double scale,
                                      const std::vector<float>& factors) {
  std::vector<float> out(static_cast<std::size_t>(rotatedDims / 2));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / rotatedDims;
    const double factor = factors.empty() ? 1.0 : static_cast<double>(factors[i]);
    out[i] = static_cast<float>(std::pow(base, exponent) / (scale * factor));
  }
  return out;
}

Result<std::vector<kernels::RopeSpec>> readRopes(const GgufFile& file,
                                                 const ArchitectureKeys& keys,
                                                 const DecoderFamily& family,
                                                 int headDim) {
  const int rotatedDims = TRY(readRotatedDims(keys, headDim));
  const double base = TRY(keys.positiveOr("rope.freq_base", family.defaultRopeBase));
  const double scale = TRY(readScale(keys));
  const std::vector<float> factors = TRY(readFactors(file, keys, rotatedDims));
  const double magnitude = TRY(keys.positiveOr("rope.scaling.attn_factor", 1.0));

  std::vector<kernels::RopeSpec> ropes;
  ropes.push_back({family.ropePairing, inverseFrequencies(base, rotatedDims, scale, factors),
                   static_cast<float>(magnitude)});
  if (family.windows == WindowPattern::FiveLocalToOne) {
    // Scaling stretches only what sees the whole context; local layers keep their own plain base.
    const double localBase = TRY(keys.positiveOr("rope.freq_base_swa", kLocalRopeBase));
    ropes.push_back(
        {family.ropePairing, inverseFrequencies(localBase, rotatedDims, 1.0, {}), 1.0f});
  }
  return ropes;
}

}  // namespace engine::model
