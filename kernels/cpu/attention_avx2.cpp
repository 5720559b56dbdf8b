#include "kernels/cpu/attention_impl.h"
#include "kernels/cpu/vector_avx2.h"

namespace kernels::cpu {

namespace {

// Pairs of bf16 widened to f32: the first of a pair lies in the low half of its 32 bits.
struct Bf16Form : WideForm<Avx2> {
  using Element = std::uint16_t;
  static constexpr int kDepth = 2;

  struct Column {
    __m256 first, second;
  };

  struct Spread {
    __m256 first, second;
  };

  template <PairPart kPart>
  static inline Column load(const Element* p) {
    const __m256i pairs = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    Column column{_mm256_setzero_ps(), _mm256_setzero_ps()};
    if (kPart != PairPart::Second) column.first = _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16));
    if (kPart != PairPart::First) {
      const __m256i high = _mm256_set1_epi32(static_cast<int>(0xFFFF0000u));
      column.second = _mm256_castsi256_ps(_mm256_and_si256(pairs, high));
    }
    return column;
  }

  static inline Spread spread(const float* f) {
    return {_mm256_set1_ps(f[0]), _mm256_set1_ps(f[1])};
  }

  static inline __m256 multiplyAdd(__m256 sum, Column c, Spread f) {
    return _mm256_fmadd_ps(f.second, c.second, _mm256_fmadd_ps(f.first, c.first, sum));
  }
};

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
      return AttentionLoop<Bf16Form>(item, scratch).run();
  }
}

}  // namespace

const AttentionKernels kAvx2Attention = {attend, mergePartials<F32Form<Avx2>>};

}  // namespace kernels::cpu
