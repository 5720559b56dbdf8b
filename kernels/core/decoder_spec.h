// One decoder family; what differs between llama, qwen and gemma is data here, never code elsewhere.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/core/weight_view.h"

namespace kernels {

enum class Activation : std::uint8_t { SiluGate, GeluTanhGate };
// Which elements of a head rotate together: (0,1),(2,3)... or (0,d/2),(1,d/2+1)...
enum class RopePairing : std::uint8_t { Interleaved, Halves };

// Any rope scaling (linear, yarn, llama-3 factors) comes down to these numbers.
struct RopeSpec {
  RopePairing pairing = RopePairing::Halves;
  std::vector<float> inverseFrequencies;  // [rotated dims / 2], radians per position
  float magnitude = 1.0f;                 // multiplies cos and sin (yarn)
};

struct LayerSpec {
  int rope = 0;    // index into DecoderSpec::ropes
  int window = 0;  // a query sees its own and the window-1 positions before it; 0 = all
};

struct DecoderSpec {
  int numLayers = 0, hidden = 0, numHeads = 0, numKvHeads = 0, headDim = 0, ffn = 0;
  std::int64_t vocabSize = 0;
  float normEps = 1e-5f;
  Activation activation = Activation::SiluGate;
  float embedScale = 1.0f;       // gemma: sqrt(hidden)
  float attentionScale = 0.0f;   // multiplies q.k
  float attentionSoftCap = 0.0f;  // 0 = off; cap * tanh(x / cap)
  float finalSoftCap = 0.0f;
  std::vector<RopeSpec> ropes;
  std::vector<LayerSpec> layers;  // [numLayers]
};

// Borrowed weights of one layer. Empty vectors and absent views mean "this family has none".
struct LayerWeights {
  WeightView q, k, v, attnOut, gate, up, down;
  std::vector<float> attnNorm, ffnNorm;          // [hidden]
  std::vector<float> postAttnNorm, postFfnNorm;  // [hidden], gemma
  std::vector<float> qNorm, kNorm;               // [headDim]
  std::vector<float> qBias, kBias, vBias;
};

struct DecoderWeights {
  WeightView embedding;  // [vocabSize, hidden]
  WeightView output;     // [vocabSize, hidden]; equals `embedding` when tied
  std::vector<float> outputNorm;
  std::vector<LayerWeights> layers;
};

}  // namespace kernels
