// Matrix kernels on AMX int8 tiles; few rows are left to AVX-512, whose results are the same.
// Measured on a Sapphire Rapids core, L2-resident, 512 rows: a unit of 16 x 16 sums takes 25 cycles
// in tiles alone and 32 to scale, but while tiles are in use one of the two multipliers rests, so
// that both together take 60 to 90; 88 to 100 by AVX-512 alone.
#include "kernels/cpu/amx_tiles.h"
#include "kernels/cpu/matmul_amx_int8_impl.h"

namespace kernels::cpu {

namespace {

// Below, AVX-512 is faster: its registers take what is left of every sum with both multipliers.
constexpr int kMinTileRows = 64;

}  // namespace

void multiplyQuantizedAmx(const TileJob& job) {
  if (job.numRows < kMinTileRows) return multiplyQuantizedAvx512Vnni(job);
  multiplyQuantizedByTiles<AmxTiles>(job);
}

}  // namespace kernels::cpu
