// Do the shapes of a request, or of a batch, fit together? Asked once before any memory is touched.
#pragma once

#include <cstdint>

#include "kernels/core/ops.h"

namespace kernels {

// Ok, or Unsupported with a sentence that names the part, its value and what it must be.
Status checkRequest(const BackendRequest& request);

// Ok, or DeviceFailed naming the row: every index of the batch lies inside the backend's memory and
// each row's own position has a block. Costs a few ns a row.
Status checkBatch(const RaggedBatch& batch,
                  const KvLayout& layout,
                  std::int64_t vocabSize,
                  int maxBatchedTokens);

const char* kvTypeName(KvType type);

}  // namespace kernels
