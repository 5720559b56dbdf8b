// Matrix kernels on AMX's bf16 tiles. Measured on a Sapphire Rapids core at 3.8 GHz: a product of
// 16 x 16 sums by 32 inputs takes 18 to 20 cycles, whether bf16 or of twice as many int8 values;
// scales for every 32 inputs would cost int8 another 32 for each. bf16 needs none, and unpacks 12
// weights a cycle.
#include "kernels/cpu/amx_tiles.h"
#include "kernels/cpu/matmul_amx_bf16_impl.h"

namespace kernels::cpu {

void multiplyRoundedAmxBf16(const TileJob& job) {
  multiplyRoundedByTiles<AmxTiles>(job);
}

}  // namespace kernels::cpu
