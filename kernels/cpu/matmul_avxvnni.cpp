// Matrix kernels on AVX-VNNI.
#include "kernels/cpu/matmul_ymm_impl.h"

namespace kernels::cpu {

void multiplyQuantizedAvxVnni(const TileJob& job) {
  dispatchQuantized(job.layout, [&job](auto codes, auto scales) {
    multiplyQuantized<decltype(codes)::value, decltype(scales)::value>(job);
  });
}

}  // namespace kernels::cpu
