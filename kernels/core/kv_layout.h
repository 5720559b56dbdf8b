// Shape of the paged KV pool. The bytes inside a block are the backend's own business; this says how
// many there are and where position p of a sequence lives.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/core/dtype.h"

namespace kernels {

// Scales of quantised types (kv_codec.h) live in the block beside the values they belong to.
struct KvLayout {
  KvType type = KvType::BF16;
  int numLayers = 0, numKvHeads = 0, headDim = 0;
  int blockSize = 16;  // tokens, a power of two
  std::int64_t numBlocks = 0;

  int blockShift() const { return std::countr_zero(static_cast<unsigned>(blockSize)); }
  int blockOf(std::int64_t position) const { return static_cast<int>(position >> blockShift()); }
  int offsetOf(std::int64_t position) const { return static_cast<int>(position & (blockSize - 1)); }

  // Bytes of the values of one token in one layer, K and V together, without scales.
  std::size_t valueBytesPerTokenLayer() const;
  // Bytes of its scales (and zero points), K and V together; 0 for float types.
  std::size_t scaleBytesPerTokenLayer() const;
  std::size_t bytesPerToken() const {
    return static_cast<std::size_t>(numLayers) *
           (valueBytesPerTokenLayer() + scaleBytesPerTokenLayer());
  }
  std::size_t bytesPerBlock() const { return bytesPerToken() * static_cast<std::size_t>(blockSize); }
};

}  // namespace kernels
