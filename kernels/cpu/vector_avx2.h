// Eight floats at a time, for files built with AVX2, FMA and F16C.
#pragma once

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)

#include <cstddef>
#include <cstdint>

#include <immintrin.h>

namespace kernels::cpu {

struct Avx2 {
  using Floats = __m256;
  using Mask = __m256;

  static constexpr int kLanes = 8;
  static constexpr int kMaxSums = 12;  // running sums that fit the registers beside their operands

  static inline Floats zero() { return _mm256_setzero_ps(); }

  static inline Floats set(float x) { return _mm256_set1_ps(x); }

  static inline Floats load(const float* p) { return _mm256_loadu_ps(p); }

  static inline Floats loadHalves(const std::uint16_t* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }

  static inline __m128i loadBytes(const std::byte* p) {
    return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  }

  static inline Floats loadInt8(const std::byte* p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(loadBytes(p)));
  }

  // The low and the high four bits of each byte.
  static inline void loadNibbles(const std::byte* p, Floats& low, Floats& high) {
    const __m256i pairs = _mm256_cvtepu8_epi32(loadBytes(p));
    low = _mm256_cvtepi32_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(15)));
    high = _mm256_cvtepi32_ps(_mm256_srli_epi32(pairs, 4));
  }

  // As f16 a code reads 2^8 too small, and NaN as a number.
  static inline Floats loadFp8(const std::byte* p) {
    const __m128i code = _mm_cvtepu8_epi16(loadBytes(p));
    const __m128i magnitude = _mm_and_si128(code, _mm_set1_epi16(0x7F));
    const __m128i nan = _mm_cmpeq_epi16(magnitude, _mm_set1_epi16(0x7F));
    const __m128i sign = _mm_slli_epi16(_mm_srli_epi16(code, 7), 15);
    const __m128i half = _mm_or_si128(_mm_or_si128(sign, _mm_slli_epi16(magnitude, 7)),
                                      _mm_and_si128(nan, _mm_set1_epi16(0x7E00)));
    return _mm256_mul_ps(_mm256_cvtph_ps(half), _mm256_set1_ps(256.0f));
  }

  static inline std::uint16_t halfOf(float x) {
    return static_cast<std::uint16_t>(_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT));
  }

  // Of pairs of bf16, the first and the second of each.
  static inline Floats loadFirstBf16(const std::uint16_t* p) {
    const __m256i pairs = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16));
  }

  static inline Floats loadSecondBf16(const std::uint16_t* p) {
    const __m256i pairs = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const __m256i high = _mm256_set1_epi32(static_cast<int>(0xFFFF0000u));
    return _mm256_castsi256_ps(_mm256_and_si256(pairs, high));
  }

  static inline void store(float* p, Floats x) { _mm256_storeu_ps(p, x); }

  static inline Floats add(Floats a, Floats b) { return _mm256_add_ps(a, b); }

  static inline Floats sub(Floats a, Floats b) { return _mm256_sub_ps(a, b); }

  static inline Floats mul(Floats a, Floats b) { return _mm256_mul_ps(a, b); }

  static inline Floats div(Floats a, Floats b) { return _mm256_div_ps(a, b); }

  static inline Floats max(Floats a, Floats b) { return _mm256_max_ps(a, b); }

  static inline Floats min(Floats a, Floats b) { return _mm256_min_ps(a, b); }

  // a * b + c
  static inline Floats fma(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }

  static inline Floats round(Floats x) {
    return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }

  static inline Mask less(Floats a, Floats b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }

  static inline Floats select(Mask m, Floats yes, Floats no) {
    return _mm256_blendv_ps(no, yes, m);
  }

  // Lanes [begin, end) of x, others -infinity; any integers.
  static inline Floats keepLanes(Floats x, int begin, int end) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i low = _mm256_cmpgt_epi32(_mm256_set1_epi32(begin), lane);
    const __m256i keep = _mm256_andnot_si256(low, _mm256_cmpgt_epi32(_mm256_set1_epi32(end), lane));
    return select(_mm256_castsi256_ps(keep), x, set(-__builtin_inff()));
  }

  // x * 2^n for whole n in [-126, 127] and x in [0.5, 2).
  static inline Floats scale(Floats x, Floats n) {
    const __m256i shift = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(x), shift));
  }

  static inline float sum(Floats x) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
  }

  static inline float top(Floats x) {
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
  }
};

}  // namespace kernels::cpu

#endif
