// The element-wise parts of a decoder, one table for each instruction set. Plain data and pointers:
// files built for any instruction set may include it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/core/dtype.h"
#include "kernels/core/hadamard.h"
#include "kernels/cpu/quantized_group.h"

namespace kernels::cpu {

// One head after its projection: + bias, * norm, rope. Null pointers leave a stage out.
struct HeadJob {
  const float* bias = nullptr;        // [headDim]
  const float* normWeight = nullptr;  // [headDim]
  float eps = 0.0f;
  const float* cosines = nullptr;  // [numPairs]
  const float* sines = nullptr;    // [numPairs]
  int headDim = 0, numPairs = 0;
  bool isInterleaved = false;
};

// Sizes need not be multiples of anything; a result's bits depend on its own row only.
struct RowKernels {
  // out = x / sqrt(mean(x^2) + eps) * weight; out may be x
  void (*rmsNorm)(const float* x, const float* weight, int size, float eps, float* out);
  // x += y
  void (*add)(float* x, const float* y, int size);
  // x *= factor
  void (*scale)(float* x, float factor, int size);
  // out = silu(gate) * up, out = gelu(gate) * up; out may be gate
  void (*siluGate)(const float* gate, const float* up, int size, float* out);
  void (*geluGate)(const float* gate, const float* up, int size, float* out);
  // x = cap * tanh(x / cap)
  void (*softCap)(float* x, float cap, int size);
  void (*finishHead)(const HeadJob& job, float* head);
  // out[count * 32] = x - what the groups hold of it
  void (*remainder)(const float* x, const QuantizedGroup* groups, int count, float* out);
  // Nearest, ties to even.
  void (*toBf16)(const float* x, int size, std::uint16_t* out);
  void (*toF16)(const float* x, int size, std::uint16_t* out);
  // As kernels/core/kv_codec.h and hadamard.h say, bit for bit.
  void (*encodeKv)(KvType type, const float* x, int headDim, std::byte* out);
  void (*turnHead)(float* x, int headDim, Turn turn);
};

extern const RowKernels kAvx2RowKernels;
extern const RowKernels kAvx512VnniRowKernels;

}  // namespace kernels::cpu
