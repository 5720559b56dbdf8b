// Keys and values in bf16 as AVX-512 multiplies them; included by attention files only.
#pragma once

#if defined(__AVX512BF16__)

#include "kernels/cpu/attention_impl.h"
#include "kernels/cpu/vector_avx512.h"

namespace kernels::cpu {

namespace {

// Pairs of bf16 go into one dot product each; queries and weights are rounded to bf16 too.
struct Bf16Form {
  using Vector = Avx512;
  using Floats = __m512;
  using Element = std::uint16_t;
  using Factor = std::uint16_t;
  using Column = __m512i;
  using Spread = __m512i;
  static constexpr int kDepth = 2;

  template <PairPart kPart>
  static inline Column load(const Element* p) {
    const __m512i pairs = _mm512_loadu_si512(p);
    if (kPart == PairPart::First) return _mm512_and_si512(pairs, _mm512_set1_epi32(0xFFFF));
    if (kPart == PairPart::Second) return _mm512_slli_epi32(_mm512_srli_epi32(pairs, 16), 16);
    return pairs;
  }

  static inline Spread spread(const Factor* f) {
    int pair;
    __builtin_memcpy(&pair, f, sizeof(pair));
    return _mm512_set1_epi32(pair);
  }

  static inline Floats multiplyAdd(Floats sum, Column c, Spread f) {
    return _mm512_dpbf16_ps(sum, (__m512bh)c, (__m512bh)f);
  }

  static inline void toFactors(const float* x, int size, Factor* out) {
    for (int i = 0; i < size; ++i) out[i] = bf16OfFloat(x[i]);
  }

  static inline Floats storeWeights(Floats weights, Factor* out) {
    const __m256i halves = (__m256i)_mm512_cvtneps_pbh(weights);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), halves);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
  }
};

}  // namespace

}  // namespace kernels::cpu

#endif
