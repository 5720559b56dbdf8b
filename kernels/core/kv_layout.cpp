#include "kernels/core/kv_layout.h"

#include "kernels/core/kv_codec.h"

namespace kernels {

std::size_t KvLayout::valueBytesPerTokenLayer() const {
  return 2 * static_cast<std::size_t>(numKvHeads) * kvCodeBytes(type, headDim);
}

std::size_t KvLayout::scaleBytesPerTokenLayer() const {
  const std::size_t vectors = 2 * static_cast<std::size_t>(numKvHeads);  // one of K, one of V a head
  return vectors * 2 * static_cast<std::size_t>(kvParameters(type, headDim));
}

}  // namespace kernels
