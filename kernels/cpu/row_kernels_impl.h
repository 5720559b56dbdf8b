// RowKernels over a vector type; included by the file of each instruction set.
#pragma once

#include "kernels/core/float_bits.h"
#include "kernels/core/kv_codec.h"
#include "kernels/cpu/row_kernels.h"
#include "kernels/cpu/vector_math.h"

namespace kernels::cpu {

// V: Avx2 or Avx512. Every function walks whole vectors, then the rest through a padded copy, so an
// element goes through the same operations wherever it lies.
template <typename V>
struct RowLoops {
  using Floats = typename V::Floats;
  static constexpr int kLanes = V::kLanes;

  static inline Floats loadPart(const float* p, int count) {
    float padded[kLanes] = {};
    for (int i = 0; i < count; ++i) padded[i] = p[i];
    return V::load(padded);
  }

  static inline void storePart(float* p, Floats x, int count) {
    float padded[kLanes];
    V::store(padded, x);
    for (int i = 0; i < count; ++i) p[i] = padded[i];
  }

  // out[i] = op(a[i], b[i])
  template <typename Op>
  static inline void map(const float* a, const float* b, int size, float* out, Op op) {
    int i = 0;
    for (; i + kLanes <= size; i += kLanes) V::store(out + i, op(V::load(a + i), V::load(b + i)));
    if (i < size) {
      storePart(out + i, op(loadPart(a + i, size - i), loadPart(b + i, size - i)), size - i);
    }
  }

  static float sumOfSquares(const float* x, int size) {
    Floats sums[4] = {V::zero(), V::zero(), V::zero(), V::zero()};
    int i = 0, turn = 0;
    for (; i + kLanes <= size; i += kLanes, turn = (turn + 1) & 3) {
      const Floats v = V::load(x + i);
      sums[turn] = V::fma(v, v, sums[turn]);
    }
    if (i < size) {
      const Floats v = loadPart(x + i, size - i);
      sums[turn] = V::fma(v, v, sums[turn]);
    }
    return V::sum(V::add(V::add(sums[0], sums[1]), V::add(sums[2], sums[3])));
  }

  static void rmsNorm(const float* x, const float* weight, int size, float eps, float* out) {
    const float mean = sumOfSquares(x, size) / static_cast<float>(size);
    const Floats factor = V::set(1.0f / __builtin_sqrtf(mean + eps));
    map(x, weight, size, out,
        [factor](Floats v, Floats w) { return V::mul(V::mul(v, factor), w); });
  }

  static void add(float* x, const float* y, int size) {
    map(x, y, size, x, [](Floats a, Floats b) { return V::add(a, b); });
  }

  static void scale(float* x, float factor, int size) {
    const Floats f = V::set(factor);
    map(x, x, size, x, [f](Floats a, Floats) { return V::mul(a, f); });
  }

  static void siluGate(const float* gate, const float* up, int size, float* out) {
    map(gate, up, size, out, [](Floats g, Floats u) {
      const Floats e = expOf<V>(V::sub(V::zero(), g));
      return V::mul(V::div(g, V::add(V::set(1.0f), e)), u);
    });
  }

  static void geluGate(const float* gate, const float* up, int size, float* out) {
    map(gate, up, size, out, [](Floats g, Floats u) {
      // sqrt(2 / pi) * (g + 0.044715 g^3)
      const Floats cubic = V::fma(V::mul(g, g), V::set(0.044715f), V::set(1.0f));
      const Floats inner = V::mul(V::mul(g, cubic), V::set(0.7978845608f));
      const Floats half = V::mul(g, V::set(0.5f));
      return V::mul(V::mul(half, V::add(V::set(1.0f), tanhOf<V>(inner))), u);
    });
  }

  static void softCap(float* x, float cap, int size) {
    const Floats c = V::set(cap), inverse = V::set(1.0f / cap);
    map(x, x, size, x,
        [c, inverse](Floats a, Floats) { return V::mul(c, tanhOf<V>(V::mul(a, inverse))); });
  }

  static void rotateHalves(const HeadJob& job, float* head) {
    float* first = head;
    float* second = head + job.numPairs;
    int i = 0;
    for (; i + kLanes <= job.numPairs; i += kLanes) {
      const Floats a = V::load(first + i), b = V::load(second + i);
      const Floats c = V::load(job.cosines + i), s = V::load(job.sines + i);
      V::store(first + i, V::sub(V::mul(a, c), V::mul(b, s)));
      V::store(second + i, V::add(V::mul(a, s), V::mul(b, c)));
    }
    for (; i < job.numPairs; ++i) {
      const float a = first[i], b = second[i];
      first[i] = a * job.cosines[i] - b * job.sines[i];
      second[i] = a * job.sines[i] + b * job.cosines[i];
    }
  }

  static void rotateNeighbours(const HeadJob& job, float* head) {
    for (int i = 0; i < job.numPairs; ++i) {
      const float a = head[2 * i], b = head[2 * i + 1];
      head[2 * i] = a * job.cosines[i] - b * job.sines[i];
      head[2 * i + 1] = a * job.sines[i] + b * job.cosines[i];
    }
  }

  static void finishHead(const HeadJob& job, float* head) {
    if (job.bias) add(head, job.bias, job.headDim);
    if (job.normWeight) rmsNorm(head, job.normWeight, job.headDim, job.eps, head);
    if (job.cosines) job.isInterleaved ? rotateNeighbours(job, head) : rotateHalves(job, head);
  }

  static void remainder(const float* x, const QuantizedGroup* groups, int count, float* out) {
    for (int g = 0; g < count; ++g, x += 32, out += 32) {
      for (int i = 0; i < 32; ++i) {
        out[i] = x[i] - groups[g].scale * static_cast<float>(groups[g].values[i]);
      }
    }
  }

  static void toBf16(const float* x, int size, std::uint16_t* out) {
    for (int i = 0; i < size; ++i) out[i] = bf16OfFloat(x[i]);
  }

  static void toF16(const float* x, int size, std::uint16_t* out) {
    for (int i = 0; i < size; ++i) out[i] = V::halfOf(x[i]);
  }

  static constexpr RowKernels table() {
    return {rmsNorm,    add,       scale,  siluGate, geluGate, softCap,
            finishHead, remainder, toBf16, toF16,    encodeKv, turnHead};
  }
};

}  // namespace kernels::cpu
