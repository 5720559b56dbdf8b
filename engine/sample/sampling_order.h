// The order in which the sampler's stages act. The same parameters in another order give another
// distribution, so each engine's order is a named preset.
#pragma once

#include <cstdint>
#include <span>

namespace engine::sample {

enum class Stage : std::uint8_t {
  Mask,  // a grammar's forbidden tokens
  LogitBias,
  Penalties,  // repetition, then frequency, then presence
  Temperature,
  MinP,
  TopK,
  TypicalP,
  TopP,
};

enum class OrderPreset : std::uint8_t {
  Vllm,         // ours: bias, penalties, temperature, min-p, top-k, typical, top-p
  TensorRtLlm,  // penalties before the bias, else the same
  Sglang,       // min-p last, on the renormalised rest
  LlamaCpp,     // temperature last
};

std::span<const Stage> stagesOf(OrderPreset preset);
const char* stageName(Stage stage);  // "top-k"
const char* orderName(OrderPreset preset);

}  // namespace engine::sample
