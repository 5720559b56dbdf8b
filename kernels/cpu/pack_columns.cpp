// Packing in CodeOrder::ByColumn: 16-bit lanes are weights, in which several columns have their
// bits.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/pack_block.h"
#include "kernels/cpu/pack_tile.h"

namespace kernels::cpu {

namespace {

constexpr int kLineBytes = 2 * kGroupSize;  // of a line

using GroupCodes = std::uint8_t[kTileColumns][kGroupSize];

// Bits [First, First + Count) of every code, in lines of 16 / Count columns.
template <int First, int Count>
void storeLines(const GroupCodes& codes, std::byte* out) {
  constexpr int kColumns = 16 / Count, kMask = (1 << Count) - 1;
  for (int column = 0; column < kTileColumns; column += kColumns, out += kLineBytes) {
    std::uint16_t lanes[kGroupSize] = {};
    for (int c = 0; c < kColumns; ++c) {
      const std::uint8_t* from = codes[column + c];
      for (int i = 0; i < kGroupSize; ++i) {
        const int bits = (from[i] >> First) & kMask;
        lanes[i] = static_cast<std::uint16_t>(lanes[i] | bits << (Count * c));
      }
    }
    std::memcpy(out, lanes, sizeof lanes);
  }
}

// Bit 4 of every code, a word for each column.
void storeFifthBits(const GroupCodes& codes, std::byte* out) {
  for (const auto& column : codes) {
    std::uint32_t word = 0;
    for (int i = 0; i < kGroupSize; ++i) word |= ((column[i] >> 4) & 1u) << i;
    std::memcpy(out, &word, sizeof word);
    out += sizeof word;
  }
}

void storeBytes(const GroupCodes& codes, std::byte* out) {
  for (const auto& column : codes) {
    for (int i = 0; i < kGroupSize / 2; ++i) {
      out[i] = static_cast<std::byte>(column[2 * i] ^ 0x80);
      out[i + kGroupSize / 2] = static_cast<std::byte>(column[2 * i + 1] ^ 0x80);
    }
    out += kGroupSize;
  }
}

void storeCodes(const GroupCodes& codes, CodeLayout layout, std::byte* out) {
  switch (layout) {
    case CodeLayout::Nibble:
    case CodeLayout::NibbleTable:
      return storeLines<0, 4>(codes, out);
    case CodeLayout::Five:
      storeLines<0, 4>(codes, out);
      return storeFifthBits(codes, out + 8 * kLineBytes);
    case CodeLayout::Six:
      storeLines<0, 4>(codes, out);
      return storeLines<4, 2>(codes, out + 8 * kLineBytes);
    case CodeLayout::Two:
      return storeLines<0, 2>(codes, out);
    case CodeLayout::Three:
      storeLines<0, 2>(codes, out);
      return storeLines<2, 1>(codes, out + 4 * kLineBytes);
    case CodeLayout::Byte:
      return storeBytes(codes, out);
    default:
      return;
  }
}

// One block of all rows, the first of which begins at `blocks`.
void packBlocks(const WeightView& source,
                const BlockShape& shape,
                const std::byte* blocks,
                int numRows,
                Column column,
                std::byte* out) {
  const std::size_t stride = rowBytes(source.type, source.cols);
  const bool isTable = column.layout.codes == CodeLayout::NibbleTable;
  // What is behind the last row counts for nothing: its scales are 0.
  GroupCodes codes = {};
  QuantGroup group;
  std::byte* groupOut = out + shape.header;
  for (int g = 0; g < shape.numGroups; ++g, groupOut += shape.group) {
    for (column.index = 0; column.index < static_cast<std::size_t>(numRows); ++column.index) {
      const std::byte* block = blocks + column.index * stride;
      if (g == 0) __builtin_prefetch(block + kPackPrefetchBytes);
      decodeGroup(source.type, block, g, group);
      std::uint8_t* to = codes[column.index];
      std::memcpy(to, group.codes, kGroupSize);
      if (isTable) {
        std::transform(to, to + kGroupSize, to, [](std::uint8_t c) { return kLevelIndices[c]; });
      }
      storeScales(group, g, column, shape, out, groupOut);
    }
    storeCodes(codes, column.layout.codes, groupOut);
  }
}

// bf16 itself: columns beside each other.
void packBf16(const WeightView& source, const std::byte* rows, int numRows, std::byte* out) {
  const std::size_t stride = rowBytes(source.type, source.cols);
  for (std::int64_t k = 0; k < source.cols; k += kGroupSize) {
    const auto left = static_cast<std::size_t>(std::min<std::int64_t>(kGroupSize, source.cols - k));
    for (std::size_t c = 0; c < static_cast<std::size_t>(numRows); ++c) {
      std::memcpy(out + c * kLineBytes, rows + c * stride, 2 * left);
    }
    rows += kLineBytes;
    out += kTileColumns * kLineBytes;
  }
}

}  // namespace

void packByColumns(const WeightView& source,
                   TileLayout layout,
                   const std::byte* rows,
                   int numRows,
                   std::byte* out) {
  if (layout.codes == CodeLayout::BF16) return packBf16(source, rows, numRows, out);
  const DTypeInfo& info = dtypeInfo(source.type);
  const BlockShape shape(source.type, layout);
  for (std::int64_t k = 0; k < source.cols; k += info.elementsPerBlock) {
    packBlocks(source, shape, rows, numRows, {layout, 0}, out);
    rows += info.bytesPerBlock;
    out += shape.bytes();
  }
}

}  // namespace kernels::cpu
