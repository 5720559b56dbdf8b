// Keys and values in bf16 as AVX-512 multiplies them; included by attention files only.
#pragma once

#if defined(__AVX512F__)

#include <xmmintrin.h>

#include "kernels/cpu/attention_impl.h"
#include "kernels/cpu/vector_avx512.h"

namespace kernels::cpu {

namespace {

// Has all arithmetic take subnormal numbers for zero, as the products of bf16 pairs do.
class FlushSubnormals {
 public:
  explicit FlushSubnormals(int /*numRows*/ = 0) : m_control(_mm_getcsr()) {
    constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
    _mm_setcsr(m_control | kFlushToZero | kDenormalsAreZero);
  }

  ~FlushSubnormals() { _mm_setcsr(m_control); }

  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
  unsigned m_control;
};

// Pairs of bf16: the second of a pair is multiplied and added, then the first, each rounded once.
// Queries and weights are rounded to bf16 too. By multiply-adds of f32, for processors that have no
// dot product of pairs, or take two cycles for it and half a one for a multiply-add: 82 and 170
// GFLOP/s on a Xeon with AVX-512.
struct WidenedBf16Form : WidePairsForm<Avx512> {
  using Session = FlushSubnormals;

  // In the order of the dot product.
  static inline Floats multiplyAdd(Floats sum, Column c, Spread f) {
    return Vector::fma(f.first, c.first, Vector::fma(f.second, c.second, sum));
  }

  static inline void toFactors(const float* x, int size, float* out) {
    for (int i = 0; i < size; ++i) out[i] = floatOfBf16(bf16OfFloat(x[i]));
  }

  static inline Floats storeWeights(Floats weights, float* out) {
    const Floats rounded = roundToBf16(weights);
    _mm512_storeu_ps(out, rounded);
    return rounded;
  }

  // Nearest, ties to even. Of numbers that are not subnormal; the low bits of a NaN must be zero, as
  // they are in products of bf16.
  static inline Floats roundToBf16(Floats x) {
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
    return _mm512_castsi512_ps(_mm512_and_si512(up, _mm512_set1_epi32(static_cast<int>(0xFFFF0000u))));
  }
};

#if defined(__AVX512BF16__)

// The same bits by one dot product of each pair.
struct Bf16Form {
  using Vector = Avx512;
  using Floats = __m512;
  using Element = std::uint16_t;
  using Factor = std::uint16_t;
  using Column = __m512i;
  using Spread = __m512i;
  using Session = FlushSubnormals;
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

#endif

}  // namespace

}  // namespace kernels::cpu

#endif
