// 32 activations as the matrix kernels read them: one cache line. Plain data, no functions, so that
// files built for any instruction set may include it.
#pragma once

#include <cstdint>

namespace kernels::cpu {

// x[i] ~ scale * values[i], |values[i]| <= 127. Everything a kernel needs beside the values is
// worked out once here instead of once a tile: `start*` are what the integer sums begin with, so
// that codes with zero point z need no further correction.
//
// Integer sums are turned into floats by their bits: kSumBias + n, read as a float, is
// 1.5 * 2^23 + n, and fma(that, scale, shift) is exactly round(n * scale). It takes |n| < 2^22 and
// a scale of at most 22 significant bits, so that shift = -1.5 * 2^23 * scale is exact.
//
// scale = amax / 127, rounded up to 22 bits; values = round(x * (1 / scale)), ties to even. A group
// below 2^-100 is zero. A group with an infinity, a NaN or beyond 2^100 has scale NaN: what its row
// gives is NaN, visibly, and no other row notices.
struct alignas(64) QuantizedGroup {
  std::int8_t values[32];
  float scale, shift;
  float scaledSum;          // scale * sum of values, for formats with a minimum
  std::int32_t start8;      // kSumBias - 8 * sum
  std::int32_t start16;     // kSumBias - 16 * sum
  std::int32_t start128;    // kSumBias - 128 * sum
  std::int32_t start32[2];  // kSumBias - 32 * sum of the first and of the last 16 values
};

static_assert(sizeof(QuantizedGroup) == 64);

// Rows of bf16 hold values times this: tile registers take a product below 2^-126 for zero, and
// weights read 2^-112 of themselves there (pair_codes.h). Values of 2^63 and beyond are infinite.
inline constexpr float kRoundedInputFactor = 0x1p64f;

inline constexpr std::int32_t kSumBias = 0x4B400000;  // the bits of 1.5 * 2^23
inline constexpr float kSumBiasValue = 12582912.0f;
inline constexpr std::uint32_t kMinAmaxBits = 0x0D800000;  // 2^-100
inline constexpr std::uint32_t kMaxAmaxBits = 0x71800000;  // 2^100

}  // namespace kernels::cpu
