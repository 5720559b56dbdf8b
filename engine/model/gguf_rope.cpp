#include "engine/model/gguf_rope.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/model/safe_text.h"
#include "kernels/core/unpack.h"

namespace engine::model {

namespace {

constexpr const char* kFactorTensor = "rope_freqs.weight";
constexpr const char* kLongTensor = "rope_factors_long.weight";
constexpr const char* kShortTensor = "rope_factors_short.weight";
constexpr double kLocalRopeBase = 10000.0;
constexpr IntegerRange kContexts = {1, std::numeric_limits<std::int32_t>::max()};

Result<int> readRotatedDims(const ArchitectureKeys& keys, int headDim) {
  const auto dims = TRY(keys.integerOr("rope.dimension_count", IntegerRange{2, headDim}, headDim));
  if (dims % 2 != 0) {
    return keys.corrupt(
        fmt::format("{} is {}, must be even", keys.fullKey("rope.dimension_count"), dims));
  }
  return static_cast<int>(dims);
}

// The context that a stretched model was first trained on.
Result<std::int64_t> readOriginalContext(const ArchitectureKeys& keys) {
  const auto trained = TRY(keys.integer("context_length", kContexts));
  return keys.integerOr("rope.scaling.original_context_length", kContexts, trained);
}

// Yarn: attention to distant positions is sharpened by this much.
double yarnMagnitude(double factor, double multiplier) {
  return factor <= 1.0 ? 1.0 : 1.0 + 0.1 * multiplier * std::log(factor);
}

// The share of each frequency that yarn leaves as it was: all of those that turn more than
// `betaFast` times within the original context, none of those that turn fewer than `betaSlow`
// times, and a ramp between.
std::vector<double> yarnRamp(
    double base, int rotatedDims, double context, double fast, double slow) {
  const auto pairThatTurns = [&](double turns) {
    constexpr double kTurn = 6.283185307179586476925286766559;
    return rotatedDims * std::log(context / (turns * kTurn)) / (2.0 * std::log(base));
  };
  const double first = std::max(0.0, std::floor(pairThatTurns(fast)));
  const double last = std::min(rotatedDims - 1.0, std::ceil(pairThatTurns(slow)));
  std::vector<double> kept(static_cast<std::size_t>(rotatedDims / 2));
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const double along = (static_cast<double>(i) - first) / std::max(0.001, last - first);
    kept[i] = 1.0 - std::clamp(along, 0.0, 1.0);
  }
  return kept;
}

Result<void> readYarn(const ArchitectureKeys& keys,
                      double base,
                      int rotatedDims,
                      RopeScaling& scaling) {
  const char* mixKey = "rope.scaling.yarn_ext_factor";
  double mix = TRY(keys.numberOr(mixKey, 1.0));
  if (mix < 0.0) mix = 1.0;  // how files say "not set"
  if (mix > 1.0) {
    return keys.corrupt(fmt::format("{} is {}, must be at most 1", keys.fullKey(mixKey), mix));
  }
  if (base <= 1.0) {
    return keys.corrupt(
        fmt::format("{} is {}, yarn needs more than 1", keys.fullKey("rope.freq_base"), base));
  }
  if (mix == 0.0) {
    scaling.magnitude = TRY(keys.positiveOr("rope.scaling.yarn_attn_factor", 1.0));
    return {};
  }
  const double fast = TRY(keys.positiveOr("rope.scaling.yarn_beta_fast", 32.0));
  const double slow = TRY(keys.positiveOr("rope.scaling.yarn_beta_slow", 1.0));
  const auto context = static_cast<double>(TRY(readOriginalContext(keys)));
  scaling.kept = yarnRamp(base, rotatedDims, context, fast, slow);
  for (double& share : scaling.kept) share *= mix;
  const double multiplier = TRY(keys.numberOr("rope.scaling.yarn_log_multiplier", 0.0));
  scaling.magnitude = yarnMagnitude(scaling.divisor, 1.0);
  if (multiplier != 0.0) scaling.magnitude /= yarnMagnitude(scaling.divisor, multiplier);
  if (scaling.magnitude > 0.0) return {};
  return keys.corrupt(fmt::format("{} is {}, which leaves no attention",
                                  keys.fullKey("rope.scaling.yarn_log_multiplier"), multiplier));
}

// Empty when the file has no such tensor.
Result<std::vector<float>> readFactors(const GgufFile& file,
                                       const ArchitectureKeys& keys,
                                       const char* name,
                                       int rotatedDims) {
  const GgufTensor* tensor = file.findTensor(name);
  if (tensor == nullptr) return std::vector<float>();
  if (tensor->elements != rotatedDims / 2 || tensor->shape.size() != 1 || !tensor->type->dtype) {
    return keys.corrupt(fmt::format("tensor {} has {} elements of type {}, expected {} floats",
                                    name, tensor->elements, tensor->type->name, rotatedDims / 2));
  }
  std::vector<float> factors(static_cast<std::size_t>(tensor->elements));
  kernels::unpackRow(*tensor->type->dtype, tensor->data, tensor->elements, factors.data());
  const auto isGood = [](float factor) { return std::isfinite(factor) && factor > 0.0f; };
  if (!std::ranges::all_of(factors, isGood)) {
    return keys.corrupt(fmt::format("tensor {} holds a factor that is not above 0", name));
  }
  return factors;
}

Result<std::vector<float>> chooseFactors(const GgufFile& file,
                                         const ArchitectureKeys& keys,
                                         int rotatedDims,
                                         std::int64_t context) {
  auto common = TRY(readFactors(file, keys, kFactorTensor, rotatedDims));
  auto beyond = TRY(readFactors(file, keys, kLongTensor, rotatedDims));
  auto within = TRY(readFactors(file, keys, kShortTensor, rotatedDims));
  if (beyond.empty() != within.empty()) {
    return keys.corrupt(fmt::format("has tensor {} without {}",
                                    beyond.empty() ? kShortTensor : kLongTensor,
                                    beyond.empty() ? kLongTensor : kShortTensor));
  }
  if (!common.empty() || beyond.empty()) return common;
  return context > TRY(readOriginalContext(keys)) ? beyond : within;
}

enum class ScalingKind : std::uint8_t { None, Linear, Yarn, LongRope };

Result<ScalingKind> readScalingKind(const ArchitectureKeys& keys) {
  constexpr std::array<std::string_view, 4> kNames = {"none", "linear", "yarn", "longrope"};
  const std::string name = TRY(keys.textOr("rope.scaling.type", "linear"));
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (name.compare(kNames[i]) == 0) return static_cast<ScalingKind>(i);
  }
  return keys.unsupported(fmt::format("rope scaling \"{}\" is not run ({} are)", safeText(name),
                                      fmt::join(kNames, ", ")));
}

Result<RopeScaling> readScaling(const ArchitectureKeys& keys, double base, int rotatedDims) {
  RopeScaling scaling;
  const ScalingKind kind = TRY(readScalingKind(keys));
  if (kind != ScalingKind::None) {
    const double older = TRY(keys.positiveOr("rope.scale_linear", 1.0));
    scaling.divisor = TRY(keys.positiveOr("rope.scaling.factor", older));
  }
  if (kind == ScalingKind::Yarn) TRY_VOID(readYarn(keys, base, rotatedDims, scaling));
  scaling.magnitude *= TRY(keys.positiveOr("rope.scaling.attn_factor", 1.0));
  return scaling;
}

}  // namespace

bool isRopeTensor(std::string_view name) {
  return name == kFactorTensor || name == kLongTensor || name == kShortTensor;
}

std::vector<float> inverseFrequencies(double base, int rotatedDims, const RopeScaling& scaling) {
  std::vector<float> out(static_cast<std::size_t>(rotatedDims / 2));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / rotatedDims;
    const double factor = scaling.factors.empty() ? 1.0 : static_cast<double>(scaling.factors[i]);
    const double kept = scaling.kept.empty() ? 0.0 : scaling.kept[i];
    out[i] = static_cast<float>(std::pow(base, exponent) / factor *
                                ((1.0 - kept) / scaling.divisor + kept));
  }
  return out;
}

Result<std::vector<kernels::RopeSpec>> readRopes(const GgufFile& file,
                                                 const ArchitectureKeys& keys,
                                                 const DecoderFamily& family,
                                                 int headDim,
                                                 std::int64_t context) {
  const int rotatedDims = TRY(readRotatedDims(keys, headDim));
  const double base = TRY(keys.positiveOr("rope.freq_base", double{family.ropeBase}));
  RopeScaling scaling = TRY(readScaling(keys, base, rotatedDims));
  scaling.factors = TRY(chooseFactors(file, keys, rotatedDims, context));

  std::vector<kernels::RopeSpec> ropes;
  ropes.push_back({family.ropePairing, inverseFrequencies(base, rotatedDims, scaling),
                   static_cast<float>(scaling.magnitude)});
  if (family.windows == WindowPattern::FiveLocalToOne) {
    // Scaling stretches only what sees the whole context; local layers keep their own plain base.
    const double localBase = TRY(keys.positiveOr("rope.freq_base_swa", kLocalRopeBase));
    ropes.push_back({family.ropePairing, inverseFrequencies(localBase, rotatedDims, {}), 1.0f});
  }
  return ropes;
}

}  // namespace engine::model
