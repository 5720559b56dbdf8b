// Matrix kernels on AMX's bf16 tiles. Measured on a core at 3.5 GHz: a product of 16 x 16 sums by 32
// inputs takes 17 cycles, whether bf16 or of twice as many int8 values; scales for every 32 inputs
// would cost int8 another 50 for each. bf16 needs none, and unpacks 1,024 weights of four bits in 91
// cycles, in 109 with the products of 16 rows beside.
#include "kernels/cpu/amx_tiles.h"
#include "kernels/cpu/matmul_amx_bf16_impl.h"

namespace kernels::cpu {

void multiplyRoundedAmxBf16(const TileJob& job) {
  multiplyRoundedByTiles<AmxTiles>(job);
}

}  // namespace kernels::cpu
