// What the two ways to pack a block of file weights share: where its scales go.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/core/quant_group.h"
#include "kernels/cpu/tile_layout.h"

namespace kernels::cpu {

// The rows of a tile are read side by side, more streams than the processor itself sees ahead in.
inline constexpr std::size_t kPackPrefetchBytes = 512;

// What packing one column needs to know of its tile.
struct Column {
  TileLayout layout;
  std::size_t index;  // 0..31
};

// An f16. Of all that are no number one is kept, which stays one however it is rounded.
inline void storeScale(std::byte* p, std::uint16_t half) {
  if ((half & 0x7FFFu) > 0x7C00u) half = 0x7E00u;
  std::memcpy(p, &half, sizeof half);
}

// Level to index of IQ4's table.
constexpr std::array<std::uint8_t, 256> makeLevelIndices() {
  std::array<std::uint8_t, 256> indices{};
  for (std::uint8_t i = 0; i < 16; ++i) indices[kNonLinearCodes[i]] = i;
  return indices;
}

inline constexpr std::array<std::uint8_t, 256> kLevelIndices = makeLevelIndices();

// The minimum as it is added: a format that subtracts it (subMin >= 0) gets the sign turned.
inline std::uint16_t addedMinBits(const QuantGroup& group) {
  const bool isAdded = group.subMin[0] < 0;
  return isAdded ? group.minBits : static_cast<std::uint16_t>(group.minBits ^ 0x8000u);
}

inline void storeGroupScales(const QuantGroup& group, const Column& column, std::byte* scales) {
  storeScale(scales + 2 * column.index, group.scaleBits);
  if (column.layout.scales == ScaleLayout::HalfMin) {
    storeScale(scales + 64 + 2 * column.index, addedMinBits(group));
  }
}

// header: see ScaleLayout; `g` is the group's number in its super-block.
inline void storeSuperScales(const QuantGroup& group,
                             int g,
                             const Column& column,
                             std::byte* header) {
  const ScaleLayout scales = column.layout.scales;
  const bool hasMin = scales == ScaleLayout::SuperMin || scales == ScaleLayout::Super16Min;
  const bool hasHalves = scales == ScaleLayout::Super16 || scales == ScaleLayout::Super16Min;
  const std::size_t numHalves = hasHalves ? 2 : 1;
  if (g == 0) {
    storeScale(header + 2 * column.index, group.scaleBits);
    if (hasMin) storeScale(header + 64 + 2 * column.index, addedMinBits(group));
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
  BlockShape(DType type, TileLayout layout)
      : numGroups(dtypeInfo(type).elementsPerBlock / kGroupSize),
        header(superHeaderBytes(layout)),
        codes(codeBytes(layout)),
        group(codes + groupScaleBytes(layout)) {}

  std::size_t bytes() const { return header + static_cast<std::size_t>(numGroups) * group; }

  int numGroups;                     // of one block
  std::size_t header, codes, group;  // bytes; of a group: with its scales
};

// Of group `g` of a block, which is packed at `block`; the group itself is at `codes`.
inline void storeScales(const QuantGroup& group,
                        int g,
                        const Column& column,
                        const BlockShape& shape,
                        std::byte* block,
                        std::byte* codes) {
  if (shape.header > 0) return storeSuperScales(group, g, column, block);
  storeGroupScales(group, column, codes + shape.codes);
}

}  // namespace kernels::cpu
