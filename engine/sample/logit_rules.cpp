#include "engine/sample/logit_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace engine::sample {

namespace {

bool isInRow(TokenId id, std::span<const float> logits) {
  return id >= 0 && static_cast<std::size_t>(id) < logits.size();
}

// A masked token stays masked; a logit pushed out of float range stays the largest or the smallest.
void store(float& logit, float changed) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  if (std::isfinite(logit)) logit = std::clamp(changed, -kLargest, kLargest);
}

}  // namespace

bool hasPenalties(const SamplingParams& params) {
  return params.repetitionPenalty != 1.0f || params.presencePenalty != 0.0f ||
         params.frequencyPenalty != 0.0f;
}

void addLogitBias(const SamplingParams& params, std::span<float> logits) {
  for (const auto& [id, bias] : params.logitBias) {
    if (!isInRow(id, logits)) continue;
    float& logit = logits[static_cast<std::size_t>(id)];
    store(logit, logit + bias);
  }
}

void applyPenalties(const SamplingParams& params,
                    const TokenHistory& history,
                    std::span<float> logits) {
  for (const auto& [id, use] : history.uses()) {
    if (!isInRow(id, logits)) continue;
    float& logit = logits[static_cast<std::size_t>(id)];
    const float repetition = params.repetitionPenalty;
    store(logit, logit > 0.0f ? logit / repetition : logit * repetition);
    if (use.outputCount == 0) continue;
    store(logit, logit - params.frequencyPenalty * static_cast<float>(use.outputCount));
    store(logit, logit - params.presencePenalty);
  }
}

}  // namespace engine::sample
