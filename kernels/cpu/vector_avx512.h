// Sixteen floats at a time, for files built with AVX-512.
#pragma once

#if defined(__AVX512F__) && defined(__AVX512DQ__)

#include <cstddef>
#include <cstdint>

#include <immintrin.h>

namespace kernels::cpu {

struct Avx512 {
  using Floats = __m512;
  using Mask = __mmask16;

  static constexpr int kLanes = 16;
  static constexpr int kMaxSums = 24;  // running sums that fit the registers beside their operands

  static inline Floats zero() { return _mm512_setzero_ps(); }

  static inline Floats set(float x) { return _mm512_set1_ps(x); }

  static inline Floats load(const float* p) { return _mm512_loadu_ps(p); }

  static inline Floats loadHalves(const std::uint16_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }

  static inline __m128i loadBytes(const std::byte* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }

  static inline Floats loadInt8(const std::byte* p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(loadBytes(p)));
  }

  // The low and the high four bits of each byte.
  static inline void loadNibbles(const std::byte* p, Floats& low, Floats& high) {
    const __m512i pairs = _mm512_cvtepu8_epi32(loadBytes(p));
    low = _mm512_cvtepi32_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(15)));
    high = _mm512_cvtepi32_ps(_mm512_srli_epi32(pairs, 4));
  }

  // As f16 a code reads 2^8 too small, and NaN as a number.
  static inline Floats loadFp8(const std::byte* p) {
    const __m256i code = _mm256_cvtepu8_epi16(loadBytes(p));
    const __m256i magnitude = _mm256_and_si256(code, _mm256_set1_epi16(0x7F));
    const __m256i nan = _mm256_cmpeq_epi16(magnitude, _mm256_set1_epi16(0x7F));
    const __m256i sign = _mm256_slli_epi16(_mm256_srli_epi16(code, 7), 15);
    const __m256i half = _mm256_or_si256(_mm256_or_si256(sign, _mm256_slli_epi16(magnitude, 7)),
                                         _mm256_and_si256(nan, _mm256_set1_epi16(0x7E00)));
    return _mm512_mul_ps(_mm512_cvtph_ps(half), _mm512_set1_ps(256.0f));
  }

  static inline std::uint16_t halfOf(float x) {
    return static_cast<std::uint16_t>(_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT));
  }

  // Of pairs of bf16, the first and the second of each.
  static inline Floats loadFirstBf16(const std::uint16_t* p) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_loadu_si512(p), 16));
  }

  static inline Floats loadSecondBf16(const std::uint16_t* p) {
    const __m512i high = _mm512_set1_epi32(static_cast<int>(0xFFFF0000u));
    return _mm512_castsi512_ps(_mm512_and_si512(_mm512_loadu_si512(p), high));
  }

  static inline void store(float* p, Floats x) { _mm512_storeu_ps(p, x); }

  static inline Floats add(Floats a, Floats b) { return _mm512_add_ps(a, b); }

  static inline Floats sub(Floats a, Floats b) { return _mm512_sub_ps(a, b); }

  static inline Floats mul(Floats a, Floats b) { return _mm512_mul_ps(a, b); }

  static inline Floats div(Floats a, Floats b) { return _mm512_div_ps(a, b); }

  static inline Floats max(Floats a, Floats b) { return _mm512_max_ps(a, b); }

  static inline Floats min(Floats a, Floats b) { return _mm512_min_ps(a, b); }

  // a * b + c
  static inline Floats fma(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }

  static inline Floats round(Floats x) {
    return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }

  static inline Mask less(Floats a, Floats b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }

  static inline Floats select(Mask m, Floats yes, Floats no) {
    return _mm512_mask_blend_ps(m, no, yes);
  }

  // Lanes [begin, end) of x, others -infinity; any integers.
  static inline Floats keepLanes(Floats x, int begin, int end) {
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const Mask keep = _mm512_cmpge_epi32_mask(lane, _mm512_set1_epi32(begin)) &
                      _mm512_cmplt_epi32_mask(lane, _mm512_set1_epi32(end));
    return select(keep, x, set(-__builtin_inff()));
  }

  // x * 2^n for whole n in [-126, 127] and x in [0.5, 2).
  static inline Floats scale(Floats x, Floats n) { return _mm512_scalef_ps(x, n); }

  static inline float sum(Floats x) {
    __m256 h = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
  }

  static inline float top(Floats x) {
    __m256 h = _mm256_max_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
  }
};

}  // namespace kernels::cpu

#endif
