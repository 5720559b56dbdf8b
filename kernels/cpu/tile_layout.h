// How 32 output columns of a weight matrix lie in memory: few layouts for many file formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "kernels/core/dtype.h"

namespace kernels::cpu {

inline constexpr int kTileColumns = 32;    // output columns of a tile
inline constexpr int kGroupsPerSuper = 8;  // a super-block is 256 weights of a row

// Which way the codes of a group lie: ByStep, so that a vector register's lanes are four inputs of
// an output column each (dot instructions of int8); or ByPair, so that they are two (tile registers
// of bf16). Either takes the same bytes.
enum class CodeOrder : std::uint8_t { ByStep, ByPair };

// Codes of one group (32 weights of each of the 32 columns), unsigned.
//
// ByStep: step s of a group is weights 4s .. 4s+3; every plane is [..][32 columns][4 weights]:
//   Nibble       512 B: [s = 0..3], low nibble = step s, high nibble = step s+4
//   NibbleTable  512 B: the same; a nibble is an index into the 16 levels of IQ4
//   Five         640 B: Nibble, then 128 B whose bit s is the fifth bit of step s
//   Six          768 B: Nibble, then [2][..] 256 B: bits 2(s%4), 2(s%4)+1 of plane s/4 are the
//   fifth
//                and sixth of step s
//   Two          256 B: [2][..] as above, for the only two bits of a code
//   Three        384 B: Two, then 128 B whose bit s is the third bit of step s; kernels add 28, so
//                that the zero point is 32 as in Six
//   Byte        1024 B: [s = 0..7]
// F16, BF16 and F32 hold plain values instead: [32 weights][32 columns].
//
// ByPair: lines of 32 16-bit lanes, [16 columns][2 inputs], in which several pairs of inputs have
// their bits from the lowest up; every plane is [2][lines of 16 columns]:
//   Nibble, NibbleTable  4 lines of 4 pairs
//   Five                 Nibble, then a line of 16 pairs, the fifth bits
//   Six                  Nibble, then 2 lines of 8 pairs, the fifth and sixth bits
//   Two                  2 lines of 8 pairs
//   Three                Two, then a line of 16 pairs, the third bits
//   Byte                 8 lines of 2 pairs, signed
//   BF16                 16 lines of a pair
// F16 and F32 as above.
enum class CodeLayout : std::uint8_t {
  Nibble,
  NibbleTable,
  Five,
  Six,
  Two,
  Three,
  Byte,
  F16,
  BF16,
  F32
};

// Scales beside the codes. Half, HalfMin: f16 [32] after the codes of each group. The others: one
// header before the codes of each super-block: f16 d[32], f16 -dmin[32] (Min only), then for each
// group int8 scales [h][32] of all 8 groups, then (Min only) uint8 minimums in the same order; h =
// 2 for the 16s (a scale for each half of a group), else 1. Super16Min has four bits for each of
// both: a byte is a scale and, in its high nibble, a minimum.
// Half and HalfMin of CodeOrder::ByPair are not the file's numbers but what pair_codes.h makes
// weights with, column c at pairSlot(c).
enum class ScaleLayout : std::uint8_t { None, Half, HalfMin, Super, SuperMin, Super16, Super16Min };

struct TileLayout {
  CodeLayout codes = CodeLayout::Nibble;
  ScaleLayout scales = ScaleLayout::None;
  CodeOrder order = CodeOrder::ByStep;
};

// CodeOrder::ByPair: a scale is stored as that many times itself (and its tile's factor), since a
// code counts one part in as many; one of a signed byte as a 256th, since it is the upper half of
// its lane.
static constexpr float levelsOf(CodeLayout codes) {
  switch (codes) {
    case CodeLayout::Nibble:
      return 16.0f;
    case CodeLayout::Five:
      return 32.0f;
    case CodeLayout::Six:
      return 64.0f;
    case CodeLayout::Two:
      return 4.0f;
    case CodeLayout::Three:
      return 8.0f;
    case CodeLayout::Byte:
      return 1.0f / 256.0f;
    default:
      return 1.0f;
  }
}

// What an f16 is of its bits moved down to the place of a bf16's: weights of CodeOrder::ByPair.
inline constexpr float kHalfOverBf16 = 0x1p112f;

// Where the scale of a column lies among 32: four of the first 16 columns, four of the others, ...
static constexpr std::size_t pairSlot(std::size_t column) {
  return column % 16 / 4 * 8 + column / 16 * 4 + column % 4;
}

TileLayout tileLayoutOf(DType type, CodeOrder order);
// What keeps weights of this layout from the speed of the others, as a clause; null when nothing
// does.
const char* slowReason(TileLayout layout);
// One sentence that names every slow format among `types`; empty when there is none.
std::string slowFormatsNote(std::span<const DType> types, CodeOrder order);
// True for weights that are multiplied with the f32 rows, in f32.
bool isPlainFloat(TileLayout layout);
bool hasSuperBlocks(TileLayout layout);
// Bytes of one group's codes; of what follows the codes; of a super-block's header. Multiples
// of 64.
std::size_t codeBytes(TileLayout layout);
std::size_t groupScaleBytes(TileLayout layout);
std::size_t superHeaderBytes(TileLayout layout);
// Bytes of a tile of numGroups groups (a multiple of 8 where there are super-blocks).
std::size_t tileBytes(TileLayout layout, int numGroups);

}  // namespace kernels::cpu
