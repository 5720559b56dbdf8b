#include "kernels/reference/plain_math.h"

#include <cmath>

namespace kernels::reference {

float dot(const float* a, const float* b, std::size_t size) {
  constexpr std::size_t kSums = 16;
  float sums[kSums] = {};
  std::size_t i = 0;
  for (; i + kSums <= size; i += kSums) {
    for (std::size_t j = 0; j < kSums; ++j) sums[j] += a[i + j] * b[i + j];
  }
  for (; i < size; ++i) sums[i % kSums] += a[i] * b[i];
  float total = 0.0f;
  for (const float sum : sums) total += sum;
  return total;
}

void rmsNorm(const float* x, const std::vector<float>& weight, float eps, float* out) {
  double squares = 0.0;
  for (std::size_t i = 0; i < weight.size(); ++i) {
    squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  const double mean = squares / static_cast<double>(weight.size());
  const float factor = static_cast<float>(1.0 / std::sqrt(mean + static_cast<double>(eps)));
  for (std::size_t i = 0; i < weight.size(); ++i) out[i] = x[i] * factor * weight[i];
}

void rotate(
    const RopeSpec& rope, int headDim, const float* cosines, const float* sines, float* head) {
  // Halves pairs (i, i + half) of the rotated part; the rest of the head stays as it is.
  const std::size_t half = rope.inverseFrequencies.size();
  const bool isInterleaved = rope.pairing == RopePairing::Interleaved;
  if (2 * half > static_cast<std::size_t>(headDim)) return;
  for (std::size_t i = 0; i < half; ++i) {
    float& a = head[isInterleaved ? 2 * i : i];
    float& b = head[isInterleaved ? 2 * i + 1 : i + half];
    const float turnedA = a * cosines[i] - b * sines[i];
    b = a * sines[i] + b * cosines[i];
    a = turnedA;
  }
}

float activate(Activation activation, float gate) {
  if (activation == Activation::SiluGate) return gate / (1.0f + std::exp(-gate));
  constexpr float kRootTwoOverPi = 0.7978845608f;
  const float inner = kRootTwoOverPi * (gate + 0.044715f * gate * gate * gate);
  return 0.5f * gate * (1.0f + std::tanh(inner));
}

float softCap(float x, float cap) {
  return cap == 0.0f ? x : cap * std::tanh(x / cap);
}

}  // namespace kernels::reference
