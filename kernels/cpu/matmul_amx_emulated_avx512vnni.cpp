// The AMX kernels on emulated tiles, so that tests see them work where there is AVX-512 but no AMX.
#include "kernels/cpu/emulated_tiles.h"
#include "kernels/cpu/matmul_amx_int8_impl.h"

namespace kernels::cpu {

void multiplyQuantizedEmulatedAmx(const TileJob& job) {
  multiplyQuantizedByTiles<EmulatedTiles>(job);
}

}  // namespace kernels::cpu
