#include "engine/kv/kv_reservation.h"

#include <utility>

#include "engine/base/check.h"
#include "engine/kv/contiguous_runs.h"

namespace engine::kv {

std::int64_t blocksToGrow(const BlockPool& pool,
                          const BlockTable& table,
                          std::int64_t first,
                          std::int64_t num,
                          const Placement& placement) {
  if (num <= 0) return 0;
  if (placement.isContiguous) return table.size() == 0 ? placement.runBlocks : 0;
  const std::int64_t end = pool.blockOf(first + num - 1) + 1;
  std::int64_t count = end > table.size() ? end - table.size() : 0;
  for (std::int64_t i = pool.blockOf(first); i < end && i < table.size(); ++i) {
    if (pool.block(table.at(i)).refCount > 1) ++count;
  }
  return count;
}

KvReservation::KvReservation(BlockPool& pool, PrefixIndex& index, Placement placement)
    : m_pool(pool), m_index(index), m_placement(placement) {
  m_pool.beginTransaction();
}

KvReservation::~KvReservation() {
  if (m_isOpen) rollBack();
}

BlockId KvReservation::take(BlockTable& table, std::size_t logical) {
  const auto block = m_pool.tryAllocate(table.owner(), static_cast<std::int32_t>(logical));
  CHECK(block.has_value());  // the caller has counted
  m_taken.push_back(*block);
  return *block;
}

bool KvReservation::takeRun(BlockTable& table) {
  const auto isFree = [&](std::int32_t i) {
    return m_pool.block(BlockId(i)).state == BlockState::Free;
  };
  const auto first = findRun(m_pool.numBlocks(), m_placement.runBlocks, isFree);
  if (!first) return false;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(m_placement.runBlocks); ++i) {
    m_pool.allocateFree(BlockId(*first + i), table.owner(), i);
    m_taken.emplace_back(*first + i);
    table.entries().emplace_back(*first + i);
  }
  return true;
}

void KvReservation::copyShared(BlockTable& table,
                               std::size_t logical,
                               std::vector<BlockCopy>& copies) {
  BlockId& slot = table.entries()[logical];
  const BlockId old = slot;
  const BlockId copy = take(table, logical);
  m_pool.setFilled(copy, m_pool.block(old).filled);
  m_pool.recordCopyOnWrite(copy, table.owner(), static_cast<std::int32_t>(logical));
  m_pool.release(old, table.owner(), static_cast<std::int32_t>(logical));
  m_changes.push_back({&table, TableChange::Kind::Replaced, logical, old, {}});
  copies.push_back({table.owner(), old, copy});
  slot = copy;
}

// The block of the position may be written as it is.
bool KvReservation::isOwn(const BlockTable& table, std::int64_t position) const {
  const Block& block = m_pool.block(table.at(m_pool.blockOf(position)));
  return block.refCount == 1 && block.hash == 0;
}

bool KvReservation::tryGrow(BlockTable& table,
                            std::int64_t first,
                            std::int64_t num,
                            std::vector<BlockCopy>& copies) {
  CHECK(m_isOpen && num > 0 && first >= 0 && first <= table.capacity());
  if (num == 1 && first < table.capacity() && isOwn(table, first)) return true;  // most decodes
  const std::int64_t need = blocksToGrow(m_pool, table, first, num, m_placement);
  if (need > m_pool.numAvailable()) return false;
  const std::size_t oldSize = table.entries().size();
  if (m_placement.isContiguous) {
    if (oldSize > 0) {
      CHECK(first + num <= table.capacity());
      return true;
    }
    if (!takeRun(table)) return false;
    m_changes.push_back({&table, TableChange::Kind::Resized, oldSize, BlockId(), {}});
    return true;
  }
  const auto begin = static_cast<std::size_t>(m_pool.blockOf(first));
  const auto end = static_cast<std::size_t>(m_pool.blockOf(first + num - 1) + 1);
  for (std::size_t i = begin; i < end && i < oldSize; ++i) {
    const Block& block = m_pool.block(table.entries()[i]);
    if (block.refCount > 1) {
      copyShared(table, i, copies);
    } else {
      CHECK(block.hash == 0);  // a findable block is full: nobody writes to it
    }
  }
  if (end > oldSize) {
    m_changes.push_back({&table, TableChange::Kind::Resized, oldSize, BlockId(), {}});
    for (std::size_t i = oldSize; i < end; ++i) table.entries().push_back(take(table, i));
  }
  return true;
}

void KvReservation::attach(BlockTable& table, const PrefixMatch& match) {
  CHECK(m_isOpen && table.size() == 0);
  m_changes.push_back({&table, TableChange::Kind::Resized, 0, BlockId(), {}});
  for (std::size_t i = 0; i < match.blocks.size(); ++i) {
    m_pool.takeHit(match.blocks[i], table.owner(), static_cast<std::int32_t>(i));
    table.entries().push_back(match.blocks[i]);
  }
}

void KvReservation::recordSwap(BlockOp op, const BlockTable& table, std::int64_t logical) {
  CHECK(m_isOpen);
  m_pool.recordSwap(op, table.at(logical), table.owner(), static_cast<std::int32_t>(logical));
}

void KvReservation::release(BlockTable& table) {
  CHECK(m_isOpen);
  for (std::size_t i = table.entries().size(); i-- > 0;) {
    m_pool.release(table.entries()[i], table.owner(), static_cast<std::int32_t>(i));
  }
  m_changes.push_back(
      {&table, TableChange::Kind::Emptied, 0, BlockId(), std::exchange(table.entries(), {})});
}

void KvReservation::commit() {
  CHECK(m_isOpen);
  m_isOpen = false;
  m_index.commitHidden();
  m_pool.commitTransaction();
}

void KvReservation::rollBack() {
  CHECK(m_isOpen);
  m_isOpen = false;
  for (std::size_t i = m_changes.size(); i-- > 0;) {
    TableChange& change = m_changes[i];
    std::vector<BlockId>& entries = change.table->entries();
    switch (change.kind) {
      case TableChange::Kind::Resized:
        entries.resize(change.position);
        break;
      case TableChange::Kind::Replaced:
        entries[change.position] = change.old;
        break;
      case TableChange::Kind::Emptied:
        entries = std::move(change.oldBlocks);
        break;
    }
  }
  m_index.restoreHidden();
  m_pool.rollBackTransaction();
}

}  // namespace engine::kv
