// Blocks taken for one step: kept by commit(), or all given back by the destructor.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/kv/block_pool.h"
#include "engine/kv/block_table.h"
#include "engine/kv/prefix_index.h"

namespace engine::kv {

// Whole block, all layers; done before the step's first write, in the order of the list.
struct BlockCopy {
  RequestId request;  // who writes to the copy
  BlockId from, to;
};

// How sequences get their blocks.
struct Placement {
  bool isContiguous = false;
  std::int64_t runBlocks = 0;  // contiguous: what a sequence is given at its first growth
};

// Engine thread only; at most one is open for a pool. Tables that it changed must outlive it.
// Roll-back restores pool, index and tables exactly: references, slots, eviction order, hashes.
class KvReservation {
 public:
  KvReservation(BlockPool& pool, PrefixIndex& index, Placement placement);
  ~KvReservation();
  KvReservation(const KvReservation&) = delete;
  KvReservation& operator=(const KvReservation&) = delete;

  // Makes slots for positions [first, first + num) exist and belong to this sequence alone: takes
  // new blocks, copies shared ones (appended to `copies`). False and nothing changed when the pool
  // cannot give that many. first <= capacity().
  bool tryGrow(BlockTable& table,
               std::int64_t first,
               std::int64_t num,
               std::vector<BlockCopy>& copies);
  // Puts matched blocks into an empty table, one more reference each.
  void attach(BlockTable& table, const PrefixMatch& match);
  // Tells that a block of the table leaves for, or came from, host memory; the copying is the
  // caller's.
  void recordSwap(BlockOp op, const BlockTable& table, std::int64_t logical);
  // Gives back every block of the table, last first.
  void release(BlockTable& table);

  void commit();
  void rollBack();  // what the destructor does

  bool isOpen() const { return m_isOpen; }

  // Every block handed out so far, also those given back again: after a roll-back of a step that
  // had begun to execute, their old contents are lost.
  const std::vector<BlockId>& takenBlocks() const { return m_taken; }

 private:
  // One change of a table, undone in reverse order.
  struct TableChange {
    BlockTable* table = nullptr;
    enum class Kind : std::uint8_t { Resized, Replaced, Emptied } kind = Kind::Resized;
    std::size_t position = 0;  // old size, or which entry
    BlockId old;
    std::vector<BlockId> oldBlocks;  // Emptied
  };

  BlockId take(BlockTable& table, std::size_t logical);
  void copyShared(BlockTable& table, std::size_t logical, std::vector<BlockCopy>& copies);
  bool takeRun(BlockTable& table);
  bool isOwn(const BlockTable& table, std::int64_t position) const;

  BlockPool& m_pool;
  PrefixIndex& m_index;
  Placement m_placement;
  bool m_isOpen = true;
  std::vector<TableChange> m_changes;
  std::vector<BlockId> m_taken;
};

// Blocks that tryGrow(table, first, num) would take.
std::int64_t blocksToGrow(const BlockPool& pool,
                          const BlockTable& table,
                          std::int64_t first,
                          std::int64_t num,
                          const Placement& placement);

}  // namespace engine::kv
