#include "engine/kv/kv_cache.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/kv/contiguous_runs.h"

namespace engine::kv {

KvCache::KvCache(const KvCacheConfig& config, BlockEventSink sink)
    : m_config(config),
      m_pool(config.numBlocks, config.blockSize, std::move(sink)),
      m_index(config.blockSize, config.numBlocks),
      m_swapSpace(config.swapBlocks) {
  m_placement.isContiguous = config.allocator == AllocatorKind::Contiguous;
  m_placement.runBlocks = blocksFor(config.maxContext);
  m_pool.setEvictionHook([this](BlockId block) {
    m_index.hide(block);
    if (!m_pool.isInTransaction()) m_index.commitHidden();
  });
}

std::int64_t KvCache::blocksFor(std::int64_t numTokens) const {
  return (numTokens + m_config.blockSize - 1) / m_config.blockSize;
}

std::int64_t KvCache::blocksForWhole(std::int64_t numTokens) const {
  return m_placement.isContiguous ? m_placement.runBlocks : blocksFor(numTokens);
}

std::int64_t KvCache::blocksToGrow(const BlockTable& table,
                                   std::int64_t first,
                                   std::int64_t num) const {
  return kv::blocksToGrow(m_pool, table, first, num, m_placement);
}

std::int64_t KvCache::largestPlace() const {
  if (!m_placement.isContiguous) return m_pool.numAvailable();
  return longestRun(m_pool.numBlocks(), [this](std::int32_t i) {
    return m_pool.block(BlockId(i)).state == BlockState::Free;
  });
}

HashChain KvCache::makeChain(std::string nameSpace) const {
  return HashChain(m_config.identity, std::move(nameSpace), m_config.blockSize);
}

std::unique_ptr<KvReservation> KvCache::openReservation() {
  return std::make_unique<KvReservation>(m_pool, m_index, m_placement);
}

void KvCache::fork(const BlockTable& parent, std::int64_t numBlocks, BlockTable& child) {
  CHECK(canShare() && child.size() == 0 && numBlocks <= parent.size());
  for (std::int64_t i = 0; i < numBlocks; ++i) {
    m_pool.share(parent.at(i), child.owner(), static_cast<std::int32_t>(i));
    child.entries().push_back(parent.at(i));
  }
}

void KvCache::release(BlockTable& table) {
  for (std::size_t i = table.entries().size(); i-- > 0;) {
    m_pool.release(table.entries()[i], table.owner(), static_cast<std::int32_t>(i));
  }
  table.entries().clear();
}

void KvCache::markWritten(const BlockTable& table, std::int64_t first, std::int64_t num) {
  const std::int64_t size = m_config.blockSize;
  const std::int64_t end = first + num;
  CHECK(first >= 0 && end <= table.capacity());
  for (std::int64_t i = m_pool.blockOf(first); i * size < end; ++i) {
    m_pool.setFilled(table.at(i), static_cast<int>(std::min(size, end - i * size)));
  }
}

std::int64_t KvCache::publish(BlockTable& table,
                              const PrefixQuery& query,
                              std::int64_t published,
                              std::int64_t numComputed) {
  for (; mayPublish(published, numComputed); ++published) {
    const BlockId mine = table.at(published);
    // other holders may come to it over another block, which would make way before this one
    if (m_pool.block(mine).refCount > 1 && m_pool.block(mine).hash == 0) return published;
    const BlockId parent = published == 0 ? BlockId() : table.at(published - 1);
    const auto i = static_cast<std::size_t>(published);
    const BlockId there = m_index.publish(query, i, mine, parent);
    if (there.isNone()) return published;
    if (there == mine) {
      m_pool.setHash(mine, m_index.hashOf(mine));
      continue;
    }
    const auto logical = static_cast<std::int32_t>(published);
    m_pool.takeHit(there, table.owner(), logical);
    table.entries()[i] = there;
    m_pool.release(mine, table.owner(), logical);
  }
  return published;
}

void KvCache::forget(std::span<const BlockId> blocks) {
  for (const BlockId block : blocks) {
    if (m_pool.block(block).state == BlockState::Cached) m_pool.dropHash(block);
  }
}

}  // namespace engine::kv
