// The blocks of one sequence in logical order: position p lives in block p / blockSize.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/ids.h"

namespace engine::kv {

// Engine thread only. Holds one reference on each of its blocks; given back only through
// KvCache::release or KvReservation::release, so it does not copy. Its address must not change
// while a reservation is open.
class BlockTable {
 public:
  BlockTable(RequestId owner, int blockSize) : m_owner(owner), m_blockSize(blockSize) {}

  BlockTable(const BlockTable&) = delete;
  BlockTable& operator=(const BlockTable&) = delete;

  RequestId owner() const { return m_owner; }

  std::span<const BlockId> blocks() const { return m_blocks; }

  std::int64_t size() const { return static_cast<std::int64_t>(m_blocks.size()); }

  // Token positions that have a slot.
  std::int64_t capacity() const { return size() * m_blockSize; }

  BlockId at(std::int64_t logical) const {
    CHECK(logical >= 0 && logical < size());
    return m_blocks[static_cast<std::size_t>(logical)];
  }

  // Slot of a position in the whole pool: never base + offset, blocks lie anywhere.
  std::int64_t slotOf(std::int64_t position) const {
    return std::int64_t{at(position / m_blockSize).value} * m_blockSize + position % m_blockSize;
  }

  // For the cache and the reservation, which keep the reference counts.
  std::vector<BlockId>& entries() { return m_blocks; }

 private:
  RequestId m_owner;
  int m_blockSize;
  std::vector<BlockId> m_blocks;
};

}  // namespace engine::kv
