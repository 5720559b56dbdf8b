#include "kernels/cpu/pack_tile.h"

#include <array>
#include <cstring>

#include "kernels/core/quant_group.h"

namespace kernels::cpu {

namespace {

constexpr std::size_t kStepBytes = kTileColumns * 4;  // one step of all columns

// The rows of a tile are read side by side, more streams than the processor itself sees ahead in.
constexpr std::size_t kPrefetchBytes = 512;

// What packing one column needs to know of its tile.
struct Column {
  TileLayout layout;
  std::size_t index;  // 0..31
};

void store32(std::byte* p, std::uint32_t word) {
  std::memcpy(p, &word, sizeof word);
}

void store16(std::byte* p, std::uint16_t half) {
  std::memcpy(p, &half, sizeof half);
}

// Level to index of IQ4's table.
constexpr std::array<std::uint8_t, 256> makeLevelIndices() {
  std::array<std::uint8_t, 256> indices{};
  for (std::uint8_t i = 0; i < 16; ++i) indices[kNonLinearCodes[i]] = i;
  return indices;
}

constexpr std::array<std::uint8_t, 256> kLevelIndices = makeLevelIndices();

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

// The minimum as it is added: a format that subtracts it (subMin >= 0) gets the sign turned.
std::uint16_t addedMinBits(const QuantGroup& group) {
  const bool isAdded = group.subMin[0] < 0;
  return isAdded ? group.minBits : static_cast<std::uint16_t>(group.minBits ^ 0x8000u);
}

void storeGroupScales(const QuantGroup& group, const Column& column, std::byte* scales) {
  store16(scales + 2 * column.index, group.scaleBits);
  if (column.layout.scales == ScaleLayout::HalfMin) {
    store16(scales + 64 + 2 * column.index, addedMinBits(group));
  }
}

// header: see ScaleLayout; `g` is the group's number in its super-block.
void storeSuperScales(const QuantGroup& group, int g, const Column& column, std::byte* header) {
  const ScaleLayout scales = column.layout.scales;
  const bool hasMin = scales == ScaleLayout::SuperMin || scales == ScaleLayout::Super16Min;
  const bool hasHalves = scales == ScaleLayout::Super16 || scales == ScaleLayout::Super16Min;
  const std::size_t numHalves = hasHalves ? 2 : 1;
  if (g == 0) {
    store16(header + 2 * column.index, group.scaleBits);
    if (hasMin) store16(header + 64 + 2 * column.index, addedMinBits(group));
  }
  std::byte* subScales = header + (hasMin ? 128 : 64);
  std::byte* subMins = subScales + numHalves * kGroupsPerSuper * kTileColumns;
  for (std::size_t h = 0; h < numHalves; ++h) {
    const std::size_t at =
        (static_cast<std::size_t>(g) * numHalves + h) * kTileColumns + column.index;
    if (scales == ScaleLayout::Super16Min) {
      subScales[at] = static_cast<std::byte>(group.subScale[h] | (group.subMin[h] << 4));
      continue;
    }
    subScales[at] = static_cast<std::byte>(group.subScale[h]);
    if (hasMin) subMins[at] = static_cast<std::byte>(group.subMin[h]);
  }
}

// The sizes of a tile's pieces, looked up once.
struct BlockShape {
  explicit BlockShape(DType type)
      : numGroups(dtypeInfo(type).elementsPerBlock / kGroupSize),
        header(superHeaderBytes(tileLayoutOf(type))),
        codes(codeBytes(tileLayoutOf(type))),
        group(codes + groupScaleBytes(tileLayoutOf(type))) {}

  std::size_t bytes() const { return header + static_cast<std::size_t>(numGroups) * group; }

  int numGroups;                     // of one block
  std::size_t header, codes, group;  // bytes; of a group: with its scales
};

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
    storeCodes(group, column, groupOut);
    if (shape.header > 0) {
      storeSuperScales(group, g, column, out);
    } else {
      storeGroupScales(group, column, groupOut + shape.codes);
    }
  }
}

// Block by block, so that the tile is written from its beginning to its end.
void packQuantizedRows(const WeightView& source,
                       const std::byte* rows,
                       int numRows,
                       std::byte* out) {
  const DTypeInfo& info = dtypeInfo(source.type);
  const BlockShape shape(source.type);
  const std::size_t stride = rowBytes(source.type, source.cols);
  Column column{tileLayoutOf(source.type), 0};
  for (std::int64_t k = 0; k < source.cols; k += info.elementsPerBlock) {
    for (column.index = 0; column.index < static_cast<std::size_t>(numRows); ++column.index) {
      const std::byte* block = rows + column.index * stride;
      __builtin_prefetch(block + kPrefetchBytes);
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

void packTile(const WeightView& source, std::int64_t firstRow, int numRows, std::byte* out) {
  const TileLayout layout = tileLayoutOf(source.type);
  const std::size_t stride = rowBytes(source.type, source.cols);
  const std::byte* rows = source.data + static_cast<std::size_t>(firstRow) * stride;
  if (numRows < kTileColumns ||
      source.cols % kGroupSize != 0) {  // else every byte is written below
    const auto numGroups = static_cast<int>((source.cols + kGroupSize - 1) / kGroupSize);
    std::memset(out, 0, tileBytes(layout, numGroups));
  }
  if (!isPlainFloat(layout)) return packQuantizedRows(source, rows, numRows, out);
  for (std::size_t c = 0; c < static_cast<std::size_t>(numRows); ++c) {
    packFloatColumn(source, rows + c * stride, c, out);
  }
}

}  // namespace kernels::cpu
