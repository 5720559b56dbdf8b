// What the 256-bit files share: packed tiles read as vectors.
#pragma once

#include <immintrin.h>

#include "kernels/core/quant_group.h"
#include "kernels/cpu/tile_job.h"
#include "kernels/cpu/tile_traits.h"

namespace kernels::cpu {

// Each including file has its own copy: one built with more flags must not serve another.
namespace {

#define ALWAYS_INLINE inline __attribute__((always_inline))

constexpr int kStepBytes = kTileColumns * 4;
constexpr int kLanes = 8;  // columns of a vector

ALWAYS_INLINE __m256i loadBytes(const std::byte* p) {
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(p));
}

ALWAYS_INLINE __m256 loadHalves(const std::byte* p) {
  return _mm256_cvtph_ps(_mm_load_si128(reinterpret_cast<const __m128i*>(p)));
}

// The low (0) or high (1) four bits of 8 bytes.
template <int High>
ALWAYS_INLINE __m256 nibbleFloats(const std::byte* p) {
  const __m256i bytes = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  return _mm256_cvtepi32_ps(High ? _mm256_srli_epi32(bytes, 4)
                                 : _mm256_and_si256(bytes, _mm256_set1_epi32(15)));
}

ALWAYS_INLINE __m256 signedBytes(const std::byte* p) {
  return _mm256_cvtepi32_ps(
      _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}

template <int Shift>
ALWAYS_INLINE __m256i shiftLeft(__m256i v) {
  if constexpr (Shift > 0) return _mm256_slli_epi16(v, Shift);
  if constexpr (Shift < 0) return _mm256_srli_epi16(v, -Shift);
  return v;
}

ALWAYS_INLINE __m256i masked(__m256i v, char mask) {
  return _mm256_and_si256(v, _mm256_set1_epi8(mask));
}

// load<S> gives step S of vector j's columns; kMaxSteps steps of codes times activations fit into
// 16 bits (0: not even one, the code is a signed byte plus 128).
template <CodeLayout>
struct CodeReader;

template <>
struct CodeReader<CodeLayout::Nibble> {
  static constexpr int kMaxSteps = 8;

  template <int S>
  static ALWAYS_INLINE __m256i load(const std::byte* codes, int j) {
    const __m256i both = loadBytes(codes + (S % 4) * kStepBytes + j * 32);
    return masked(S < 4 ? both : _mm256_srli_epi16(both, 4), 15);
  }
};

template <>
struct CodeReader<CodeLayout::NibbleTable> {
  static constexpr int kMaxSteps = 0;

  template <int S>
  static ALWAYS_INLINE __m256i load(const std::byte* codes, int j) {
    const __m256i levels = _mm256_broadcastsi128_si256(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(kNonLinearCodes)));
    return _mm256_shuffle_epi8(levels, CodeReader<CodeLayout::Nibble>::load<S>(codes, j));
  }
};

template <>
struct CodeReader<CodeLayout::Five> {
  static constexpr int kMaxSteps = 4;

  template <int S>
  static ALWAYS_INLINE __m256i load(const std::byte* codes, int j) {
    const __m256i plane = shiftLeft<4 - S>(loadBytes(codes + 4 * kStepBytes + j * 32));
    return _mm256_or_si256(CodeReader<CodeLayout::Nibble>::load<S>(codes, j), masked(plane, 16));
  }
};

template <>
struct CodeReader<CodeLayout::Six> {
  static constexpr int kMaxSteps = 2;

  template <int S>
  static ALWAYS_INLINE __m256i load(const std::byte* codes, int j) {
    const __m256i pairs = loadBytes(codes + (4 + S / 4) * kStepBytes + j * 32);
    return _mm256_or_si256(CodeReader<CodeLayout::Nibble>::load<S>(codes, j),
                           masked(shiftLeft<4 - 2 * (S % 4)>(pairs), 48));
  }
};

// Two bits of step S.
template <int S>
ALWAYS_INLINE __m256i pairs(const std::byte* codes, int j) {
  return masked(shiftLeft<-2 * (S % 4)>(loadBytes(codes + (S / 4) * kStepBytes + j * 32)), 3);
}

template <>
struct CodeReader<CodeLayout::Two> {
  static constexpr int kMaxSteps = 8;

  template <int S>
  static ALWAYS_INLINE __m256i load(const std::byte* codes, int j) {
    return pairs<S>(codes, j);
  }
};

template <>
struct CodeReader<CodeLayout::Three> {
  static constexpr int kMaxSteps = 2;

  template <int S>
  static ALWAYS_INLINE __m256i load(const std::byte* codes, int j) {
    const __m256i plane = shiftLeft<2 - S>(loadBytes(codes + 2 * kStepBytes + j * 32));
    return _mm256_add_epi8(_mm256_or_si256(pairs<S>(codes, j), masked(plane, 4)),
                           _mm256_set1_epi8(28));
  }
};

template <>
struct CodeReader<CodeLayout::Byte> {
  static constexpr int kMaxSteps = 0;

  template <int S>
  static ALWAYS_INLINE __m256i load(const std::byte* codes, int j) {
    return loadBytes(codes + S * kStepBytes + j * 32);
  }
};

struct Scales {
  __m256 scale, min;  // of one vector's columns
};

// A packed tile, its codes and scales read as vectors.
template <CodeLayout C, ScaleLayout S>
class PackedGroups {
 public:
  static constexpr int kNumHalves = halvesOf(S);
  static constexpr bool kHasMin = hasMin(S);
  static constexpr int kMaxSteps = CodeReader<C>::kMaxSteps;

  explicit ALWAYS_INLINE PackedGroups(const std::byte* tile) : m_cursor(tile) {}

  template <int Step>
  ALWAYS_INLINE __m256i load(int j) const {
    return CodeReader<C>::template load<Step>(m_cursor.codes, j);
  }

  // Of half h. Sub-scales are signed only where there is no minimum; with one they have 6 bits at
  // most.
  ALWAYS_INLINE Scales scales(int h, int j) const {
    Scales out;
    const std::byte* halves = m_cursor.scaleHalves() + 16 * j;
    out.scale = loadHalves(halves);
    if constexpr (kHasMin) out.min = loadHalves(halves + 64);
    if constexpr (S == ScaleLayout::Super16Min) {
      const std::byte* both = m_cursor.subScales(h) + kLanes * j;
      out.scale = _mm256_mul_ps(out.scale, nibbleFloats<0>(both));
      out.min = _mm256_mul_ps(out.min, nibbleFloats<1>(both));
    } else if constexpr (isSuper(S)) {
      out.scale = _mm256_mul_ps(out.scale, signedBytes(m_cursor.subScales(h) + kLanes * j));
      if constexpr (kHasMin) {
        out.min = _mm256_mul_ps(out.min, signedBytes(m_cursor.subMins(h) + kLanes * j));
      }
    }
    return out;
  }

  ALWAYS_INLINE void next() { m_cursor.next(); }

 private:
  TileCursor<C, S> m_cursor;
};

}  // namespace

}  // namespace kernels::cpu
