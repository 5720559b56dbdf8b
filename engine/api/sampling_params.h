// What a request asks of the sampler. Ranges as in the command-line contract; checkSamplingParams
// turns a value outside them into one sentence that names the field, the value and the limits.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/result.h"

namespace engine {

// The greatest values that the check below takes.
inline constexpr std::int64_t kMaxTopK = (std::int64_t{1} << 31) - 1;
inline constexpr int kMaxTopLogprobs = 1000;
inline constexpr int kMaxChoices = 1024;
inline constexpr int kMaxBeamWidth = 256;

struct SamplingParams {
  float temperature = 0.0f;        // 0..2; 0 is argmax, ties to the lowest id
  std::int64_t topK = 0;           // 0 = off
  float topP = 1.0f;               // 0..1; 0 keeps one token
  float minP = 0.0f;               // 0..1
  float typicalP = 1.0f;           // 0..1; 1 = off
  float repetitionPenalty = 1.0f;  // (0, 10]; over prompt and output
  float presencePenalty = 0.0f;    // -2..2; over output
  float frequencyPenalty = 0.0f;   // -2..2; over output
  std::vector<std::pair<TokenId, float>> logitBias;
  std::vector<std::string> stop;  // none may be empty
  bool ignoreEos = false;
  std::uint64_t seed = 0;
  std::int64_t maxTokens = 128;  // >= 1
  int topLogprobs = 0;           // how many alternatives to report beside the sampled one
  // Answers to tell. Sample i draws with (seed, i, position): the first is what n = 1 gives.
  int n = 1;
  int bestOf = 0;  // samples of which the n with the largest sum of logprobs are told; 0 = n
  // Beams; 0 = no beam search. All of them are told, best first, or the n best where n is above 1.
  int beamWidth = 0;
  float lengthPenalty = 1.0f;  // beams rank by sum of logprobs / (prompt + output tokens)^this
  bool earlyStopping = false;  // end beam search as soon as beamWidth answers are complete

  friend bool operator==(const SamplingParams&, const SamplingParams&) = default;
};

// vocabSize bounds the bias ids; pass 0 when no model is known yet (ids are then unchecked above).
Result<void> checkSamplingParams(const SamplingParams& params, std::int64_t vocabSize);

}  // namespace engine
