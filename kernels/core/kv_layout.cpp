#include "kernels/core/kv_layout.h"

namespace kernels {

std::size_t KvLayout::valueBytesPerTokenLayer() const {
  const std::size_t values =
      2 * static_cast<std::size_t>(numKvHeads) * static_cast<std::size_t>(headDim);
  switch (type) {
    case KvType::F32: return values * 4;
    case KvType::F16:
    case KvType::BF16: return values * 2;
    case KvType::Fp8E4M3:
    case KvType::Int8: return values;
    case KvType::Int4: return values / 2;
  }
  return 0;
}

std::size_t KvLayout::scaleBytesPerTokenLayer() const {
  const std::size_t vectors = 2 * static_cast<std::size_t>(numKvHeads);  // one of K, one of V a head
  switch (type) {
    case KvType::Int8: return vectors * 2;      // f16 scale
    case KvType::Int4: return vectors * 2 * 2;  // f16 scale and f16 zero point
    default: return 0;
  }
}

}  // namespace kernels
