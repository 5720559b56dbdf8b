#include "kernels/cpu/row_kernels_impl.h"
#include "kernels/cpu/vector_avx512.h"

namespace kernels::cpu {

const RowKernels kAvx512VnniRowKernels = RowLoops<Avx512>::table();

}  // namespace kernels::cpu
