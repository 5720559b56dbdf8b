#include "kernels/cpu/pack_pairs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/core/float_bits.h"
#include "kernels/cpu/quantized_group.h"
#include "kernels/cpu/tile_traits.h"

namespace kernels::cpu {

namespace {

constexpr int kLineBytes = 64, kNumPairs = kGroupSize / 2;
constexpr int kLargestExponent = 15;  // of f16
constexpr std::uint16_t kHalfInfinity = 0x7C00;

// Bits [First, First + Count) of a column's codes: in each line, so many bits of 16 / Count pairs.
template <int First, int Count>
void storeLines(const std::uint8_t* codes, std::size_t column, std::byte* plane) {
  constexpr int kPairs = 16 / Count;
  constexpr std::uint32_t kMask = ((1u << Count) - 1) * 0x10001u;
  std::byte* out = plane + column / 16 * (Count * kLineBytes) + column % 16 * 4;
  for (int line = 0; line < Count; ++line, out += kLineBytes) {
    std::uint32_t lanes = 0;
    for (int i = 0; i < kPairs; ++i, codes += 2) {
      const std::uint32_t both = codes[0] | static_cast<std::uint32_t>(codes[1]) << 16;
      lanes |= ((both >> First) & kMask) << (Count * i);
    }
    std::memcpy(out, &lanes, sizeof lanes);
  }
}

// The largest of f16 numbers whatever their sign, as its bits.
std::uint16_t largestHalf(const std::byte* halves) {
  std::uint16_t largest = 0;
  for (int i = 0; i < kTileColumns; ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, halves + 2 * i, sizeof bits);
    largest = std::max(largest, static_cast<std::uint16_t>(bits & 0x7FFFu));
  }
  return largest;
}

// No sub-scale is larger.
float largestSubScale(ScaleLayout scales) {
  switch (scales) {
    case ScaleLayout::Super:
      return 32.0f;
    case ScaleLayout::SuperMin:
      return 63.0f;
    case ScaleLayout::Super16:
      return 128.0f;
    case ScaleLayout::Super16Min:
      return 15.0f;
    default:
      return 1.0f;
  }
}

float largestCode(CodeLayout codes) {
  const bool isSigned = codes == CodeLayout::Byte || codes == CodeLayout::NibbleTable;
  return isSigned ? 128.0f : 1.5f * levelsOf(codes);
}

// Calls use(where the f16 scales of a group or super-block are) from the first to the last.
template <typename Use>
void forScales(TileLayout layout, int numGroups, std::byte* tile, const Use& use) {
  const std::size_t header = superHeaderBytes(layout), codes = codeBytes(layout);
  const std::size_t group = codes + groupScaleBytes(layout);
  const int step = hasSuperBlocks(layout) ? kGroupsPerSuper : 1;
  const std::size_t bytes = header + static_cast<std::size_t>(step) * group;
  for (int g = 0; g < numGroups; g += step, tile += bytes) {
    use(hasSuperBlocks(layout) ? tile : tile + codes);
  }
}

struct Largest {
  std::uint16_t scale = 0, min = 0;  // bits of f16
};

Largest largestScales(TileLayout layout, int numGroups, std::byte* tile) {
  Largest largest;
  forScales(layout, numGroups, tile, [&](const std::byte* scales) {
    largest.scale = std::max(largest.scale, largestHalf(scales));
    if (hasMin(layout.scales)) largest.min = std::max(largest.min, largestHalf(scales + 64));
  });
  return largest;
}

// 2^e, so that no weight of the tile, nor what it is made of, exceeds f16.
float weightFactor(TileLayout layout, const Largest& largest) {
  const float sub = largestSubScale(layout.scales);
  const float bound =
      sub * (floatOfF16(largest.scale) * largestCode(layout.codes) + floatOfF16(largest.min));
  return bound > 0.0f ? std::ldexp(1.0f, kLargestExponent - 1 - std::ilogb(bound)) : 1.0f;
}

// The f16 scales (and minimums) of one group, of all columns.
void remakeScales(TileLayout layout, float factor, std::byte* scales) {
  std::uint16_t from[2][kTileColumns], to[2][kTileColumns];
  const bool withMin = hasMin(layout.scales);
  const std::size_t bytes = sizeof from / (withMin ? 1 : 2);
  std::memcpy(from, scales, bytes);
  for (std::size_t c = 0; c < kTileColumns; ++c) {
    const float scale = floatOfF16(from[0][c]) * (factor * levelsOf(layout.codes));
    to[0][pairSlot(c)] = f16OfFloat(scale);
    if (withMin) to[1][pairSlot(c)] = f16OfFloat(floatOfF16(from[1][c]) * factor - scale);
  }
  std::memcpy(scales, to, bytes);
}

}  // namespace

void storePairCodes(const QuantGroup& group, const Column& column, std::byte* codes) {
  std::uint8_t changed[kGroupSize];
  switch (column.layout.codes) {
    case CodeLayout::Nibble:
      return storeLines<0, 4>(group.codes, column.index, codes);
    case CodeLayout::NibbleTable:
      std::transform(group.codes, group.codes + kGroupSize, changed,
                     [](std::uint8_t code) { return kLevelIndices[code]; });
      return storeLines<0, 4>(changed, column.index, codes);
    case CodeLayout::Five:
      storeLines<0, 4>(group.codes, column.index, codes);
      return storeLines<4, 1>(group.codes, column.index, codes + 512);
    case CodeLayout::Six:
      storeLines<0, 4>(group.codes, column.index, codes);
      return storeLines<4, 2>(group.codes, column.index, codes + 512);
    case CodeLayout::Two:
      return storeLines<0, 2>(group.codes, column.index, codes);
    case CodeLayout::Three:
      storeLines<0, 2>(group.codes, column.index, codes);
      return storeLines<2, 1>(group.codes, column.index, codes + 256);
    case CodeLayout::Byte:
      std::transform(group.codes, group.codes + kGroupSize, changed,
                     [](std::uint8_t code) { return static_cast<std::uint8_t>(code ^ 0x80u); });
      return storeLines<0, 8>(changed, column.index, codes);
    default:
      return;
  }
}

float finishPairScales(TileLayout layout, int numGroups, std::byte* tile) {
  const Largest largest = largestScales(layout, numGroups, tile);
  if (std::max(largest.scale, largest.min) >= kHalfInfinity) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  const float factor = weightFactor(layout, largest);
  if (!hasSuperBlocks(layout)) {
    forScales(layout, numGroups, tile,
              [&](std::byte* scales) { remakeScales(layout, factor, scales); });
  }
  return kHalfOverBf16 / (kRoundedInputFactor * factor);
}

float packBf16Pairs(const WeightView& source, const std::byte* rows, int numRows, std::byte* out) {
  const std::size_t stride = rowBytes(source.type, source.cols);
  for (std::int64_t k = 0; k < source.cols; k += kGroupSize) {
    const auto left = static_cast<std::size_t>(std::min<std::int64_t>(kGroupSize, source.cols - k));
    for (std::size_t c = 0; c < static_cast<std::size_t>(numRows); ++c) {
      std::uint32_t pairs[kNumPairs] = {};
      std::memcpy(pairs, rows + c * stride, 2 * left);
      std::byte* to = out + c / 16 * (kNumPairs * kLineBytes) + c % 16 * 4;
      for (int p = 0; p < kNumPairs; ++p) std::memcpy(to + p * kLineBytes, pairs + p, 4);
    }
    rows += 2 * kGroupSize;
    out += kTileColumns * kGroupSize * 2;
  }
  return 1.0f / kRoundedInputFactor;
}

}  // namespace kernels::cpu
