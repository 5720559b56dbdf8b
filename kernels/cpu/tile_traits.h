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
  if (c == CodeLayout::Two) return 256;
  if (c == CodeLayout::Three) return 384;
  return c == CodeLayout::Five ? 640 : c == CodeLayout::Six ? 768 : 512;
}

static constexpr int headerBytesOf(ScaleLayout s) {
  const int scales = halvesOf(s) * kGroupsPerSuper * kTileColumns;
  if (s == ScaleLayout::Super16Min) return 128 + scales;
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
  return c == CodeLayout::Six || c == CodeLayout::Three ? Start::Zero32 : Start::Zero128;
}

// What a code is higher than the number it stands for.
static constexpr int zeroOf(CodeLayout c, ScaleLayout s) {
  switch (startOf(c, s)) {
    case Start::Bias:
      return 0;
    case Start::Zero8:
      return 8;
    case Start::Zero16:
      return 16;
    case Start::Zero32:
      return 32;
    case Start::Zero128:
      return 128;
  }
  return 0;
}

// Calls body(integral_constant<CodeLayout>, integral_constant<ScaleLayout>) for a layout that a
// file format has; plain floats have kernels of their own.
template <typename Body>
[[gnu::always_inline]] static inline void dispatchQuantized(TileLayout layout, Body&& body) {
  using C = CodeLayout;
  using S = ScaleLayout;
  const auto call = [&]<C Codes, S Scales>() {
    if (layout.codes != Codes || layout.scales != Scales) return false;
    body(std::integral_constant<C, Codes>{}, std::integral_constant<S, Scales>{});
    return true;
  };
  call.template operator()<C::Nibble, S::Half>() ||
      call.template operator()<C::Nibble, S::HalfMin>() ||
      call.template operator()<C::Nibble, S::SuperMin>() ||
      call.template operator()<C::Two, S::Super16Min>() ||
      call.template operator()<C::NibbleTable, S::Half>() ||
      call.template operator()<C::NibbleTable, S::Super>() ||
      call.template operator()<C::Five, S::Half>() ||
      call.template operator()<C::Five, S::HalfMin>() ||
      call.template operator()<C::Five, S::SuperMin>() ||
      call.template operator()<C::Six, S::Super16>() ||
      call.template operator()<C::Three, S::Super16>() ||
      call.template operator()<C::Byte, S::Half>();
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
