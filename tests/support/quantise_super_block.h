// The blocks of 256 of quantise.h, and the rounding that all formats share.
#pragma once

#include <cstdint>

#include "kernels/core/dtype.h"

namespace test_support {

// Largest level of the non-linear 4-bit formats that exists with both signs.
inline constexpr float kNonLinearReach = 113.0f;

float largestMagnitude(const float* x, int count);

// Writes `scale` as f16 to out[0..1] and gives the value that a reader will see.
float storedScale(float scale, char* out);

// x / scale + zero, to the nearest code in [0, maxCode]; scale 0 gives `zero`.
std::uint8_t roundedCode(float x, float scale, int zero, int maxCode);

// The code of the level nearest to x / scale (IQ4_NL, IQ4_XS).
std::uint8_t nearestNonLinear(float x, float scale);

// 256 values into one block of Q2_K, Q3_K, Q4_K, Q5_K, Q6_K or IQ4_XS; `out` is zeroed.
void quantiseSuperBlock(kernels::DType type, const float* x, char* out);

}  // namespace test_support
