// The physical KV blocks: who holds each, which are free, which are idle but still findable.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/api/snapshot.h"
#include "engine/api/trace_event.h"
#include "engine/base/check.h"
#include "engine/base/huge_allocator.h"
#include "engine/base/ids.h"

namespace engine::kv {

// Told of every block operation. Inside a reservation the records wait for its commit; those of a
// reservation that rolls back are never told.
using BlockEventSink = std::function<void(const BlockRecord&)>;

struct PoolCounters {
  std::uint64_t allocations = 0, frees = 0, hits = 0, evictions = 0, cowCopies = 0;
  std::int64_t peakUsed = 0;  // blocks
};

// One block. Free: refCount 0, hash 0. Cached: refCount 0, hash set, in the eviction order. Used:
// refCount > 0. `owner` is the first holder, or the last one of a cached block.
struct Block {
  BlockState state = BlockState::Free;
  std::uint32_t refCount = 0;
  std::int32_t logical = -1;  // index in the owner's table
  std::int32_t filled = 0;    // slots written
  RequestId owner;
  std::uint64_t hash = 0;
  std::uint64_t allocatedStep = 0, lastUsedStep = 0;
  std::int32_t prev = -1, next = -1;  // neighbours in the free or the cached list
};

// Engine thread only. Every change can be part of one open transaction, whose roll-back restores
// exactly the state at its begin, list orders included (before-images of touched blocks).
class BlockPool {
 public:
  // blockSize: a power of two.
  BlockPool(std::int64_t numBlocks, int blockSize, BlockEventSink sink = {});

  // Called with a cached block before it is handed out: drops what could still find it.
  void setEvictionHook(std::function<void(BlockId)> hook) { m_evictionHook = std::move(hook); }

  // Stamps blocks and records from now on.
  void setStep(StepId step) { m_step = step; }

  int blockSize() const { return m_blockSize; }

  // Logical block of a position.
  std::int64_t blockOf(std::int64_t position) const { return position >> m_blockShift; }

  std::int64_t numBlocks() const { return m_numBlocks; }

  std::int64_t numFree() const { return m_tally.numFree; }

  std::int64_t numCached() const { return m_tally.numCached; }

  std::int64_t numUsed() const { return m_numBlocks - m_tally.numFree - m_tally.numCached; }

  // What could be handed out now: free blocks, then idle cached ones.
  std::int64_t numAvailable() const { return m_tally.numFree + m_tally.numCached; }

  const PoolCounters& counters() const { return m_tally.counters; }

  const Block& block(BlockId id) const { return m_blocks[index(id)]; }

  // Next to be handed out comes first.
  std::vector<BlockId> freeOrder() const { return listOrder(freeHead()); }

  std::vector<BlockId> evictionOrder() const { return listOrder(cachedHead()); }

  // A free block, else the least recently used cached one (evicted first), with one holder.
  std::optional<BlockId> tryAllocate(RequestId holder, std::int32_t logical);
  // The named block, which must be Free.
  void allocateFree(BlockId id, RequestId holder, std::int32_t logical);
  // One more holder of a used block.
  void share(BlockId id, RequestId holder, std::int32_t logical);
  // One more holder through the prefix index; a cached block becomes used.
  void takeHit(BlockId id, RequestId holder, std::int32_t logical);
  // One holder less. The last one leaves the block cached when it has a hash, else free.
  void release(BlockId id, RequestId holder, std::int32_t logical);
  // Tells that the holder's content of `id` goes to host memory or came back from there.
  void recordSwap(BlockOp op, BlockId id, RequestId holder, std::int32_t logical);
  // Tells that `id` was made to be a private copy.
  void recordCopyOnWrite(BlockId id, RequestId holder, std::int32_t logical);

  // A used block becomes findable.
  void setHash(BlockId id, std::uint64_t hash);
  // No longer findable; an idle block becomes free.
  void dropHash(BlockId id);
  void setFilled(BlockId id, int numSlots);

  void beginTransaction();
  void commitTransaction();
  void rollBackTransaction();

  bool isInTransaction() const { return m_isRecording; }

 private:
  struct Tally {
    std::int64_t numFree = 0, numCached = 0;
    PoolCounters counters;
  };

  struct BeforeImage {
    std::size_t index;
    Block block;
  };

  std::size_t index(BlockId id) const {
    CHECK(id.value >= 0 && id.value < m_numBlocks);
    return static_cast<std::size_t>(id.value);
  }

  std::size_t freeHead() const { return static_cast<std::size_t>(m_numBlocks); }

  std::size_t cachedHead() const { return static_cast<std::size_t>(m_numBlocks) + 1; }

  // The block for writing; its image is kept first when a transaction is open.
  Block& touch(std::size_t index);
  void unlink(std::size_t index);
  void linkAfter(std::size_t before, std::size_t index);
  std::vector<BlockId> listOrder(std::size_t head) const;
  void evict(std::size_t index);
  void hold(std::size_t index, RequestId holder, std::int32_t logical);
  void makeFree(std::size_t index);
  void record(BlockOp op, std::size_t index, RequestId request, std::int32_t logical);

  std::int64_t m_numBlocks;
  int m_blockSize, m_blockShift;
  BlockEventSink m_sink;
  std::function<void(BlockId)> m_evictionHook;
  StepId m_step{0};
  std::vector<Block, HugeAllocator<Block>>
      m_blocks;  // two more at the end: heads of the circular free and cached lists
  Tally m_tally;

  bool m_isRecording = false;
  std::uint64_t m_epoch = 0;
  std::vector<std::uint64_t, HugeAllocator<std::uint64_t>>
      m_imageEpoch;  // by block: the transaction that last kept its image
  std::vector<BeforeImage> m_images;
  Tally m_savedTally;
  std::vector<BlockRecord> m_heldRecords;
};

}  // namespace engine::kv
