// Quantisation of activations as quantized_group.h defines it, sixteen floats at a time.
#include <immintrin.h>

#include "kernels/core/quant_group.h"
#include "kernels/cpu/tile_job.h"

namespace kernels::cpu {

namespace {

constexpr int kBatch = 8;  // groups whose divisions are done at once

// Scales of kBatch groups and what their values are multiplied with.
struct alignas(32) Scales {
  float scale[kBatch], inverse[kBatch];
};

// The bits of the largest magnitude; they compare as the magnitudes do, and a NaN's are the
// largest.
unsigned largestBits(const float* in) {
  const __m512i sign = _mm512_set1_epi32(0x7FFFFFFF);
  const __m512i most = _mm512_max_epu32(_mm512_and_si512(_mm512_loadu_si512(in), sign),
                                        _mm512_and_si512(_mm512_loadu_si512(in + 16), sign));
  return _mm512_reduce_max_epu32(most);
}

Scales scalesOf(__m256i amaxBits) {
  const __m256 exact = _mm256_div_ps(_mm256_castsi256_ps(amaxBits), _mm256_set1_ps(127.0f));
  const __m256i up = _mm256_add_epi32(_mm256_castps_si256(exact), _mm256_set1_epi32(3));
  const __m256i cut = _mm256_and_si256(up, _mm256_set1_epi32(~3));
  const __mmask8 isNone = _mm256_cmplt_epu32_mask(amaxBits, _mm256_set1_epi32(kMinAmaxBits));
  const __mmask8 isBad = _mm256_cmpgt_epu32_mask(amaxBits, _mm256_set1_epi32(kMaxAmaxBits));
  const __m256 scale = _mm256_castsi256_ps(cut);
  const __m256 inverse = _mm256_div_ps(_mm256_set1_ps(1.0f), scale);
  Scales out;
  const auto isUsed = static_cast<__mmask8>(~isNone);
  _mm256_store_ps(out.scale, _mm256_mask_mov_ps(_mm256_maskz_mov_ps(isUsed, scale), isBad,
                                                _mm256_set1_ps(__builtin_nanf(""))));
  _mm256_store_ps(out.inverse,
                  _mm256_maskz_mov_ps(static_cast<__mmask8>(isUsed & ~isBad), inverse));
  return out;
}

// What follows the values in a QuantizedGroup, in its order.
//   halves, all: the sum of each half and of both, in its lanes and in every lane
__m256i factsOf(float scale, __m256i halves, __m256i all) {
  const __m256 scaled =
      _mm256_mul_ps(_mm256_set1_ps(scale),
                    _mm256_blend_ps(_mm256_setr_ps(1.0f, -kSumBiasValue, 0, 0, 0, 0, 0, 0),
                                    _mm256_cvtepi32_ps(all), 1 << 2));
  const __m256i ends = _mm256_permutevar8x32_epi32(halves, _mm256_setr_epi32(0, 0, 0, 0, 0, 0, 0, 4));
  const __m256i zeros = _mm256_setr_epi32(0, 0, 0, 8, 16, 128, 32, 32);
  const __m256i starts =
      _mm256_sub_epi32(_mm256_set1_epi32(kSumBias),
                       _mm256_mullo_epi32(_mm256_blend_epi32(all, ends, 0xC0), zeros));
  return _mm256_blend_epi32(_mm256_castps_si256(scaled), starts, 0xF8);
}

void quantizeGroup(const float* in, float scale, float inverse, QuantizedGroup& out) {
  // a NaN scale: whatever the values are, they become 0
  const __mmask16 usable = scale == scale ? 0xFFFF : 0;
  const __m512 factor = _mm512_set1_ps(inverse);
  const __m512i q0 = _mm512_maskz_cvtps_epi32(usable, _mm512_mul_ps(_mm512_loadu_ps(in), factor));
  const __m512i q1 =
      _mm512_maskz_cvtps_epi32(usable, _mm512_mul_ps(_mm512_loadu_ps(in + 16), factor));
  const __m256i values = _mm256_set_m128i(_mm512_cvtepi32_epi8(q1), _mm512_cvtepi32_epi8(q0));
  _mm256_store_si256(reinterpret_cast<__m256i*>(out.values), values);
  // sums of four, then of the four of each half, then of all
  __m256i halves = _mm256_dpbusd_epi32(_mm256_setzero_si256(), _mm256_set1_epi8(1), values);
  halves = _mm256_add_epi32(halves, _mm256_shuffle_epi32(halves, _MM_PERM_BADC));
  halves = _mm256_add_epi32(halves, _mm256_shuffle_epi32(halves, _MM_PERM_CDAB));
  const __m256i all = _mm256_add_epi32(halves, _mm256_permute4x64_epi64(halves, _MM_PERM_BADC));
  _mm256_store_si256(reinterpret_cast<__m256i*>(&out.scale), factsOf(scale, halves, all));
}

}  // namespace

void quantizeAvx512Vnni(const float* in, int count, QuantizedGroup* out) {
  for (int first = 0; first < count; first += kBatch) {
    const int size = count - first < kBatch ? count - first : kBatch;
    // by way of memory, they would wait for all that was stored before them
    __m256i bits = _mm256_setzero_si256();
    for (int g = 0; g < size; ++g) {
      const auto lane = static_cast<__mmask8>(1u << g);
      bits = _mm256_mask_set1_epi32(bits, lane, largestBits(in + (first + g) * kGroupSize));
    }
    const Scales scales = scalesOf(bits);
    for (int g = 0; g < size; ++g) {
      quantizeGroup(in + (first + g) * kGroupSize, scales.scale[g], scales.inverse[g],
                    out[first + g]);
    }
  }
}

}  // namespace kernels::cpu
