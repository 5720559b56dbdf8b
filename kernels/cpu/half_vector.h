// Arithmetic of f16, 32 lanes at a time: the processor's own in files built for it. Elsewhere the
// same bits by way of f64, in which every such product and sum is exact.
#pragma once

#include <immintrin.h>

namespace kernels::cpu {

// Each including file has its own copy: one built with more flags must not serve another.
namespace {

#if defined(__AVX512FP16__)

// a * b + c
[[gnu::always_inline]] inline __m512i fmaHalves(__m512i a, __m512i b, __m512i c) {
  return _mm512_castph_si512(
      _mm512_fmadd_ph(_mm512_castsi512_ph(a), _mm512_castsi512_ph(b), _mm512_castsi512_ph(c)));
}

[[gnu::always_inline]] inline __m512i mulHalves(__m512i a, __m512i b) {
  return _mm512_castph_si512(_mm512_mul_ph(_mm512_castsi512_ph(a), _mm512_castsi512_ph(b)));
}

// Of signed numbers.
[[gnu::always_inline]] inline __m512i halvesOfInts(__m512i lanes) {
  return _mm512_castph_si512(_mm512_cvtepi16_ph(lanes));
}

#else

inline __m512d widenHalves(__m128i halves) {
  return _mm512_cvtps_pd(_mm256_cvtph_ps(halves));
}

// By way of f32, where an inexact number is made odd: then it is rounded once only, as f16.
inline __m128i narrowToHalves(__m512d x) {
  const __m256 cut = _mm512_cvt_roundpd_ps(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  const __mmask8 isInexact = _mm512_cmp_pd_mask(_mm512_cvtps_pd(cut), x, _CMP_NEQ_UQ);
  const __m256i bits = _mm256_castps_si256(cut);
  const __m256i odd = _mm256_mask_or_epi32(bits, isInexact, bits, _mm256_set1_epi32(1));
  return _mm256_cvtps_ph(_mm256_castsi256_ps(odd), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

// operation(eight lanes of a, of b, of c), for all of them.
template <typename Operation>
inline __m512i forEights(__m512i a, __m512i b, __m512i c, const Operation& operation) {
  alignas(64) __m128i from[3][4], to[4];
  _mm512_store_si512(from[0], a);
  _mm512_store_si512(from[1], b);
  _mm512_store_si512(from[2], c);
  for (int i = 0; i < 4; ++i) {
    to[i] = narrowToHalves(operation(from[0][i], from[1][i], from[2][i]));
  }
  return _mm512_load_si512(to);
}

inline __m512i fmaHalves(__m512i a, __m512i b, __m512i c) {
  return forEights(a, b, c, [](__m128i x, __m128i y, __m128i z) {
    return _mm512_fmadd_pd(widenHalves(x), widenHalves(y), widenHalves(z));
  });
}

inline __m512i mulHalves(__m512i a, __m512i b) {
  return forEights(a, b, b, [](__m128i x, __m128i y, __m128i) {
    return _mm512_mul_pd(widenHalves(x), widenHalves(y));
  });
}

inline __m512i halvesOfInts(__m512i lanes) {
  return forEights(lanes, lanes, lanes, [](__m128i x, __m128i, __m128i) {
    return _mm512_cvtepi32_pd(_mm256_cvtepi16_epi32(x));
  });
}

#endif

}  // namespace

}  // namespace kernels::cpu
