// The KV memory of a model: block pool, prefix index and placement behind one door.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "engine/api/engine_config.h"
#include "engine/kv/block_pool.h"
#include "engine/kv/block_table.h"
#include "engine/kv/hash_chain.h"
#include "engine/kv/kv_reservation.h"
#include "engine/kv/prefix_index.h"
#include "engine/kv/swap_space.h"

namespace engine::kv {

struct KvCacheConfig {
  AllocatorKind allocator = AllocatorKind::Paged;
  int blockSize = 16;  // tokens, a power of two
  std::int64_t numBlocks = 0;
  std::int64_t maxContext = 0;  // tokens; what the contiguous allocator reserves for a sequence
  std::string identity;         // model and KV format: part of every prefix key
  std::int64_t swapBlocks = 0;  // places for swapped-out blocks
  bool isKept = true;           // false: nothing stays once a token is sampled (kv-cache off)
};

// Engine thread only.
class KvCache {
 public:
  explicit KvCache(const KvCacheConfig& config, BlockEventSink sink = {});
  KvCache(const KvCache&) = delete;
  KvCache& operator=(const KvCache&) = delete;

  const KvCacheConfig& config() const { return m_config; }

  const BlockPool& pool() const { return m_pool; }

  const PrefixIndex& prefixIndex() const { return m_index; }

  SwapSpace& swapSpace() { return m_swapSpace; }

  const SwapSpace& swapSpace() const { return m_swapSpace; }

  bool canShare() const { return m_config.allocator == AllocatorKind::Paged; }

  // ceil(numTokens / blockSize)
  std::int64_t blocksFor(std::int64_t numTokens) const;
  // Blocks that a sequence of at most `numTokens` holds at its end: the rule that refuses a
  // request.
  std::int64_t blocksForWhole(std::int64_t numTokens) const;
  std::int64_t blocksToGrow(const BlockTable& table, std::int64_t first, std::int64_t num) const;
  // The most that a new sequence could be given now: all free and idle cached blocks, or the
  // longest free run of the contiguous allocator.
  std::int64_t largestPlace() const;

  HashChain makeChain(std::string nameSpace) const;

  PrefixMatch findPrefix(const PrefixQuery& query) const { return m_index.find(query); }

  void explainMiss(const PrefixQuery& query, PrefixMatch& match) const {
    m_index.explain(query, match);
  }

  void setStep(StepId step) { m_pool.setStep(step); }

  std::unique_ptr<KvReservation> openReservation();

  // Outside a reservation:
  // The child, empty, comes to hold the parent's blocks [0, numBlocks). Paged only.
  void fork(const BlockTable& parent, std::int64_t numBlocks, BlockTable& child);
  void release(BlockTable& table);
  // Positions [first, first + num) of the sequence have been written by a committed step.
  void markWritten(const BlockTable& table, std::int64_t first, std::int64_t num);
  // Whether publish() has something to do, and the beginning of it for many sequences before the
  // first is published: the memory that holds block `published` in the index, if any, is far away.
  bool mayPublish(std::int64_t published, std::int64_t numComputed) const {
    return canShare() && (published + 1) * m_config.blockSize <= numComputed;
  }

  void preparePublish(const PrefixQuery& query, std::int64_t published) const {
    m_index.prefetch(query, static_cast<std::size_t>(published));
  }

  // Makes full blocks [published, numComputed / blockSize) findable; numComputed counts only tokens
  // that stand (no rejected draft). A block whose tokens are already findable in another one is
  // exchanged for that one and given back. Returns how many blocks of the table are findable now.
  std::int64_t publish(BlockTable& table,
                       const PrefixQuery& query,
                       std::int64_t published,
                       std::int64_t numComputed);
  // What an aborted step may have overwritten is no longer findable.
  void forget(std::span<const BlockId> blocks);

 private:
  KvCacheConfig m_config;
  BlockPool m_pool;
  PrefixIndex m_index;
  Placement m_placement;
  SwapSpace m_swapSpace;
};

}  // namespace engine::kv
