// Products with plain float weights on AVX2: the same chains of fma as the 512-bit file, eight
// columns a vector.
#include <immintrin.h>

#include "kernels/core/quant_group.h"
#include "kernels/cpu/tile_job.h"
#include "kernels/cpu/tile_traits.h"

namespace kernels::cpu {

namespace {

constexpr int kMaxRows = 3;
constexpr int kLanes = 8, kVectors = kTileColumns / kLanes;

template <CodeLayout C>
inline __m256 loadWeights(const std::byte* p) {
  if constexpr (C == CodeLayout::F32) return _mm256_load_ps(reinterpret_cast<const float*>(p));
  const __m128i bits = _mm_load_si128(reinterpret_cast<const __m128i*>(p));
  if constexpr (C == CodeLayout::F16) return _mm256_cvtph_ps(bits);
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}

template <CodeLayout C, int Rows>
void multiplyRows(const TileJob& job, int tile, int firstRow) {
  constexpr int kSize = C == CodeLayout::F32 ? 4 : 2;
  const std::ptrdiff_t numInputs = std::ptrdiff_t{job.numGroups} * kGroupSize;
  const std::byte* weights = job.tiles + static_cast<std::size_t>(tile) * job.tileBytes;
  const float* x = job.floats + firstRow * numInputs;
  __m256 y[Rows][kVectors];
  for (int i = 0; i < Rows; ++i) {
    for (int j = 0; j < kVectors; ++j) y[i][j] = _mm256_setzero_ps();
  }
  for (std::ptrdiff_t k = 0; k < numInputs; ++k) {
    for (int j = 0; j < kVectors; ++j) {
      const __m256 w = loadWeights<C>(weights + j * kLanes * kSize);
      for (int i = 0; i < Rows; ++i) {
        y[i][j] = _mm256_fmadd_ps(_mm256_set1_ps(x[i * numInputs + k]), w, y[i][j]);
      }
    }
    weights += kTileColumns * kSize;
  }
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  for (int j = 0; j < kVectors; ++j) {
    const int left = job.numColumns - tile * kTileColumns - j * kLanes;
    const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(left), lanes);
    for (int i = 0; i < Rows; ++i) {
      float* out = job.out + (firstRow + i) * job.ldOut + tile * kTileColumns;
      _mm256_maskstore_ps(out + j * kLanes, mask, y[i][j]);
    }
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

void multiplyFloatsAvx2(const TileJob& job) {
  if (job.layout.codes == CodeLayout::F32) return multiplyAll<CodeLayout::F32>(job);
  if (job.layout.codes == CodeLayout::F16) return multiplyAll<CodeLayout::F16>(job);
  multiplyAll<CodeLayout::BF16>(job);
}

}  // namespace kernels::cpu
