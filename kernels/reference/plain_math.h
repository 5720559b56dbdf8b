// The few loops of a decoder, as a textbook has them.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/core/decoder_spec.h"

namespace kernels::reference {

// Sum of a[i] * b[i] in f32: 16 running sums over i % 16, then those in order.
float dot(const float* a, const float* b, std::size_t size);

// out = x / sqrt(mean(x^2) + eps) * weight; out may be x.
void rmsNorm(const float* x, const std::vector<float>& weight, float eps, float* out);

// Rotates one head in place; cosines, sines from ropeAngles().
void rotate(
    const RopeSpec& rope, int headDim, const float* cosines, const float* sines, float* head);

float activate(Activation activation, float gate);

// cap * tanh(x / cap); x when cap is 0.
float softCap(float x, float cap);

}  // namespace kernels::reference
