// Attention over a bf16 cache by dot products of pairs; other types as without them.
#include "kernels/cpu/attention_pairs_avx512.h"

namespace kernels::cpu {

namespace {

void attend(const AttentionItem& item, std::byte* scratch) {
  if (item.planes.type != KvType::BF16) return kAvx512VnniAttention.attend(item, scratch);
  AttentionLoop<Bf16Form>(item, scratch).run();
}

}  // namespace

const AttentionKernels kAvx512Bf16Attention = {attend, mergePartials<F32Form<Avx512>>};

}  // namespace kernels::cpu
