// Matrix kernels on AVX2, whose dot instruction is made of three.
#include "kernels/cpu/matmul_ymm_impl.h"

namespace kernels::cpu {

void multiplyQuantizedAvx2(const TileJob& job) {
  dispatchQuantized(job.layout, [&job](auto codes, auto scales) {
    multiplyQuantized<decltype(codes)::value, decltype(scales)::value>(job);
  });
}

}  // namespace kernels::cpu
