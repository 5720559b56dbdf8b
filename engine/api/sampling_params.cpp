#include "engine/api/sampling_params.h"

#include <cmath>

#include <fmt/format.h>

namespace engine {

namespace {

constexpr std::int64_t kMaxTopK = (std::int64_t{1} << 31) - 1;
constexpr int kMaxTopLogprobs = 1000;

Error outOfRange(const char* field, float value, const char* limits) {
  return {ErrorCode::InvalidArgument, fmt::format("{} is {}; it takes {}", field, value, limits)};
}

// NaN lies in no range.
bool isWithin(double value, double low, double high) {
  return value >= low && value <= high;
}

Result<void> checkDistribution(const SamplingParams& p) {
  if (!isWithin(p.temperature, 0, 2)) return outOfRange("temperature", p.temperature, "0 to 2");
  if (!isWithin(p.topP, 0, 1)) return outOfRange("top-p", p.topP, "0 to 1");
  if (!isWithin(p.minP, 0, 1)) return outOfRange("min-p", p.minP, "0 to 1");
  if (!isWithin(p.typicalP, 0, 1)) return outOfRange("typical-p", p.typicalP, "0 to 1");
  if (p.topK < 0 || p.topK > kMaxTopK) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("top-k is {}; it takes 0 (off) to {}", p.topK, kMaxTopK)};
  }
  return {};
}

Result<void> checkPenalties(const SamplingParams& p) {
  if (!(p.repetitionPenalty > 0.0f && p.repetitionPenalty <= 10.0f)) {
    return outOfRange("repetition-penalty", p.repetitionPenalty, "values above 0 up to 10");
  }
  if (!isWithin(p.presencePenalty, -2, 2)) {
    return outOfRange("presence-penalty", p.presencePenalty, "-2 to 2");
  }
  if (!isWithin(p.frequencyPenalty, -2, 2)) {
    return outOfRange("frequency-penalty", p.frequencyPenalty, "-2 to 2");
  }
  return {};
}

Result<void> checkBias(const SamplingParams& p, std::int64_t vocabSize) {
  for (const auto& [id, bias] : p.logitBias) {
    if (id < 0 || (vocabSize > 0 && id >= vocabSize)) {
      return Error{ErrorCode::InvalidArgument,
                   vocabSize > 0
                       ? fmt::format("logit-bias names token {}; the vocabulary has ids 0 to {}",
                                     id, vocabSize - 1)
                       : fmt::format("logit-bias names token {}; ids start at 0", id)};
    }
    if (!std::isfinite(bias)) return outOfRange("logit-bias", bias, "finite numbers");
  }
  return {};
}

Result<void> checkCounts(const SamplingParams& p) {
  const auto tooSmall = [](const char* field, std::int64_t value, int least) {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("{} is {}; it takes a whole number of at least {}", field, value, least)};
  };
  if (p.maxTokens < 1) return tooSmall("max-tokens", p.maxTokens, 1);
  if (p.n < 1) return tooSmall("n", p.n, 1);
  if (p.bestOf != 0 && p.bestOf < p.n) return tooSmall("best-of", p.bestOf, p.n);
  if (p.beamWidth < 0) return tooSmall("beam-width", p.beamWidth, 0);
  if (p.topLogprobs < 0 || p.topLogprobs > kMaxTopLogprobs) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("logprobs is {}; it takes 0 to {}", p.topLogprobs, kMaxTopLogprobs)};
  }
  if (!std::isfinite(p.lengthPenalty)) {
    return outOfRange("length-penalty", p.lengthPenalty, "finite numbers");
  }
  return {};
}

}  // namespace

Result<void> checkSamplingParams(const SamplingParams& params, std::int64_t vocabSize) {
  TRY_VOID(checkDistribution(params));
  TRY_VOID(checkPenalties(params));
  TRY_VOID(checkCounts(params));
  TRY_VOID(checkBias(params, vocabSize));
  for (const std::string& stop : params.stop) {
    if (stop.empty())
      return Error{ErrorCode::InvalidArgument,
                   "a stop string is empty; it needs at least one character"};
  }
  return {};
}

}  // namespace engine
