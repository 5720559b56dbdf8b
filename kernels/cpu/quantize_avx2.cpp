// Quantisation of activations as quantized_group.h defines it, eight floats at a time.
#include <immintrin.h>

#include "kernels/core/quant_group.h"
#include "kernels/cpu/tile_job.h"

namespace kernels::cpu {

namespace {

constexpr int kLanes = 8;

unsigned largestLane(__m256i v) {
  __m128i m = _mm_max_epu32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0x4E));
  m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0xB1));
  return static_cast<unsigned>(_mm_cvtsi128_si32(m));
}

int laneSum(__m256i v) {
  __m128i m = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  m = _mm_add_epi32(m, _mm_shuffle_epi32(m, 0x4E));
  m = _mm_add_epi32(m, _mm_shuffle_epi32(m, 0xB1));
  return _mm_cvtsi128_si32(m);
}

// Eight floats of a group as integers, stored as bytes; returns the integers.
__m256i storeValues(__m256 x, __m256 factor, __m256i usable, std::int8_t* out) {
  const __m256i q = _mm256_and_si256(_mm256_cvtps_epi32(_mm256_mul_ps(x, factor)), usable);
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_packs_epi16(words, words));
  return q;
}

void quantizeGroup(const float* in, QuantizedGroup& out) {
  __m256 x[4];
  __m256i most = _mm256_setzero_si256();
  for (int j = 0; j < 4; ++j) {
    x[j] = _mm256_loadu_ps(in + kLanes * j);
    // magnitudes compare as their bits, and a NaN's are the largest
    most = _mm256_max_epu32(
        most, _mm256_and_si256(_mm256_castps_si256(x[j]), _mm256_set1_epi32(0x7FFFFFFF)));
  }
  const unsigned amaxBits = largestLane(most);
  const bool isUsable = amaxBits <= kMaxAmaxBits;
  float scale = 0.0f, inverse = 0.0f;
  if (amaxBits >= kMinAmaxBits && isUsable) {
    const float exact = __builtin_bit_cast(float, amaxBits) / 127.0f;
    scale = __builtin_bit_cast(float, (__builtin_bit_cast(unsigned, exact) + 3u) & ~3u);
    inverse = 1.0f / scale;
  }
  const __m256 factor = _mm256_set1_ps(inverse);
  const __m256i usable = _mm256_set1_epi32(isUsable ? -1 : 0);
  const __m256i low = _mm256_add_epi32(storeValues(x[0], factor, usable, out.values),
                                       storeValues(x[1], factor, usable, out.values + 8));
  const __m256i high = _mm256_add_epi32(storeValues(x[2], factor, usable, out.values + 16),
                                        storeValues(x[3], factor, usable, out.values + 24));
  const int sum0 = laneSum(low), sum1 = laneSum(high);
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

void quantizeAvx2(const float* in, int count, QuantizedGroup* out) {
  for (int g = 0; g < count; ++g) quantizeGroup(in + g * kGroupSize, out[g]);
}

}  // namespace kernels::cpu
