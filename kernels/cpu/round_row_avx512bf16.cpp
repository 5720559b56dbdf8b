// Activations rounded to bf16, to the nearest, ties to even.
#include <immintrin.h>

#include "kernels/core/quant_group.h"
#include "kernels/cpu/tile_job.h"

namespace kernels::cpu {

void roundRowAvx512Bf16(const float* in, int count, std::uint16_t* out) {
  const __m512 factor = _mm512_set1_ps(kRoundedInputFactor);
  for (; count > 0; --count, in += kGroupSize, out += kGroupSize) {
    const __m512 low = _mm512_mul_ps(_mm512_loadu_ps(in), factor);
    const __m512 high = _mm512_mul_ps(_mm512_loadu_ps(in + kGroupSize / 2), factor);
    _mm512_storeu_si512(out, (__m512i)_mm512_cvtne2ps_pbh(high, low));
  }
}

}  // namespace kernels::cpu
