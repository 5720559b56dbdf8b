// Activations rounded to bf16, to the nearest, ties to even; subnormal numbers become zero, as a
// tile register takes them anyway.
#include <immintrin.h>

#include "kernels/core/quant_group.h"
#include "kernels/cpu/tile_job.h"

namespace kernels::cpu {

namespace {

constexpr int kNumPairs = kGroupSize / 2;

inline __m512i roundGroup(const float* in) {
  return (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(in + 16), _mm512_loadu_ps(in));
}

}  // namespace

void roundRowAvx512Vnni(const float* in, int count, std::uint16_t* out, std::ptrdiff_t stride) {
  if (stride == 2) {
    for (int g = 0; g < count; ++g) {
      _mm512_storeu_si512(out + g * kGroupSize, roundGroup(in + g * kGroupSize));
    }
    return;
  }
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i at = _mm512_mullo_epi32(lanes, _mm512_set1_epi32(static_cast<int>(stride / 2)));
  for (int g = 0; g < count; ++g) {
    _mm512_i32scatter_epi32(out + g * kNumPairs * stride, at, roundGroup(in + g * kGroupSize), 4);
  }
}

}  // namespace kernels::cpu
