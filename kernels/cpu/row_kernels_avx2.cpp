#include "kernels/cpu/row_kernels_impl.h"
#include "kernels/cpu/vector_avx2.h"

namespace kernels::cpu {

const RowKernels kAvx2RowKernels = RowLoops<Avx2>::table();

}  // namespace kernels::cpu
