// Packed weights in CodeOrder::ByPair, turned to bf16: a register is a pair of inputs of 16
// columns, as tile registers take them.
//
// A weight is made in f16, where its tile's largest is near 2^15 (PackedMatrix::sumUnits): a code
// becomes the fraction of a number in [1, 2), code / 2^bits beyond 1; one fma by scale and minimum,
// from which the 1 is taken off, is the weight. bf16 then, to the nearest, ties away from zero: an
// f16 moved down by the three bits that its exponent is shorter reads 2^-112 of itself as bf16.
//
// Measured on an AMX processor: while tiles are in use the second unit for products rests, and a
// shift or product takes one of 32 lanes a cycle; moving bits has a port of its own. A code costs
// two products or less this way, and five operations in all.
#pragma once

#include <array>

#include "kernels/core/float_bits.h"
#include "kernels/cpu/half_vector.h"
#include "kernels/cpu/tile_avx512.h"

namespace kernels::cpu {

namespace {

constexpr int kLineBytes = 64;                           // 16 columns, a pair of inputs each
constexpr int kHalfTile = 16;                            // columns of a register
constexpr int kNumPairs = kGroupSize / 2;                // of a group
constexpr int kHalfPanelBytes = kNumPairs * kLineBytes;  // 16 columns of a group as bf16
constexpr int kPanelGroupBytes = 2 * kHalfPanelBytes;
constexpr int kNibbleBytes = 512, kTwoBytes = 256;  // of the planes that come first

constexpr bool isFraction(CodeLayout c) {
  return c != CodeLayout::Byte && c != CodeLayout::NibbleTable;
}

constexpr std::array<std::uint8_t, 64> moveControl(int offset) {
  std::array<std::uint8_t, 64> control{};
  for (int i = 0; i < 64; ++i) {
    const int from = i % 8 / 2 * 16 + i % 2 * 8 + offset;
    control[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>((from + 64) % 64);
  }
  return control;
}

// Bit Offset of every 16-bit lane comes to be bit 0, and so on. Bits that a lane does not have are
// those of its neighbours, and of no use.
template <int Offset>
ALWAYS_INLINE __m512i moveBits(__m512i lanes) {
  if constexpr (Offset == 0) return lanes;
  alignas(64) static constexpr auto kControl = moveControl(Offset);
  return _mm512_multishift_epi64_epi8(_mm512_load_si512(kControl.data()), lanes);
}

// Count bits of the codes of pair Pair, from bit To of its lanes upwards.
template <int Count, int Pair, int To>
ALWAYS_INLINE __m512i field(const std::byte* plane, int half) {
  constexpr int kPairs = 16 / Count;  // of a line
  const std::byte* line = plane + (half * Count + Pair / kPairs) * kLineBytes;
  return moveBits<Pair % kPairs * Count - To>(loadBytes(line));
}

// 1 and a fraction: the upper Bits bits of the ten.
template <int Bits>
ALWAYS_INLINE __m512i oneAnd(__m512i fraction) {
  constexpr int kMask = ((1 << Bits) - 1) << (10 - Bits);
  return _mm512_ternarylogic_epi32(fraction, _mm512_set1_epi16(0x3C00), _mm512_set1_epi16(kMask),
                                   0xEC);
}

// The 16 levels of IQ4 as f16, twice: the fifth bit of an index may be anything.
constexpr std::array<std::uint16_t, 32> nonLinearHalves() {
  std::array<std::uint16_t, 32> halves{};
  for (std::size_t i = 0; i < 32; ++i) {
    halves[i] = f16OfFloat(static_cast<float>(kNonLinearCodes[i % 16]) - 128.0f);
  }
  return halves;
}

// What the codes of pair Pair are multiplied as, in f16.
template <CodeLayout C, int Pair>
ALWAYS_INLINE __m512i factorsOf(const std::byte* codes, int half) {
  if constexpr (C == CodeLayout::Byte) {
    const __m512i line = loadBytes(codes + (half * 8 + Pair / 2) * kLineBytes);
    return halvesOfInts(Pair % 2 == 0 ? _mm512_slli_epi16(line, 8)
                                      : _mm512_and_si512(line, _mm512_set1_epi16(-256)));
  } else if constexpr (C == CodeLayout::NibbleTable) {
    alignas(64) static constexpr auto kLevels = nonLinearHalves();
    return _mm512_permutexvar_epi16(field<4, Pair, 0>(codes, half),
                                    _mm512_load_si512(kLevels.data()));
  } else if constexpr (C == CodeLayout::Nibble) {
    return oneAnd<4>(field<4, Pair, 6>(codes, half));
  } else if constexpr (C == CodeLayout::Two) {
    return oneAnd<2>(field<2, Pair, 8>(codes, half));
  } else if constexpr (C == CodeLayout::Three) {
    const __m512i third = field<1, Pair, 9>(codes + kTwoBytes, half);
    return oneAnd<3>(select(field<2, Pair, 7>(codes, half), third, _mm512_set1_epi16(1 << 9)));
  } else if constexpr (C == CodeLayout::Five) {
    const __m512i fifth = field<1, Pair, 9>(codes + kNibbleBytes, half);
    return oneAnd<5>(select(field<4, Pair, 5>(codes, half), fifth, _mm512_set1_epi16(1 << 9)));
  } else {
    const __m512i upper = field<2, Pair, 8>(codes + kNibbleBytes, half);
    return oneAnd<6>(select(field<4, Pair, 4>(codes, half), upper, _mm512_set1_epi16(3 << 8)));
  }
}

// bf16 of f16, 2^-112 of it.
ALWAYS_INLINE __m512i roundHalves(__m512i halves) {
  const __m512i moved = _mm512_mulhrs_epi16(halves, _mm512_set1_epi16(1 << 12));
  return _mm512_and_si512(moved, _mm512_set1_epi16(static_cast<short>(0x8FFF)));
}

// Scales and minimums of 16 columns, one for each lane, of the first and the second 16 inputs.
template <ScaleLayout S>
struct PairScales {
  __m512i scale[halvesOf(S)], min[halvesOf(S)];
};

// The groups of a tile, one after the other.
template <CodeLayout C, ScaleLayout S>
class PairGroups {
 public:
  // weightFactor: what the tile's weights are multiplied with, a power of two.
  ALWAYS_INLINE PairGroups(const std::byte* tile, float weightFactor)
      : m_groups(tile), m_factor(weightFactor * levelsOf(C)) {}

  // The next group as bf16, [2][16 pairs][16 columns][2]: in `panel`.
  ALWAYS_INLINE const std::byte* next(std::byte* panel) {
    m_groups.prefetch();
    unpackHalf<0>(panel, std::make_integer_sequence<int, kNumPairs>{});
    unpackHalf<1>(panel + kHalfPanelBytes, std::make_integer_sequence<int, kNumPairs>{});
    m_groups.next();
    return panel;
  }

 private:
  template <int Half, int... Pairs>
  ALWAYS_INLINE void unpackHalf(std::byte* out, std::integer_sequence<int, Pairs...>) const {
    PairScales<S> scales;
    loadScales<Half>(scales);
    (_mm512_store_si512(out + Pairs * kLineBytes, unpackPair<Half, Pairs>(scales)), ...);
  }

  template <int Half, int Pair>
  ALWAYS_INLINE __m512i unpackPair(const PairScales<S>& scales) const {
    constexpr int kInputs = Pair * halvesOf(S) / kNumPairs;
    const __m512i factors = factorsOf<C, Pair>(m_groups.codes(), Half);
    if constexpr (isFraction(C)) {
      return roundHalves(fmaHalves(factors, scales.scale[kInputs], scales.min[kInputs]));
    } else {
      return roundHalves(mulHalves(factors, scales.scale[kInputs]));
    }
  }

  template <int Half>
  ALWAYS_INLINE void loadScales(PairScales<S>& out) const {
    if constexpr (isSuper(S)) {
      for (int h = 0; h < halvesOf(S); ++h) makeScales<Half>(h, out);
    } else {
      // made when they were packed, in an order that repeats every one for its pair at once
      const std::byte* stored = m_groups.codes() + codeBytesOf(C);
      const __m512i scales = loadBytes(stored);
      out.scale[0] = repeat<Half>(scales);
      if constexpr (hasMin(S)) {
        out.min[0] = repeat<Half>(loadBytes(stored + 64));
      } else if constexpr (isFraction(C)) {
        out.min[0] = repeat<Half>(mulHalves(scales, _mm512_set1_epi16(kMinusOneAndHalf)));
      }
    }
  }

  // Of a super-block: products of its own and a group's numbers.
  template <int Half>
  ALWAYS_INLINE void makeScales(int h, PairScales<S>& out) const {
    const Scales from = m_groups.scales(h);
    const __m512 scale = _mm512_mul_ps(from.scale[Half], _mm512_set1_ps(m_factor));
    out.scale[h] = spread(scale);
    if constexpr (hasMin(S)) {
      const __m512 factor = _mm512_set1_ps(m_factor / levelsOf(C));
      out.min[h] = spread(_mm512_fmsub_ps(from.min[Half], factor, scale));
    } else if constexpr (isFraction(C)) {
      out.min[h] = spread(_mm512_mul_ps(scale, _mm512_set1_ps(-1.5f)));
    }
  }

  // The zero point is half the levels, which with the 1 before a fraction makes one and a half.
  static constexpr short kMinusOneAndHalf = static_cast<short>(0xBE00);

  template <int Half>
  static ALWAYS_INLINE __m512i repeat(__m512i stored) {
    return Half == 0 ? _mm512_unpacklo_epi16(stored, stored)
                     : _mm512_unpackhi_epi16(stored, stored);
  }

  static ALWAYS_INLINE __m512i spread(__m512 columns) {
    const __m256i halves = _mm512_cvtps_ph(columns, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m512i low = _mm512_cvtepu16_epi32(halves);
    return _mm512_or_si512(low, _mm512_slli_epi32(low, 16));
  }

  PackedGroups<C, S> m_groups;
  float m_factor;
};

// bf16 weights are used where they lie.
template <>
class PairGroups<CodeLayout::BF16, ScaleLayout::None> {
 public:
  ALWAYS_INLINE PairGroups(const std::byte* tile, float) : m_at(tile) {}

  ALWAYS_INLINE const std::byte* next(std::byte*) {
    const std::byte* group = m_at;
    m_at += kPanelGroupBytes;
    return group;
  }

 private:
  const std::byte* m_at;
};

}  // namespace

}  // namespace kernels::cpu
