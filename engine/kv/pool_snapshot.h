// The KV memory's piece of the published snapshot.
#pragma once

#include <vector>

#include "engine/api/snapshot.h"
#include "engine/kv/kv_cache.h"

namespace engine::kv {

// Slots of used blocks that hold nothing, as a share of them; what a paged pool wastes is this
// alone. External: share of the free blocks that the longest free run leaves out (contiguous
// allocator).
PoolSummary summarisePool(const KvCache& cache);

// By block id.
std::vector<BlockSnapshot> snapshotBlocks(const KvCache& cache);

}  // namespace engine::kv
