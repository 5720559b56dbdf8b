#include "engine/kv/block_pool.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/base/check.h"

namespace engine::kv {

BlockPool::BlockPool(std::int64_t numBlocks, int blockSize, BlockEventSink sink)
    : m_numBlocks(numBlocks),
      m_blockSize(blockSize),
      m_blockShift(std::countr_zero(static_cast<unsigned>(blockSize))),
      m_sink(std::move(sink)) {
  CHECK(numBlocks >= 0 && numBlocks <= INT32_MAX - 2);
  CHECK(blockSize >= 1 && std::has_single_bit(static_cast<unsigned>(blockSize)));
  m_blocks.resize(static_cast<std::size_t>(numBlocks) + 2);
  m_imageEpoch.assign(m_blocks.size(), 0);
  for (const std::size_t head : {freeHead(), cachedHead()}) {
    m_blocks[head].prev = m_blocks[head].next = static_cast<std::int32_t>(head);
  }
  for (std::size_t i = static_cast<std::size_t>(numBlocks); i-- > 0;) linkAfter(freeHead(), i);
  m_tally.numFree = numBlocks;
}

Block& BlockPool::touch(std::size_t index) {
  if (m_isRecording && m_imageEpoch[index] != m_epoch) {
    m_imageEpoch[index] = m_epoch;
    m_images.push_back({index, m_blocks[index]});
  }
  return m_blocks[index];
}

void BlockPool::unlink(std::size_t index) {
  Block& block = touch(index);
  touch(static_cast<std::size_t>(block.prev)).next = block.next;
  touch(static_cast<std::size_t>(block.next)).prev = block.prev;
  block.prev = block.next = -1;
}

void BlockPool::linkAfter(std::size_t before, std::size_t index) {
  Block& left = touch(before);
  Block& block = touch(index);
  block.prev = static_cast<std::int32_t>(before);
  block.next = left.next;
  touch(static_cast<std::size_t>(left.next)).prev = static_cast<std::int32_t>(index);
  left.next = static_cast<std::int32_t>(index);
}

std::vector<BlockId> BlockPool::listOrder(std::size_t head) const {
  std::vector<BlockId> order;
  for (auto i = static_cast<std::size_t>(m_blocks[head].next); i != head;
       i = static_cast<std::size_t>(m_blocks[i].next)) {
    order.emplace_back(static_cast<std::int32_t>(i));
    if (order.size() > m_blocks.size()) break;  // a broken list: the checker reports it
  }
  return order;
}

void BlockPool::record(BlockOp op, std::size_t index, RequestId request, std::int32_t logical) {
  if (!m_sink) return;
  const Block& block = m_blocks[index];
  BlockRecord one{};
  one.iteration = m_step.value;
  one.request = request.value;
  one.hash = block.hash;
  one.block = static_cast<std::int32_t>(index);
  one.logical = logical;
  one.refCount = static_cast<std::uint16_t>(std::min<std::uint32_t>(block.refCount, UINT16_MAX));
  one.op = op;
  if (m_isRecording) {
    m_heldRecords.push_back(one);
  } else {
    m_sink(one);
  }
}

void BlockPool::makeFree(std::size_t index) {
  Block& block = touch(index);
  block.state = BlockState::Free;
  block.hash = 0;
  block.filled = 0;
  linkAfter(freeHead(), index);
  ++m_tally.numFree;
}

void BlockPool::evict(std::size_t index) {
  if (m_evictionHook) m_evictionHook(BlockId(static_cast<std::int32_t>(index)));
  record(BlockOp::Evict, index, m_blocks[index].owner, m_blocks[index].logical);
  unlink(index);
  --m_tally.numCached;
  ++m_tally.counters.evictions;
  makeFree(index);
}

void BlockPool::hold(std::size_t index, RequestId holder, std::int32_t logical) {
  Block& block = touch(index);
  if (block.refCount == 0) {
    unlink(index);
    --(block.state == BlockState::Free ? m_tally.numFree : m_tally.numCached);
    block.state = BlockState::Used;
    block.owner = holder;
    block.logical = logical;
    m_tally.counters.peakUsed = std::max(m_tally.counters.peakUsed, numUsed());
  }
  ++block.refCount;
  block.lastUsedStep = m_step.value;
}

std::optional<BlockId> BlockPool::tryAllocate(RequestId holder, std::int32_t logical) {
  if (m_tally.numFree == 0) {
    if (m_tally.numCached == 0) return std::nullopt;
    evict(static_cast<std::size_t>(m_blocks[cachedHead()].next));
  }
  const BlockId id(m_blocks[freeHead()].next);
  allocateFree(id, holder, logical);
  return id;
}

void BlockPool::allocateFree(BlockId id, RequestId holder, std::int32_t logical) {
  CHECK(block(id).state == BlockState::Free);
  hold(index(id), holder, logical);
  touch(index(id)).allocatedStep = m_step.value;
  ++m_tally.counters.allocations;
  record(BlockOp::Allocate, index(id), holder, logical);
}

void BlockPool::share(BlockId id, RequestId holder, std::int32_t logical) {
  CHECK(block(id).refCount > 0);
  hold(index(id), holder, logical);
  record(BlockOp::Share, index(id), holder, logical);
}

void BlockPool::takeHit(BlockId id, RequestId holder, std::int32_t logical) {
  CHECK(block(id).hash != 0);
  hold(index(id), holder, logical);
  ++m_tally.counters.hits;
  record(BlockOp::Hit, index(id), holder, logical);
}

void BlockPool::release(BlockId id, RequestId holder, std::int32_t logical) {
  Block& block = touch(index(id));
  CHECK(block.refCount > 0);
  --block.refCount;
  block.lastUsedStep = m_step.value;
  if (block.refCount > 0) {
    record(BlockOp::Unshare, index(id), holder, logical);
    return;
  }
  block.owner = holder;
  block.logical = logical;
  if (block.hash != 0) {
    block.state = BlockState::Cached;
    linkAfter(static_cast<std::size_t>(m_blocks[cachedHead()].prev), index(id));
    ++m_tally.numCached;
    record(BlockOp::Unshare, index(id), holder, logical);  // refCount 0 with a hash: idle, findable
    return;
  }
  ++m_tally.counters.frees;
  makeFree(index(id));
  record(BlockOp::Free, index(id), holder, logical);
}

void BlockPool::recordSwap(BlockOp op, BlockId id, RequestId holder, std::int32_t logical) {
  CHECK(op == BlockOp::SwapOut || op == BlockOp::SwapIn);
  record(op, index(id), holder, logical);
}

void BlockPool::recordCopyOnWrite(BlockId id, RequestId holder, std::int32_t logical) {
  ++m_tally.counters.cowCopies;
  record(BlockOp::CopyOnWrite, index(id), holder, logical);
}

void BlockPool::setHash(BlockId id, std::uint64_t hash) {
  CHECK(hash != 0 && block(id).refCount > 0);
  touch(index(id)).hash = hash;
}

void BlockPool::dropHash(BlockId id) {
  const std::size_t i = index(id);
  if (m_blocks[i].state == BlockState::Cached) {
    evict(i);
  } else if (m_blocks[i].hash != 0) {
    if (m_evictionHook) m_evictionHook(id);
    touch(i).hash = 0;
  }
}

void BlockPool::setFilled(BlockId id, int numSlots) {
  CHECK(numSlots >= 0 && numSlots <= m_blockSize);
  touch(index(id)).filled = numSlots;
}

void BlockPool::beginTransaction() {
  CHECK(!m_isRecording);
  m_isRecording = true;
  ++m_epoch;
  m_savedTally = m_tally;
}

void BlockPool::commitTransaction() {
  CHECK(m_isRecording);
  m_isRecording = false;
  m_images.clear();
  for (const BlockRecord& record : m_heldRecords) m_sink(record);
  m_heldRecords.clear();
}

void BlockPool::rollBackTransaction() {
  CHECK(m_isRecording);
  m_isRecording = false;
  for (const BeforeImage& image : m_images) m_blocks[image.index] = image.block;
  m_images.clear();
  m_tally = m_savedTally;
  m_heldRecords.clear();
}

}  // namespace engine::kv
