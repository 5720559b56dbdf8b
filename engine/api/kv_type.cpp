#include "engine/api/kv_type.h"

#include <utility>

namespace engine {

namespace {

constexpr std::pair<KvDType, kernels::KvType> kPairs[] = {
    {KvDType::F32, kernels::KvType::F32},   {KvDType::F16, kernels::KvType::F16},
    {KvDType::BF16, kernels::KvType::BF16}, {KvDType::Fp8, kernels::KvType::Fp8E4M3},
    {KvDType::Int8, kernels::KvType::Int8}, {KvDType::Int4, kernels::KvType::Int4},
};

}  // namespace

std::optional<kernels::KvType> kvTypeOf(KvDType dtype) {
  for (const auto& [asked, stored] : kPairs) {
    if (asked == dtype) return stored;
  }
  return std::nullopt;
}

KvDType kvDTypeOf(kernels::KvType type) {
  for (const auto& [asked, stored] : kPairs) {
    if (stored == type) return asked;
  }
  return KvDType::Default;
}

}  // namespace engine
