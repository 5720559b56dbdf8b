// Exponential and hyperbolic tangent over the vector types; an element's bits do not depend on its
// lane.
#pragma once

namespace kernels::cpu {

// 2^x, relative error below 2e-7. Below -126 exactly 0 (so a masked score weighs nothing), above
// 127 as 127. NaN stays NaN.
template <typename V>
static inline typename V::Floats exp2Of(typename V::Floats x) {
  using Floats = typename V::Floats;
  // Polynomial through the Chebyshev nodes of [-1/2, 1/2], highest power first.
  constexpr float kPowers[] = {1.546144470e-04f, 1.340042818e-03f, 9.618056679e-03f,
                               5.550327227e-02f, 2.402265092e-01f, 6.931472067e-01f};
  const Floats bounded = V::min(V::set(127.0f), x);  // second operand wins for NaN
  const Floats whole = V::round(bounded);
  const Floats rest = V::sub(bounded, whole);
  Floats p = V::set(kPowers[0]);
  for (int i = 1; i < 6; ++i) p = V::fma(p, rest, V::set(kPowers[i]));
  p = V::fma(p, rest, V::set(1.0f));
  const Floats power = V::max(V::set(-126.0f), whole);
  return V::select(V::less(x, V::set(-126.0f)), V::zero(), V::scale(p, power));
}

template <typename V>
static inline typename V::Floats expOf(typename V::Floats x) {
  return exp2Of<V>(V::mul(x, V::set(1.44269504f)));
}

// Absolute error below 3e-7.
template <typename V>
static inline typename V::Floats tanhOf(typename V::Floats x) {
  const typename V::Floats e = exp2Of<V>(V::mul(x, V::set(2.88539008f)));  // e^2x
  return V::sub(V::set(1.0f), V::div(V::set(2.0f), V::add(e, V::set(1.0f))));
}

}  // namespace kernels::cpu
