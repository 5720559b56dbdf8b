#include "engine/kv/pool_snapshot.h"

#include <algorithm>

namespace engine::kv {

PoolSummary summarisePool(const KvCache& cache) {
  const BlockPool& pool = cache.pool();
  PoolSummary summary;
  summary.blockSize = pool.blockSize();
  summary.numBlocks = pool.numBlocks();
  summary.freeBlocks = pool.numFree();
  summary.cachedBlocks = pool.numCached();
  summary.usedBlocks = pool.numUsed();
  std::int64_t filled = 0;
  for (std::int32_t i = 0; i < pool.numBlocks(); ++i) {
    const Block& block = pool.block(BlockId(i));
    if (block.state == BlockState::Used) filled += block.filled;
  }
  if (summary.usedBlocks > 0) {
    const auto slots = static_cast<double>(summary.usedBlocks * summary.blockSize);
    summary.internalFragmentation = 1.0 - static_cast<double>(filled) / slots;
  }
  if (!cache.canShare() && summary.freeBlocks > 0) {
    summary.externalFragmentation =
        1.0 - static_cast<double>(cache.largestPlace()) / static_cast<double>(summary.freeBlocks);
  }
  return summary;
}

std::vector<BlockSnapshot> snapshotBlocks(const KvCache& cache) {
  const BlockPool& pool = cache.pool();
  std::vector<BlockSnapshot> blocks(static_cast<std::size_t>(pool.numBlocks()));
  for (std::int32_t i = 0; i < pool.numBlocks(); ++i) {
    const Block& from = pool.block(BlockId(i));
    BlockSnapshot& to = blocks[static_cast<std::size_t>(i)];
    to.state = from.state;
    to.hash = from.hash;
    to.allocatedStep = from.allocatedStep;
    to.lastUsedStep = from.lastUsedStep;
    if (from.state == BlockState::Free) continue;
    to.owner = from.owner;
    to.logical = from.logical;
    to.refCount = static_cast<std::uint16_t>(std::min<std::uint32_t>(from.refCount, UINT16_MAX));
    to.filled = static_cast<std::uint16_t>(from.filled);
  }
  return blocks;
}

}  // namespace engine::kv
