#include "kernels/cpu/pack_tile.h"

#include <array>
#include <cstring>

#include "kernels/cpu/pack_block.h"
#include "kernels/cpu/pack_pairs.h"

namespace kernels::cpu {

namespace {

constexpr std::size_t kStepBytes = kTileColumns * 4;  // one step of all columns

void store32(std::byte* p, std::uint32_t word) {
  std::memcpy(p, &word, sizeof word);
}

using Words = std::array<std::uint32_t, 8>;  // a group's codes, one word a step

Words wordsOf(const QuantGroup& group, const Column& column) {
  Words words;
  std::memcpy(words.data(), group.codes, kGroupSize);
  if (column.layout.codes == CodeLayout::NibbleTable) {
    std::array<std::uint8_t, kGroupSize> indices;
    for (std::size_t i = 0; i < kGroupSize; ++i) indices[i] = kLevelIndices[group.codes[i]];
    std::memcpy(words.data(), indices.data(), kGroupSize);
  }
  return words;
}

void storeNibbles(const Words& words, std::byte* out) {
  for (std::size_t s = 0; s < 4; ++s) {
    const std::uint32_t low = words[s] & 0x0F0F0F0Fu, high = words[s + 4] & 0x0F0F0F0Fu;
    store32(out + s * kStepBytes, low | (high << 4));
  }
}

// Bit `Bit` of every code.
template <int Bit>
void storeOneBits(const Words& words, std::byte* out) {
  std::uint32_t plane = 0;
  for (std::size_t s = 0; s < 8; ++s) plane |= ((words[s] >> Bit) & 0x01010101u) << s;
  store32(out, plane);
}

// Bits `Bit` and `Bit` + 1 of every code.
template <int Bit>
void storePairs(const Words& words, std::byte* out) {
  for (std::size_t p = 0; p < 2; ++p) {
    std::uint32_t plane = 0;
    for (std::size_t s = 0; s < 4; ++s) {
      plane |= ((words[4 * p + s] >> Bit) & 0x03030303u) << (2 * s);
    }
    store32(out + p * kStepBytes, plane);
  }
}

void storeCodes(const QuantGroup& group, const Column& column, std::byte* codes) {
  const Words words = wordsOf(group, column);
  std::byte* out = codes + 4 * column.index;
  if (column.layout.codes == CodeLayout::Byte) {
    for (std::size_t s = 0; s < 8; ++s) store32(out + s * kStepBytes, words[s]);
    return;
  }
  if (column.layout.codes == CodeLayout::Two || column.layout.codes == CodeLayout::Three) {
    storePairs<0>(words, out);
    if (column.layout.codes == CodeLayout::Three) storeOneBits<2>(words, out + 2 * kStepBytes);
    return;
  }
  storeNibbles(words, out);
  if (column.layout.codes == CodeLayout::Five) storeOneBits<4>(words, out + 4 * kStepBytes);
  if (column.layout.codes == CodeLayout::Six) storePairs<4>(words, out + 4 * kStepBytes);
}

// One block of one row, into the place of that block of all rows.
void packBlock(DType type,
               const std::byte* block,
               const BlockShape& shape,
               const Column& column,
               std::byte* out) {
  std::byte* groupOut = out + shape.header;
  QuantGroup group;
  for (int g = 0; g < shape.numGroups; ++g, groupOut += shape.group) {
    decodeGroup(type, block, g, group);
    if (column.layout.order == CodeOrder::ByPair) {
      storePairCodes(group, column, groupOut);
    } else {
      storeCodes(group, column, groupOut);
    }
    storeScales(group, g, column, shape, out, groupOut);
  }
}

// Block by block, so that the tile is written from its beginning to its end.
void packBlocks(const WeightView& source,
                TileLayout layout,
                const std::byte* rows,
                int numRows,
                std::byte* out) {
  const DTypeInfo& info = dtypeInfo(source.type);
  const BlockShape shape(source.type, layout);
  const std::size_t stride = rowBytes(source.type, source.cols);
  Column column{layout, 0};
  for (std::int64_t k = 0; k < source.cols; k += info.elementsPerBlock) {
    for (column.index = 0; column.index < static_cast<std::size_t>(numRows); ++column.index) {
      const std::byte* block = rows + column.index * stride;
      __builtin_prefetch(block + kPackPrefetchBytes);
      packBlock(source.type, block, shape, column, out);
    }
    rows += info.bytesPerBlock;
    out += shape.bytes();
  }
}

void packFloatColumn(const WeightView& source,
                     const std::byte* row,
                     std::size_t column,
                     std::byte* out) {
  const auto size = static_cast<std::size_t>(dtypeInfo(source.type).bytesPerBlock);
  for (std::size_t k = 0; k < static_cast<std::size_t>(source.cols); ++k) {
    std::memcpy(out + (k * kTileColumns + column) * size, row + k * size, size);
  }
}

}  // namespace

float packTile(const WeightView& source,
               TileLayout layout,
               std::int64_t firstRow,
               int numRows,
               std::byte* out) {
  const std::size_t stride = rowBytes(source.type, source.cols);
  const std::byte* rows = source.data + static_cast<std::size_t>(firstRow) * stride;
  const auto numGroups = static_cast<int>((source.cols + kGroupSize - 1) / kGroupSize);
  if (numRows < kTileColumns ||
      source.cols % kGroupSize != 0) {  // else every byte is written below
    std::memset(out, 0, tileBytes(layout, numGroups));
  }
  if (!isPlainFloat(layout)) {
    if (layout.codes == CodeLayout::BF16) return packBf16Pairs(source, rows, numRows, out);
    packBlocks(source, layout, rows, numRows, out);
    return layout.order == CodeOrder::ByPair ? finishPairScales(layout, numGroups, out) : 1.0f;
  }
  for (std::size_t c = 0; c < static_cast<std::size_t>(numRows); ++c) {
    packFloatColumn(source, rows + c * stride, c, out);
  }
  return 1.0f;
}

}  // namespace kernels::cpu
