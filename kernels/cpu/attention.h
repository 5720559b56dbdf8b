// Attention of some query rows over the paged cache, one table for each instruction set. Plain
// data: files built for any instruction set may include it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/kv_planes.h"

namespace kernels::cpu {

// The numeric recipe. Keys come in steps of 64 tokens at absolute positions; a step that is masked
// as a whole changes nothing. Steps fold into a segment of 256 tokens, again at absolute positions,
// and the segments of a row fold in order. So neither the split over threads, the chunk, the block
// size nor the batch mates can move a bit.
inline constexpr int kStepTokens = 64;
inline constexpr int kSegmentTokens = 256;
inline constexpr int kMaxItemRows = 64;

// Rows of one item: numQueries consecutive positions x the query heads of one KV head.
struct AttentionItem {
  KvPlanes planes;
  const std::int32_t* blockTable = nullptr;  // of the sequence
  const float* queries = nullptr;            // first query, first head of the KV head
  std::ptrdiff_t queryStride = 0;            // floats from query to query
  float* out = nullptr;                      // laid out as the queries
  std::ptrdiff_t outStride = 0;
  int numQueries = 0, headsPerKv = 0;  // their product <= kMaxItemRows
  int firstPosition = 0;               // of the first query
  int window = 0;                      // 0 = all
  float scale = 0.0f, softCap = 0.0f;
  // With `partials`: only segment `segment` is worked on and its unfinished state goes to
  // partials[row * partialStride]: headDim sums, then top, then total. Else everything, to `out`.
  int segment = 0;
  float* partials = nullptr;
  std::ptrdiff_t partialStride = 0;
  const AttentionItem* next = nullptr;  // what the thread most likely works on after it
};

// First position that a query at `position` sees.
static inline int firstVisible(int position, int window) {
  return window > 0 && position >= window ? position - window + 1 : 0;
}

// Folds the partials of one row, segment after segment, as AttentionItem does within itself.
struct AttentionMerge {
  const float* partials = nullptr;  // of the row's first segment
  std::ptrdiff_t segmentStride = 0;
  int numSegments = 0, headDim = 0;
  float* out = nullptr;  // [headDim]
};

struct AttentionKernels {
  // scratch: at least scratchBytes(headDim), 64-byte aligned, of the calling thread.
  void (*attend)(const AttentionItem& item, std::byte* scratch);
  void (*merge)(const AttentionMerge& merge, std::byte* scratch);
};

std::size_t attentionScratchBytes(int headDim);

// Floats of one partial: the sums padded to whole vectors, then top and total.
static constexpr int paddedHeadDim(int headDim) {
  return (headDim + 15) / 16 * 16;
}

static constexpr int partialFloats(int headDim) {
  return paddedHeadDim(headDim) + 16;
}

extern const AttentionKernels kAvx2Attention;
extern const AttentionKernels kAvx512VnniAttention;
extern const AttentionKernels kAvx512Bf16Attention;  // its bits, by dot products of bf16 pairs
extern const AttentionKernels kAmxAttention;
extern const AttentionKernels kEmulatedAmxAttention;  // for tests: its bits, by AVX-512 alone

}  // namespace kernels::cpu
