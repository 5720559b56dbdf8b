// Products with plain float weights on AVX-512: lane = output column, activations as they are, one
// chain of fma over the inputs in order.
#include <immintrin.h>

#include "kernels/core/quant_group.h"
#include "kernels/cpu/tile_job.h"
#include "kernels/cpu/tile_traits.h"

namespace kernels::cpu {

namespace {

constexpr int kMaxRows = 6;

template <CodeLayout C>
inline __m512 loadWeights(const std::byte* p) {
  if constexpr (C == CodeLayout::F32) return _mm512_load_ps(reinterpret_cast<const float*>(p));
  const __m256i bits = _mm256_load_si256(reinterpret_cast<const __m256i*>(p));
  if constexpr (C == CodeLayout::F16) return _mm512_cvtph_ps(bits);
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

template <CodeLayout C, int Rows>
void multiplyRows(const TileJob& job, int tile, int firstRow) {
  constexpr int kSize = C == CodeLayout::F32 ? 4 : 2;
  const std::ptrdiff_t numInputs = std::ptrdiff_t{job.numGroups} * kGroupSize;
  const std::byte* weights = job.tiles + static_cast<std::size_t>(tile) * job.tileBytes;
  const float* x = job.floats + firstRow * numInputs;
  __m512 y[Rows][2];
  for (int i = 0; i < Rows; ++i) y[i][0] = y[i][1] = _mm512_setzero_ps();
  for (std::ptrdiff_t k = 0; k < numInputs; ++k) {
    const __m512 w0 = loadWeights<C>(weights), w1 = loadWeights<C>(weights + 16 * kSize);
    for (int i = 0; i < Rows; ++i) {
      const __m512 xi = _mm512_set1_ps(x[i * numInputs + k]);
      y[i][0] = _mm512_fmadd_ps(xi, w0, y[i][0]);
      y[i][1] = _mm512_fmadd_ps(xi, w1, y[i][1]);
    }
    weights += kTileColumns * kSize;
  }
  const int left = job.numColumns - tile * kTileColumns;
  const std::uint32_t mask = left >= kTileColumns ? ~0u : (1u << left) - 1u;
  for (int i = 0; i < Rows; ++i) {
    float* out = job.out + (firstRow + i) * job.ldOut + tile * kTileColumns;
    _mm512_mask_storeu_ps(out, static_cast<__mmask16>(mask), y[i][0]);
    _mm512_mask_storeu_ps(out + 16, static_cast<__mmask16>(mask >> 16), y[i][1]);
  }
}

template <CodeLayout C>
void multiplyAll(const TileJob& job) {
  for (int t = 0; t < job.numTiles; ++t) {
    forRowBlocks<kMaxRows>(job.numRows, [&](auto rows, int firstRow) {
      multiplyRows<C, decltype(rows)::value>(job, t, firstRow);
    });
  }
}

}  // namespace

void multiplyFloatsAvx512Vnni(const TileJob& job) {
  if (job.layout.codes == CodeLayout::F32) return multiplyAll<CodeLayout::F32>(job);
  if (job.layout.codes == CodeLayout::F16) return multiplyAll<CodeLayout::F16>(job);
  multiplyAll<CodeLayout::BF16>(job);
}

}  // namespace kernels::cpu
