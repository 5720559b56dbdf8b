// What the vector files share about tile layouts at compile time. static or always inlined: no
// code of one instruction set can end up in another's program path.
#pragma once

#include <type_traits>

#include "kernels/cpu/tile_layout.h"

namespace kernels::cpu {

static constexpr bool hasMin(ScaleLayout s) {
  return s == ScaleLayout::HalfMin || s == ScaleLayout::SuperMin || s == ScaleLayout::Super16Min;
}

static constexpr int halvesOf(ScaleLayout s) {
  return s == ScaleLayout::Super16 || s == ScaleLayout::Super16Min ? 2 : 1;
}

static constexpr bool isSuper(ScaleLayout s) {
  return s == ScaleLayout::Super || s == ScaleLayout::SuperMin || halvesOf(s) == 2;
}

static constexpr int codeBytesOf(CodeLayout c) {
  if (c == CodeLayout::Byte) return 1024;
  return c == CodeLayout::Five ? 640 : c == CodeLayout::Six ? 768 : 512;
}

static constexpr int headerBytesOf(ScaleLayout s) {
  const int scales = halvesOf(s) * kGroupsPerSuper * kTileColumns;
  return hasMin(s) ? 128 + 2 * scales : 64 + scales;
}

// From a group's codes to the next group's (header aside).
static constexpr int groupBytesOf(CodeLayout c, ScaleLayout s) {
  return codeBytesOf(c) + (isSuper(s) ? 0 : hasMin(s) ? 128 : 64);
}

// The field of QuantizedGroup that the integer sums begin with.
enum class Start { Bias, Zero8, Zero16, Zero128, Zero32 };

static constexpr Start startOf(CodeLayout c, ScaleLayout s) {
  if (hasMin(s)) return Start::Bias;
  if (c == CodeLayout::Nibble) return Start::Zero8;
  if (c == CodeLayout::Five) return Start::Zero16;
  return c == CodeLayout::Six ? Start::Zero32 : Start::Zero128;
}

// Walks over a packed tile, group by group.
template <CodeLayout C, ScaleLayout S>
struct TileCursor {
  const std::byte* codes;             // of the group
  const std::byte* header = nullptr;  // of its super-block
  int inSuper = 0;                    // its number there

  [[gnu::always_inline]] explicit TileCursor(const std::byte* tile) : codes(tile) {
    if constexpr (isSuper(S)) enterSuper();
  }

  // Half h's scales: f16 of the whole group or of its super-block, and where the sub-scales and
  // sub-minimums of the half begin.
  [[gnu::always_inline]] const std::byte* scaleHalves() const {
    return isSuper(S) ? header : codes + codeBytesOf(C);
  }

  [[gnu::always_inline]] const std::byte* subScales(int h) const {
    return header + (hasMin(S) ? 128 : 64) + (inSuper * halvesOf(S) + h) * kTileColumns;
  }

  [[gnu::always_inline]] const std::byte* subMins(int h) const {
    return subScales(h) + halvesOf(S) * kGroupsPerSuper * kTileColumns;
  }

  [[gnu::always_inline]] void next() {
    codes += groupBytesOf(C, S);
    if constexpr (isSuper(S)) {
      if (++inSuper == kGroupsPerSuper) enterSuper();
    }
  }

 private:
  [[gnu::always_inline]] void enterSuper() {
    header = codes;
    codes += headerBytesOf(S);
    inSuper = 0;
  }
};

// Calls body(integral_constant<int, size>, firstRow) over all rows, in blocks of at most MaxRows
// (<= 6) that are as even as can be.
template <int MaxRows, typename Body>
[[gnu::always_inline]] static inline void forRowBlocks(int numRows, Body&& body) {
  static_assert(MaxRows >= 1 && MaxRows <= 6);
  int numBlocks = (numRows + MaxRows - 1) / MaxRows;
  for (int row = 0; row < numRows; --numBlocks) {
    const int size = (numRows - row + numBlocks - 1) / numBlocks;
    if (size == 1) body(std::integral_constant<int, 1>{}, row);
    if constexpr (MaxRows >= 2) {
      if (size == 2) body(std::integral_constant<int, 2>{}, row);
    }
    if constexpr (MaxRows >= 3) {
      if (size == 3) body(std::integral_constant<int, 3>{}, row);
    }
    if constexpr (MaxRows >= 4) {
      if (size == 4) body(std::integral_constant<int, 4>{}, row);
    }
    if constexpr (MaxRows >= 5) {
      if (size == 5) body(std::integral_constant<int, 5>{}, row);
    }
    if constexpr (MaxRows >= 6) {
      if (size == 6) body(std::integral_constant<int, 6>{}, row);
    }
    row += size;
  }
}

}  // namespace kernels::cpu
