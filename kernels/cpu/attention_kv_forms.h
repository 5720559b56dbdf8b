// How keys and values of each cache type enter the products; included by attention files only.
#pragma once

#include <cstdint>

#include "kernels/core/float_bits.h"

namespace kernels::cpu {

// Which tokens of a pair count.
enum class PairPart { Both, First, Second };

// A form has: Element as the cache holds it; Factor as a query or a weight is held; kDepth,
// elements of a lane that one multiplyAdd takes in; Column, one register (pair) of cache elements;
// Spread, a factor in all lanes. It may have a Session, which stands around the work on a segment.
template <typename V>
struct WideForm {
  using Vector = V;
  using Floats = typename V::Floats;
  using Factor = float;
  using Column = Floats;
  using Spread = Floats;
  static constexpr int kDepth = 1;

  static inline Spread spread(const Factor* f) { return V::set(*f); }

  static inline Floats multiplyAdd(Floats sum, Column c, Spread f) { return V::fma(f, c, sum); }

  static inline void toFactors(const float* x, int size, Factor* out) {
    for (int i = 0; i < size; ++i) out[i] = x[i];
  }

  // Keeps V::kLanes weights as factors; returns them as the products will see them.
  static inline Floats storeWeights(Floats weights, Factor* out) {
    V::store(out, weights);
    return weights;
  }
};

// Pairs of bf16 widened to f32: the first of a pair lies in the low half of its 32 bits.
template <typename V>
struct WidePairsForm : WideForm<V> {
  using Floats = typename V::Floats;
  using Element = std::uint16_t;
  static constexpr int kDepth = 2;

  struct Column {
    Floats first, second;
  };

  using Spread = Column;

  template <PairPart kPart>
  static inline Column load(const Element* p) {
    return {kPart == PairPart::Second ? V::zero() : V::loadFirstBf16(p),
            kPart == PairPart::First ? V::zero() : V::loadSecondBf16(p)};
  }

  static inline Spread spread(const float* f) { return {V::set(f[0]), V::set(f[1])}; }

  static inline Floats multiplyAdd(Floats sum, Column c, Spread f) {
    return V::fma(f.second, c.second, V::fma(f.first, c.first, sum));
  }
};

template <typename V>
struct F32Form : WideForm<V> {
  using Element = float;

  template <PairPart>
  static inline typename V::Floats load(const Element* p) {
    return V::load(p);
  }
};

template <typename V>
struct F16Form : WideForm<V> {
  using Element = std::uint16_t;

  template <PairPart>
  static inline typename V::Floats load(const Element* p) {
    return V::loadHalves(p);
  }
};

}  // namespace kernels::cpu
