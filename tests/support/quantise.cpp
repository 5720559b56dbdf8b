#include "tests/support/quantise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "engine/base/check.h"
#include "kernels/core/float_bits.h"
#include "tests/support/quantise_super_block.h"

namespace test_support {

namespace {

using kernels::DType;

void store16(char* out, std::uint16_t bits) {
  std::memcpy(out, &bits, sizeof bits);
}

void packNibbles(const std::uint8_t* codes, char* out) {
  for (int i = 0; i < 16; ++i) {
    out[i] = static_cast<char>((codes[i] & 15) | ((codes[i + 16] & 15) << 4));
  }
}

void packFifthBits(const std::uint8_t* codes, char* out) {
  std::uint32_t bits = 0;
  for (int i = 0; i < 32; ++i) bits |= static_cast<std::uint32_t>((codes[i] >> 4) & 1) << i;
  std::memcpy(out, &bits, sizeof bits);
}

// Q4_0, Q5_0: codes around a zero point in the middle.
void quantiseCentred(const float* x, int zero, bool hasFifthBit, char* out) {
  const float scale = storedScale(largestMagnitude(x, 32) / static_cast<float>(zero - 1), out);
  std::uint8_t codes[32];
  for (int i = 0; i < 32; ++i) codes[i] = roundedCode(x[i], scale, zero, 2 * zero - 1);
  if (hasFifthBit) packFifthBits(codes, out + 2);
  packNibbles(codes, out + (hasFifthBit ? 6 : 2));
}

// Q4_1, Q5_1: codes up from a stored minimum.
void quantiseFromMinimum(const float* x, int maxCode, bool hasFifthBit, char* out) {
  const auto [low, high] = std::minmax_element(x, x + 32);
  const float scale = storedScale((*high - *low) / static_cast<float>(maxCode), out);
  const float min = storedScale(*low, out + 2);
  std::uint8_t codes[32];
  for (int i = 0; i < 32; ++i) codes[i] = roundedCode(x[i] - min, scale, 0, maxCode);
  if (hasFifthBit) packFifthBits(codes, out + 4);
  packNibbles(codes, out + (hasFifthBit ? 8 : 4));
}

void quantiseQ8(const float* x, char* out) {
  const float scale = storedScale(largestMagnitude(x, 32) / 127.0f, out);
  for (int i = 0; i < 32; ++i) {
    out[2 + i] = static_cast<char>(static_cast<int>(roundedCode(x[i], scale, 128, 255)) - 128);
  }
}

void quantiseIq4Nl(const float* x, char* out) {
  const float scale = storedScale(largestMagnitude(x, 32) / kNonLinearReach, out);
  std::uint8_t codes[32];
  for (int i = 0; i < 32; ++i) codes[i] = nearestNonLinear(x[i], scale);
  packNibbles(codes, out + 2);
}

void quantiseBlock(DType type, const float* x, char* out) {
  switch (type) {
    case DType::F32:
      std::memcpy(out, x, sizeof(float));
      return;
    case DType::F16:
      store16(out, kernels::f16OfFloat(*x));
      return;
    case DType::BF16:
      store16(out, kernels::bf16OfFloat(*x));
      return;
    case DType::Q4_0:
      return quantiseCentred(x, 8, false, out);
    case DType::Q5_0:
      return quantiseCentred(x, 16, true, out);
    case DType::Q4_1:
      return quantiseFromMinimum(x, 15, false, out);
    case DType::Q5_1:
      return quantiseFromMinimum(x, 31, true, out);
    case DType::Q8_0:
      return quantiseQ8(x, out);
    case DType::IQ4_NL:
      return quantiseIq4Nl(x, out);
    default:
      return quantiseSuperBlock(type, x, out);
  }
}

}  // namespace

std::string quantiseRow(DType type, const float* values, std::int64_t cols) {
  const kernels::DTypeInfo& info = kernels::dtypeInfo(type);
  CHECK(cols % info.elementsPerBlock == 0);
  std::string row(kernels::rowBytes(type, cols), '\0');
  char* out = row.data();
  for (std::int64_t i = 0; i < cols; i += info.elementsPerBlock) {
    quantiseBlock(type, values + i, out);
    out += info.bytesPerBlock;
  }
  return row;
}

}  // namespace test_support
