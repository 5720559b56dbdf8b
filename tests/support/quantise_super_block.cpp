#include "tests/support/quantise_super_block.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "engine/base/check.h"
#include "kernels/core/float_bits.h"

namespace test_support {

namespace {

using kernels::DType;

constexpr int kBlock = 256;
constexpr std::array<int, 16> kNonLinearLevels = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                  1,    13,   25,  38,  53,  69,  89,  113};

// A block's codes with the small integer scales of its parts.
struct SuperBlock {
  std::array<std::uint8_t, kBlock> codes = {};
  std::array<int, 16> scales = {}, mins = {};
};

// Parts of `partSize`: x = scale * subScale * code - min * subMin.
SuperBlock splitWithMinimum(
    const float* x, int partSize, int maxCode, int maxSub, char* scaleOut, char* minOut) {
  const int numParts = kBlock / partSize;
  std::array<float, 16> scales = {}, mins = {};
  for (int part = 0; part < numParts; ++part) {
    const auto [low, high] = std::minmax_element(x + part * partSize, x + (part + 1) * partSize);
    mins[part] = std::max(0.0f, -*low);
    scales[part] = std::max(0.0f, *high + mins[part]) / static_cast<float>(maxCode);
  }
  const float steps = static_cast<float>(maxSub);
  const float scale = storedScale(*std::ranges::max_element(scales) / steps, scaleOut);
  const float min = storedScale(*std::ranges::max_element(mins) / steps, minOut);
  SuperBlock out;
  for (int part = 0; part < numParts; ++part) {
    out.scales[part] = roundedCode(scales[part], scale, 0, maxSub);
    out.mins[part] = roundedCode(mins[part], min, 0, maxSub);
    const float partScale = scale * static_cast<float>(out.scales[part]);
    const float partMin = min * static_cast<float>(out.mins[part]);
    for (int i = part * partSize; i < (part + 1) * partSize; ++i) {
      out.codes[i] = roundedCode(x[i] + partMin, partScale, 0, maxCode);
    }
  }
  return out;
}

// Parts of `partSize` around a zero point. `reach`: the largest level with both signs.
template <typename ToCode>
SuperBlock splitCentred(
    const float* x, int partSize, float reach, int maxSub, char* scaleOut, ToCode toCode) {
  const int numParts = kBlock / partSize;
  std::array<float, 16> scales = {};
  for (int part = 0; part < numParts; ++part) {
    scales[part] = largestMagnitude(x + part * partSize, partSize) / reach;
  }
  const float scale =
      storedScale(*std::ranges::max_element(scales) / static_cast<float>(maxSub), scaleOut);
  SuperBlock out;
  for (int part = 0; part < numParts; ++part) {
    out.scales[part] = roundedCode(scales[part], scale, 0, maxSub);
    const float partScale = scale * static_cast<float>(out.scales[part]);
    for (int i = part * partSize; i < (part + 1) * partSize; ++i) {
      out.codes[i] = toCode(x[i], partScale);
    }
  }
  return out;
}

// ORs `value` into a byte of the block.
void put(char* byte, int value) {
  *byte = static_cast<char>(static_cast<unsigned char>(*byte) | value);
}

// scales[16] qs[64] d dmin
void quantiseQ2K(const float* x, char* out) {
  const SuperBlock block = splitWithMinimum(x, 16, 3, 15, out + 80, out + 82);
  for (int part = 0; part < 16; ++part) put(out + part, block.scales[part] | block.mins[part] << 4);
  for (int i = 0; i < kBlock; ++i) {
    put(out + 16 + 32 * (i / 128) + i % 32, block.codes[i] << (2 * (i / 32 % 4)));
  }
}

// hmask[32] qs[64] scales[12] d; scales are stored plus 32
void quantiseQ3K(const float* x, char* out) {
  const SuperBlock block = splitCentred(
      x, 16, 3.0f, 31, out + 108, [](float v, float scale) { return roundedCode(v, scale, 4, 7); });
  for (int part = 0; part < 16; ++part) {
    const int scale = block.scales[part] + 32;
    put(out + 96 + part % 8, (scale & 15) << (part < 8 ? 0 : 4));
    put(out + 104 + part % 4, (scale >> 4) << (2 * (part / 4)));
  }
  for (int i = 0; i < kBlock; ++i) {
    put(out + i % 32, (block.codes[i] >> 2) << (i / 32));
    put(out + 32 + 32 * (i / 128) + i % 32, (block.codes[i] & 3) << (2 * (i / 32 % 4)));
  }
}

// d dmin scales[12] [qh[32]] qs[128]
void quantiseQ45K(const float* x, bool hasFifthBit, char* out) {
  const SuperBlock block = splitWithMinimum(x, 32, hasFifthBit ? 31 : 15, 63, out, out + 2);
  char* packed = out + 4;
  for (int group = 0; group < 4; ++group) {
    put(packed + group, block.scales[group]);
    put(packed + group + 4, block.mins[group]);
  }
  for (int group = 4; group < 8; ++group) {
    put(packed + group + 4, (block.scales[group] & 15) | (block.mins[group] & 15) << 4);
    put(packed + group - 4, (block.scales[group] >> 4) << 6);
    put(packed + group, (block.mins[group] >> 4) << 6);
  }
  char* codes = out + (hasFifthBit ? 48 : 16);
  for (int i = 0; i < kBlock; ++i) {
    put(codes + 32 * (i / 64) + i % 32, (block.codes[i] & 15) << (4 * (i / 32 % 2)));
    if (hasFifthBit) put(out + 16 + i % 32, (block.codes[i] >> 4) << (i / 32));
  }
}

// ql[128] qh[64] scales[16] d
void quantiseQ6K(const float* x, char* out) {
  const SuperBlock block = splitCentred(x, 16, 31.0f, 127, out + 208, [](float v, float scale) {
    return roundedCode(v, scale, 32, 63);
  });
  for (int part = 0; part < 16; ++part) put(out + 192 + part, block.scales[part]);
  for (int i = 0; i < kBlock; ++i) {
    const int quarter = i / 32 % 4;
    put(out + 64 * (i / 128) + 32 * (quarter % 2) + i % 32, (block.codes[i] & 15)
                                                                << (quarter < 2 ? 0 : 4));
    put(out + 128 + 32 * (i / 128) + i % 32, (block.codes[i] >> 4) << (2 * quarter));
  }
}

// d scales_h(16 bits) scales_l[4] qs[128]; scales are stored plus 32
void quantiseIq4Xs(const float* x, char* out) {
  const SuperBlock block = splitCentred(x, 32, kNonLinearReach, 31, out, nearestNonLinear);
  for (int group = 0; group < 8; ++group) {
    const int scale = block.scales[group] + 32;
    put(out + 4 + group / 2, (scale & 15) << (4 * (group % 2)));
    put(out + 2 + group / 4, (scale >> 4) << (2 * (group % 4)));
  }
  for (int i = 0; i < kBlock; ++i) {
    put(out + 8 + 16 * (i / 32) + i % 16, block.codes[i] << (i % 32 < 16 ? 0 : 4));
  }
}

}  // namespace

float largestMagnitude(const float* x, int count) {
  float largest = 0.0f;
  for (int i = 0; i < count; ++i) largest = std::max(largest, std::fabs(x[i]));
  return largest;
}

float storedScale(float scale, char* out) {
  const std::uint16_t bits = kernels::f16OfFloat(scale);
  std::memcpy(out, &bits, sizeof bits);
  return kernels::floatOfF16(bits);
}

std::uint8_t roundedCode(float x, float scale, int zero, int maxCode) {
  if (scale == 0.0f) return static_cast<std::uint8_t>(zero);
  const float code = std::nearbyint(x / scale) + static_cast<float>(zero);
  return static_cast<std::uint8_t>(std::clamp(code, 0.0f, static_cast<float>(maxCode)));
}

std::uint8_t nearestNonLinear(float x, float scale) {
  const float level = scale == 0.0f ? 0.0f : x / scale;
  const auto distance = [level](int candidate) {
    return std::fabs(level - static_cast<float>(candidate));
  };
  const auto nearest = std::ranges::min_element(kNonLinearLevels, {}, distance);
  return static_cast<std::uint8_t>(nearest - kNonLinearLevels.begin());
}

void quantiseSuperBlock(DType type, const float* x, char* out) {
  switch (type) {
    case DType::Q2_K:
      return quantiseQ2K(x, out);
    case DType::Q3_K:
      return quantiseQ3K(x, out);
    case DType::Q4_K:
      return quantiseQ45K(x, false, out);
    case DType::Q5_K:
      return quantiseQ45K(x, true, out);
    case DType::Q6_K:
      return quantiseQ6K(x, out);
    case DType::IQ4_XS:
      return quantiseIq4Xs(x, out);
    default:
      CHECK(false);
  }
}

}  // namespace test_support
