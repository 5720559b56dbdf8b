// Where the keys and values of one layer and KV head lie. Plain data: files built for any
// instruction set may include it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/core/dtype.h"

namespace kernels::cpu {

// Tokens that a K or V group holds side by side in blocks of at least that many.
inline constexpr int kGroupTokens = 16;

// Bytes: [block][layer][kv head][K plane, V plane], a plane being the elements of blockSize tokens and
// then, in quantised types, their parameters: [parameter][blockSize] f16 (kernels/core/kv_codec.h).
// The planes of blocks of >= 16 tokens are groups of 16 tokens, laid out for the dot products:
//              K                          V
//   F32, F16   [headDim][16 tokens]       [16 tokens][headDim]
//   BF16       [headDim / 2][16][2]       [16 / 2][headDim][2]      (pairs that one dot takes in)
//   quantised  [codeBytes][16]            [16][codeBytes]
// Smaller blocks hold [token][headDim] in both planes and are regrouped while they are read.
struct KvPlanes {
  KvType type = KvType::BF16;
  int headDim = 0, blockSize = 0, blockShift = 0;
  const std::byte* pool = nullptr;  // K plane of (layer, kv head) in block 0
  std::size_t blockBytes = 0;       // from block to block
  std::size_t planeBytes = 0;       // from the K plane to the V plane
  std::size_t codeBytes = 0;        // of one token in a plane
  int numParameters = 0;            // of one token in a plane
};

// `static`: every file keeps its own copy, built for its own instruction set.
static inline bool isGrouped(const KvPlanes& planes) {
  return planes.blockSize >= kGroupTokens;
}

}  // namespace kernels::cpu
