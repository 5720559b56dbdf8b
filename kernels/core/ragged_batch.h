// The rows of one step, packed: prefill chunks, decode rows and speculative runs alike.
#pragma once

#include <atomic>
#include <cstdint>

namespace kernels {

// All arrays are read during the call only.
//   sequence s owns rows [queryStart[s], queryStart[s+1]); its last row is at position seqLen[s]-1,
//   and blockTable[s * maxBlocks + i] is the block of positions [i*blockSize, (i+1)*blockSize).
struct RaggedBatch {
  int numTokens = 0, numSeqs = 0;
  const std::int32_t* tokens = nullptr;      // [numTokens]
  const std::int32_t* positions = nullptr;   // [numTokens], 0-based in their sequence
  const std::int32_t* sequences = nullptr;   // [numTokens], which sequence a row belongs to
  const std::int32_t* queryStart = nullptr;  // [numSeqs + 1]
  const std::int32_t* seqLen = nullptr;      // [numSeqs], KV length with this step's rows
  const std::int32_t* blockTable = nullptr;  // [numSeqs, maxBlocks], -1 past the end of a row
  int maxBlocks = 0;
  const std::int32_t* logitRows = nullptr;  // [numLogitRows], rows whose logits are wanted
  int numLogitRows = 0;
  const std::atomic<bool>* cancel = nullptr;  // looked at between work items; may be null
};

struct BlockCopy {
  std::int32_t from = -1, to = -1;
};

}  // namespace kernels
