#include "kernels/cpu/attention_impl.h"
#include "kernels/cpu/vector_avx2.h"

namespace kernels::cpu {

namespace {

void attend(const AttentionItem& item, std::byte* scratch) {
  switch (item.planes.type) {
    case KvType::F32:
      return AttentionLoop<F32Form<Avx2>>(item, scratch).run();
    case KvType::F16:
      return AttentionLoop<F16Form<Avx2>>(item, scratch).run();
    case KvType::Fp8E4M3:
      return AttentionLoop<CodedForm<Avx2, Fp8Codec<Avx2>>>(item, scratch).run();
    case KvType::Int8:
      return AttentionLoop<CodedForm<Avx2, Int8Codec<Avx2>>>(item, scratch).run();
    case KvType::Int4:
      return AttentionLoop<CodedForm<Avx2, Int4Codec<Avx2>>>(item, scratch).run();
    case KvType::BF16:
      return AttentionLoop<WidePairsForm<Avx2>>(item, scratch).run();
  }
}

}  // namespace

const AttentionKernels kAvx2Attention = {attend, mergePartials<F32Form<Avx2>>};

}  // namespace kernels::cpu
