// Quantisation of activations as quantized_group.h defines it, sixteen floats at a time.
#include <immintrin.h>

#include "kernels/core/quant_group.h"
#include "kernels/cpu/tile_job.h"

namespace kernels::cpu {

namespace {

void quantizeGroup(const float* in, QuantizedGroup& out) {
  const __m512 x0 = _mm512_loadu_ps(in), x1 = _mm512_loadu_ps(in + 16);
  // magnitudes compare as their bits, and a NaN's are the largest
  const __m512i sign = _mm512_set1_epi32(0x7FFFFFFF);
  const __m512i most = _mm512_max_epu32(_mm512_and_si512(_mm512_castps_si512(x0), sign),
                                        _mm512_and_si512(_mm512_castps_si512(x1), sign));
  const unsigned amaxBits = _mm512_reduce_max_epu32(most);
  float scale = 0.0f, inverse = 0.0f;
  if (amaxBits >= kMinAmaxBits && amaxBits <= kMaxAmaxBits) {
    const float exact = __builtin_bit_cast(float, amaxBits) / 127.0f;
    scale = __builtin_bit_cast(float, (__builtin_bit_cast(unsigned, exact) + 3u) & ~3u);
    inverse = 1.0f / scale;
  }
  const bool isUsable = amaxBits <= kMaxAmaxBits;
  const __mmask16 usable = isUsable ? 0xFFFF : 0;
  const __m512 factor = _mm512_set1_ps(inverse);
  const __m512i q0 = _mm512_maskz_cvtps_epi32(usable, _mm512_mul_ps(x0, factor));
  const __m512i q1 = _mm512_maskz_cvtps_epi32(usable, _mm512_mul_ps(x1, factor));
  _mm_store_si128(reinterpret_cast<__m128i*>(out.values), _mm512_cvtepi32_epi8(q0));
  _mm_store_si128(reinterpret_cast<__m128i*>(out.values + 16), _mm512_cvtepi32_epi8(q1));
  const int sum0 = _mm512_reduce_add_epi32(q0), sum1 = _mm512_reduce_add_epi32(q1);
  if (!isUsable) scale = __builtin_nanf("");
  out.scale = scale;
  out.shift = -kSumBiasValue * scale;
  out.scaledSum = scale * static_cast<float>(sum0 + sum1);
  out.start8 = kSumBias - 8 * (sum0 + sum1);
  out.start16 = kSumBias - 16 * (sum0 + sum1);
  out.start128 = kSumBias - 128 * (sum0 + sum1);
  out.start32[0] = kSumBias - 32 * sum0;
  out.start32[1] = kSumBias - 32 * sum1;
}

}  // namespace

void quantizeAvx512Vnni(const float* in, int count, QuantizedGroup* out) {
  for (int g = 0; g < count; ++g) quantizeGroup(in + g * kGroupSize, out[g]);
}

}  // namespace kernels::cpu
