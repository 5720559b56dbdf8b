// One decoder for every block format: any 32 weights of a row come down to small codes and few
// scales.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/core/dtype.h"

namespace kernels {

inline constexpr int kGroupSize = 32;

// The 16 levels of IQ4_NL and IQ4_XS, plus 128 so that they are unsigned codes with zero point 128.
inline constexpr std::uint8_t kNonLinearCodes[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                                     129, 141, 153, 166, 181, 197, 217, 241};

// 32 consecutive weights; h = i / 16 picks the half:
//   x[i] = (scale * subScale[h]) * (codes[i] - zero)  [ - minScale * subMin[h]  when hasMin ]
// each operation rounded to f32 in this order: that is the formats' definition, bit for bit.
struct QuantGroup {
  std::uint8_t codes[kGroupSize];
  int zero = 0;
  bool hasMin = false;
  std::uint16_t scaleBits = 0, minBits = 0;  // f16, as the file has them
  float scale = 0.0f, minScale = 0.0f;       // their values
  int subScale[2] = {1, 1}, subMin[2] = {0, 0};
};

// True for the 12 block formats, false for F32, F16 and BF16.
bool isQuantized(DType type);

// Group `group` of the block at `block`: 0 for blocks of 32, 0..7 for blocks of 256.
void decodeGroup(DType type, const std::byte* block, int group, QuantGroup& out);

}  // namespace kernels
