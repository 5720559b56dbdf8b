// Attention by AMX's bf16 tiles.
#include "kernels/cpu/amx_tiles.h"
#include "kernels/cpu/attention_tiles.h"

namespace kernels::cpu {

const AttentionKernels kAmxAttention = {attendByTiles<AmxTiles>, mergePartials<F32Form<Avx512>>};

}  // namespace kernels::cpu
