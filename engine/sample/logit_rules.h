// The stages that change single logits: bias and penalties. Pure.
#pragma once

#include <span>

#include "engine/api/sampling_params.h"
#include "engine/sample/token_history.h"

namespace engine::sample {

// Ids outside the row are left out.
void addLogitBias(const SamplingParams& params, std::span<float> logits);

// Repetition over prompt and output: divides positive logits, multiplies the others. Then frequency
// (times the count) and presence over the output alone.
void applyPenalties(const SamplingParams& params,
                    const TokenHistory& history,
                    std::span<float> logits);

bool hasPenalties(const SamplingParams& params);

}  // namespace engine::sample
