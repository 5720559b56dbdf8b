#include "kernels/cpu/attention_pairs_avx512.h"

namespace kernels::cpu {

namespace {

void attend(const AttentionItem& item, std::byte* scratch) {
  switch (item.planes.type) {
    case KvType::F32:
      return AttentionLoop<F32Form<Avx512>>(item, scratch).run();
    case KvType::F16:
      return AttentionLoop<F16Form<Avx512>>(item, scratch).run();
    case KvType::Fp8E4M3:
      return AttentionLoop<CodedForm<Avx512, Fp8Codec<Avx512>>>(item, scratch).run();
    case KvType::Int8:
      return AttentionLoop<CodedForm<Avx512, Int8Codec<Avx512>>>(item, scratch).run();
    case KvType::Int4:
      return AttentionLoop<CodedForm<Avx512, Int4Codec<Avx512>>>(item, scratch).run();
    case KvType::BF16:
      return AttentionLoop<WidenedBf16Form>(item, scratch).run();
  }
}

}  // namespace

const AttentionKernels kAvx512VnniAttention = {attend, mergePartials<F32Form<Avx512>>};

}  // namespace kernels::cpu
