#include "engine/api/sampling_params.h"

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace engine {

namespace {

// What a bias and the length penalty may be: any number but NaN and the infinities.
std::string anyFloat() {
  return fmt::format("{} to {}", std::numeric_limits<float>::lowest(),
                     std::numeric_limits<float>::max());
}

Error outOfRange(const char* field, float value, std::string_view limits) {
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
    if (std::isfinite(bias)) continue;
    return Error{ErrorCode::InvalidArgument, fmt::format("logit-bias of token {} is {}; it takes {}",
                                                         id, bias, anyFloat())};
  }
  return {};
}

Result<void> checkCounts(const SamplingParams& p) {
  if (p.maxTokens < 1) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("max-tokens is {}; it takes 1 to {}", p.maxTokens,
                             std::numeric_limits<std::int64_t>::max())};
  }
  if (p.topLogprobs < 0 || p.topLogprobs > kMaxTopLogprobs) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("logprobs is {}; it takes 0 to {}", p.topLogprobs, kMaxTopLogprobs)};
  }
  return {};
}

Error wrong(std::string message) {
  return {ErrorCode::InvalidArgument, std::move(message)};
}

// Beam search draws nothing: what shapes a draw would be ignored.
Result<void> checkBeams(const SamplingParams& p) {
  if (p.beamWidth < 0 || p.beamWidth > kMaxBeamWidth) {
    return wrong(
        fmt::format("beam-width is {}; it takes 0 (off) to {}", p.beamWidth, kMaxBeamWidth));
  }
  if (!std::isfinite(p.lengthPenalty)) {
    return outOfRange("length-penalty", p.lengthPenalty, anyFloat());
  }
  if (p.beamWidth == 0) {
    if (p.lengthPenalty != 1.0f) return wrong("length-penalty needs beam-width above 0");
    if (p.earlyStopping) return wrong("early-stopping needs beam-width above 0");
    return {};
  }
  if (p.n > p.beamWidth) {
    return wrong(fmt::format("n is {}; beam search of width {} has at most {} answers", p.n,
                             p.beamWidth, p.beamWidth));
  }
  if (p.bestOf > 0) return wrong("best-of and beam-width cannot go together");
  if (p.temperature != 0.0f || p.topK != 0 || p.topP != 1.0f || p.minP != 0.0f ||
      p.typicalP != 1.0f) {
    return wrong(
        "beam-width needs temperature 0 and no top-k, top-p, min-p or typical-p: beam search "
        "draws nothing");
  }
  return {};
}

Result<void> checkChoices(const SamplingParams& p) {
  if (p.n < 1 || p.n > kMaxChoices) {
    return wrong(fmt::format("n is {}; it takes 1 to {}", p.n, kMaxChoices));
  }
  if (p.bestOf != 0 && (p.bestOf < p.n || p.bestOf > kMaxChoices)) {
    return wrong(fmt::format("best-of is {}; it takes n ({}) to {}", p.bestOf, p.n, kMaxChoices));
  }
  return checkBeams(p);
}

}  // namespace

Result<void> checkSamplingParams(const SamplingParams& params, std::int64_t vocabSize) {
  TRY_VOID(checkDistribution(params));
  TRY_VOID(checkPenalties(params));
  TRY_VOID(checkCounts(params));
  TRY_VOID(checkChoices(params));
  TRY_VOID(checkBias(params, vocabSize));
  for (const std::string& stop : params.stop) {
    if (stop.empty())
      return Error{ErrorCode::InvalidArgument,
                   "a stop string is empty; it needs at least one character"};
  }
  return {};
}

}  // namespace engine
