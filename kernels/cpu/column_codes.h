// Packed weights in CodeOrder::ByColumn, turned to bf16: a register is 32 weights of one column.
//
// A weight is fma(code, scale, min) in f32, or (code - zero) * scale where there is no minimum,
// rounded to bf16, to the nearest, ties away from zero: half a unit is added to the bits and what
// is below the upper 16 counts no more. Formats of few levels with one scale for all 32 weights
// make a table of their levels and look the codes up; the others are converted one by one.
#pragma once

#include "kernels/cpu/tile_avx512.h"

namespace kernels::cpu {

namespace {

constexpr int kLineBytes = 64;                               // 32 lanes of 16 bits
constexpr int kPanelGroupBytes = kTileColumns * kLineBytes;  // a group as bf16
constexpr int kNibbleBytes = 8 * kLineBytes, kPairBytes = 4 * kLineBytes;
constexpr __mmask16 kSecondHalf = 0xFF00;  // weights 16 to 31, in pairs

constexpr bool isConverted(CodeLayout c) {
  return c == CodeLayout::Six || c == CodeLayout::Two || c == CodeLayout::Three;
}

// What a code is higher than its number: kernels of the other order add 28 to a Three, so that
// zeroOf() is 32.
constexpr int columnZero(CodeLayout c, ScaleLayout s) {
  return c == CodeLayout::Three ? 4 : zeroOf(c, s);
}

// Scales of one group and what is added to each product: [halves][columns].
template <int NumHalves>
struct alignas(64) ColumnScales {
  float scale[NumHalves][kTileColumns];
  float min[NumHalves][kTileColumns];
};

// The bits of f32 numbers, whose upper halves are bf16 then.
ALWAYS_INLINE __m512i roundBits(__m512 x) {
  return _mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000));
}

// Even and odd weights, as roundBits() leaves them.
ALWAYS_INLINE __m512i joinPairs(__m512i even, __m512i odd) {
  return select(_mm512_srli_epi32(even, 16), odd, _mm512_set1_epi32(static_cast<int>(0xFFFF0000)));
}

// Left by Shift, or right by -Shift: as products, which two ports make and shifts only one.
template <int Shift>
ALWAYS_INLINE __m512i shiftLanes(__m512i lanes) {
  if constexpr (Shift == 0) return lanes;
  if constexpr (Shift == 1) return _mm512_add_epi16(lanes, lanes);
  if constexpr (Shift > 1) return _mm512_mullo_epi16(lanes, _mm512_set1_epi16(1 << Shift));
  return _mm512_mulhi_epu16(lanes, _mm512_set1_epi16(static_cast<short>(1 << (16 + Shift))));
}

template <int First>
ALWAYS_INLINE __m512 levelsFrom() {
  const __m512 ascending = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return _mm512_add_ps(ascending, _mm512_set1_ps(First));
}

ALWAYS_INLINE __m512 nonLinearLevels() {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kNonLinearCodes));
  const __m512i codes = _mm512_cvtepu8_epi32(bytes);
  return _mm512_cvtepi32_ps(_mm512_sub_epi32(codes, _mm512_set1_epi32(128)));
}

// Sixteen levels of one column: the bf16 are the odd ones of 32 halves.
template <bool HasMin, typename Scales>
ALWAYS_INLINE __m512i tableOf(__m512 levels, const Scales& scales, int column) {
  const __m512 scale = _mm512_set1_ps(scales.scale[0][column]);
  if constexpr (!HasMin) return roundBits(_mm512_mul_ps(levels, scale));
  return roundBits(_mm512_fmadd_ps(levels, scale, _mm512_set1_ps(scales.min[0][column])));
}

// Nibbles, with a fifth bit or without. A lookup reads the lowest five bits of a lane.
template <CodeLayout C, ScaleLayout S, int Column, typename Scales>
ALWAYS_INLINE __m512i lookUpColumn(const std::byte* codes, const Scales& scales) {
  constexpr int kFirst = -zeroOf(C, S);
  const __m512i line = loadBytes(codes + Column / 4 * kLineBytes);
  const __m512i twice = shiftLanes<1 - 4 * (Column % 4)>(line);
  const __m512i index = _mm512_or_si512(twice, _mm512_set1_epi16(1));
  if constexpr (C == CodeLayout::NibbleTable) {
    return _mm512_permutexvar_epi16(index, tableOf<hasMin(S)>(nonLinearLevels(), scales, Column));
  }
  const __m512i lower = tableOf<hasMin(S)>(levelsFrom<kFirst>(), scales, Column);
  const __m512i weights = _mm512_permutexvar_epi16(index, lower);
  if constexpr (C != CodeLayout::Five) return weights;
  std::uint32_t fifthBits;
  __builtin_memcpy(&fifthBits, codes + kNibbleBytes + 4 * Column, sizeof fifthBits);
  const __m512i upper = tableOf<hasMin(S)>(levelsFrom<kFirst + 16>(), scales, Column);
  return _mm512_mask_permutexvar_epi16(weights, _cvtu32_mask32(fifthBits), index, upper);
}

// The codes of a column, each in 16 bits.
template <CodeLayout C, int Column>
ALWAYS_INLINE __m512i codesOfColumn(const std::byte* codes) {
  constexpr int kPlaneAt = C == CodeLayout::Six ? kNibbleBytes : 0;
  const __m512i plane = loadBytes(codes + kPlaneAt + Column / 8 * kLineBytes);
  if constexpr (C == CodeLayout::Six) {
    const __m512i line = loadBytes(codes + Column / 4 * kLineBytes);
    const __m512i nibbles = shiftLanes<-4 * (Column % 4)>(line);
    const __m512i upper = shiftLanes<4 - 2 * (Column % 8)>(plane);
    return _mm512_and_si512(select(upper, nibbles, _mm512_set1_epi16(15)), _mm512_set1_epi16(63));
  }
  const __m512i pairs = shiftLanes<-2 * (Column % 8)>(plane);
  if constexpr (C == CodeLayout::Two) return _mm512_and_si512(pairs, _mm512_set1_epi16(3));
  const __m512i thirds = loadBytes(codes + kPairBytes + Column / 16 * kLineBytes);
  const __m512i third = shiftLanes<2 - Column % 16>(thirds);
  return _mm512_and_si512(select(third, pairs, _mm512_set1_epi16(3)), _mm512_set1_epi16(7));
}

// One number for the first half of a column's weights and one for the second.
template <int NumHalves>
ALWAYS_INLINE __m512 halvesOfColumn(const float (&values)[NumHalves][kTileColumns], int column) {
  const __m512 first = _mm512_set1_ps(values[0][column]);
  return _mm512_mask_broadcastss_ps(first, kSecondHalf,
                                    _mm_load_ss(&values[NumHalves - 1][column]));
}

template <CodeLayout C, int Column, typename Scales>
ALWAYS_INLINE __m512i convertColumn(const std::byte* codes, const Scales& scales) {
  const __m512i both = codesOfColumn<C, Column>(codes);
  const __m512 even = _mm512_cvtepi32_ps(_mm512_and_si512(both, _mm512_set1_epi32(0xFFFF)));
  const __m512 odd = _mm512_cvtepi32_ps(_mm512_srli_epi32(both, 16));
  const __m512 scale = halvesOfColumn(scales.scale, Column);
  const __m512 min = halvesOfColumn(scales.min, Column);
  return joinPairs(roundBits(_mm512_fmadd_ps(even, scale, min)),
                   roundBits(_mm512_fmadd_ps(odd, scale, min)));
}

template <int Column, typename Scales>
ALWAYS_INLINE __m512i convertBytes(const std::byte* codes, const Scales& scales) {
  const __m512 scale = _mm512_set1_ps(scales.scale[0][Column]);
  const std::byte* bytes = codes + Column * kGroupSize;
  return joinPairs(roundBits(_mm512_mul_ps(signedBytes(bytes), scale)),
                   roundBits(_mm512_mul_ps(signedBytes(bytes + kGroupSize / 2), scale)));
}

template <CodeLayout C, ScaleLayout S, int Column, typename Scales>
ALWAYS_INLINE __m512i unpackColumn(const std::byte* codes, const Scales& scales) {
  if constexpr (C == CodeLayout::Byte) {
    return convertBytes<Column>(codes, scales);
  } else if constexpr (isConverted(C)) {
    return convertColumn<C, Column>(codes, scales);
  } else {
    return lookUpColumn<C, S, Column>(codes, scales);
  }
}

template <CodeLayout C, ScaleLayout S, typename Scales, int... Columns>
ALWAYS_INLINE void unpackColumns(const std::byte* codes,
                                 const Scales& scales,
                                 std::byte* out,
                                 std::integer_sequence<int, Columns...>) {
  (_mm512_store_si512(out + Columns * kLineBytes, unpackColumn<C, S, Columns>(codes, scales)), ...);
}

// The groups of a tile, one piece after the other.
template <CodeLayout C, ScaleLayout S>
class ColumnGroups {
 public:
  explicit ALWAYS_INLINE ColumnGroups(const std::byte* tile) : m_groups(tile) {}

  // The next numGroups groups as bf16, [numGroups][32 columns][32 weights]: in `panel`.
  ALWAYS_INLINE const std::byte* next(int numGroups, std::byte* panel) {
    ColumnScales<halvesOf(S)> scales;
    for (int g = 0; g < numGroups; ++g) {
      m_groups.prefetch();
      loadScales(scales);
      __asm__("" : "+m"(scales));  // a number spread from memory costs the ports nothing
      unpackColumns<C, S>(m_groups.codes(), scales, panel + g * kPanelGroupBytes,
                          std::make_integer_sequence<int, kTileColumns>{});
      m_groups.next();
    }
    return panel;
  }

 private:
  template <typename Scales>
  ALWAYS_INLINE void loadScales(Scales& scales) const {
    for (int h = 0; h < halvesOf(S); ++h) {
      const auto from = m_groups.scales(h);
      for (int j = 0; j < 2; ++j) {
        _mm512_store_ps(scales.scale[h] + 16 * j, from.scale[j]);
        if constexpr (hasMin(S)) {
          _mm512_store_ps(scales.min[h] + 16 * j, from.min[j]);
        } else if constexpr (isConverted(C)) {
          // exact: the zero point is a power of two
          const __m512 zero = _mm512_set1_ps(-columnZero(C, S));
          _mm512_store_ps(scales.min[h] + 16 * j, _mm512_mul_ps(from.scale[j], zero));
        }
      }
    }
  }

  PackedGroups<C, S> m_groups;
};

// bf16 weights are used where they lie.
template <>
class ColumnGroups<CodeLayout::BF16, ScaleLayout::None> {
 public:
  explicit ALWAYS_INLINE ColumnGroups(const std::byte* tile) : m_at(tile) {}

  ALWAYS_INLINE const std::byte* next(int numGroups, std::byte*) {
    const std::byte* piece = m_at;
    m_at += numGroups * kPanelGroupBytes;
    return piece;
  }

 private:
  const std::byte* m_at;
};

}  // namespace

}  // namespace kernels::cpu
