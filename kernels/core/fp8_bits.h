// Conversions between float and FP8 E4M3: 4 bits of exponent (bias 7), 3 of fraction, no infinity.
#pragma once

#include <bit>
#include <cstdint>

namespace kernels {

inline constexpr float kFp8Max = 448.0f;

// `static`, not merely inline: files built for different instruction sets each keep their own copy.

// Nearest, ties to even; beyond 448, infinity included, becomes 448 of that sign; NaN stays NaN.
static inline std::uint8_t fp8OfFloat(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 24) & 0x80u;
  std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return static_cast<std::uint8_t>(sign | 0x7Fu);
  if (magnitude > 0x43E00000u) magnitude = 0x43E00000u;  // 448
  if (magnitude < 0x3C800000u) {  // below 2^-6: adding 2^14 leaves the count of 2^-9 in the low bits
    const float shifted = std::bit_cast<float>(magnitude) + 0x1p14f;
    return static_cast<std::uint8_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x46800000u));
  }
  const std::uint32_t rounded = magnitude + 0x7FFFFu + ((magnitude >> 20) & 1u);
  return static_cast<std::uint8_t>(sign | ((rounded - 0x3C000000u) >> 20));
}

static inline float floatOfFp8(std::uint8_t code) {
  const std::uint32_t sign = static_cast<std::uint32_t>(code & 0x80u) << 24;
  const std::uint32_t exponent = (code >> 3) & 15u, fraction = code & 7u;
  if ((code & 0x7Fu) == 0x7Fu) return std::bit_cast<float>(sign | 0x7FC00000u);
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-9
    const float magnitude = static_cast<float>(fraction) * 0x1p-9f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  return std::bit_cast<float>(sign | ((exponent + 120u) << 23) | (fraction << 20));
}

}  // namespace kernels
