// The AMX kernels on emulated tiles, so that tests see them work where there is AVX-512 but no AMX.
#include "kernels/cpu/attention_tiles.h"
#include "kernels/cpu/emulated_tiles.h"

namespace kernels::cpu {

const AttentionKernels kEmulatedAmxAttention = {attendByTiles<EmulatedTiles>,
                                                mergePartials<F32Form<Avx512>>};

}  // namespace kernels::cpu
