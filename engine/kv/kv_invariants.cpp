#include "engine/kv/kv_invariants.h"

#include <fmt/format.h>

#include <algorithm>

namespace engine::kv {

namespace {

using Violations = std::vector<std::string>;

bool isBlock(const KvFacts& facts, BlockId id) {
  return id.value >= 0 && static_cast<std::size_t>(id.value) < facts.blocks.size();
}

const Block& blockOf(const KvFacts& facts, BlockId id) {
  return facts.blocks[static_cast<std::size_t>(id.value)];
}

void checkCounts(const KvFacts& facts, Violations& out) {
  std::int64_t counted[3] = {0, 0, 0};
  for (const Block& block : facts.blocks) ++counted[static_cast<int>(block.state)];
  const std::int64_t told[3] = {facts.numFree, facts.numUsed, facts.numCached};
  const char* names[3] = {"free", "used", "cached"};
  for (int i = 0; i < 3; ++i) {
    if (counted[i] != told[i]) {
      out.push_back(fmt::format("{} blocks are {}, counted as {}", counted[i], names[i], told[i]));
    }
  }
  const auto total = static_cast<std::int64_t>(facts.blocks.size());
  if (facts.numFree + facts.numCached + facts.numUsed != total) {
    out.push_back(fmt::format("free {} + cached {} + used {} are not the {} blocks of the pool",
                              facts.numFree, facts.numCached, facts.numUsed, total));
  }
}

// Each block of a list has its state, and each block with that state is in the list once.
void checkList(const KvFacts& facts, bool isFreeList, Violations& out) {
  const std::vector<BlockId>& order = isFreeList ? facts.freeOrder : facts.evictionOrder;
  const BlockState state = isFreeList ? BlockState::Free : BlockState::Cached;
  const char* name = isFreeList ? "free" : "eviction";
  std::vector<int> seen(facts.blocks.size(), 0);
  for (const BlockId id : order) {
    if (!isBlock(facts, id)) {
      out.push_back(
          fmt::format("the {} list names block {}, which does not exist", name, id.value));
      continue;
    }
    if (++seen[static_cast<std::size_t>(id.value)] == 2) {
      out.push_back(fmt::format("block {} is in the {} list twice", id.value, name));
    }
    if (blockOf(facts, id).state != state) {
      out.push_back(fmt::format("block {} is in the {} list in another state", id.value, name));
    }
  }
  for (std::size_t i = 0; i < facts.blocks.size(); ++i) {
    if (facts.blocks[i].state == state && seen[i] == 0) {
      out.push_back(fmt::format("block {} is missing from the {} list", i, name));
    }
  }
}

void checkBlocks(const KvFacts& facts, Violations& out) {
  for (std::size_t i = 0; i < facts.blocks.size(); ++i) {
    const Block& block = facts.blocks[i];
    if ((block.state == BlockState::Used) != (block.refCount > 0)) {
      out.push_back(fmt::format("block {} has {} holders in the wrong state", i, block.refCount));
    }
    if (block.state == BlockState::Free && block.hash != 0) {
      out.push_back(fmt::format("free block {} has a hash", i));
    }
    if (block.state == BlockState::Cached && block.hash == 0) {
      out.push_back(fmt::format("cached block {} has no hash", i));
    }
    if (block.filled < 0 || block.filled > facts.blockSize) {
      out.push_back(
          fmt::format("block {} has {} of {} slots filled", i, block.filled, facts.blockSize));
    }
    if (block.hash != 0 && block.filled != facts.blockSize) {
      out.push_back(fmt::format("block {} is findable with {} of {} slots filled", i, block.filled,
                                facts.blockSize));
    }
  }
}

void checkIndex(const KvFacts& facts, Violations& out) {
  std::vector<std::int64_t> place(facts.blocks.size(), INT64_MAX);  // in the eviction order
  for (std::size_t i = 0; i < facts.evictionOrder.size(); ++i) {
    const BlockId id = facts.evictionOrder[i];
    if (isBlock(facts, id))
      place[static_cast<std::size_t>(id.value)] = static_cast<std::int64_t>(i);
  }
  std::int64_t entries = 0;
  for (std::size_t i = 0; i < facts.blocks.size(); ++i) {
    const KvFacts::Findable& entry = facts.findable[i];
    if (entry.hash != facts.blocks[i].hash) {
      out.push_back(fmt::format("pool and index disagree on the hash of block {}", i));
    }
    if (entry.hash == 0) continue;
    ++entries;
    if (entry.parent.isNone()) continue;
    const auto parent = static_cast<std::size_t>(entry.parent.value);
    if (!isBlock(facts, entry.parent) || facts.findable[parent].hash == 0) {
      out.push_back(
          fmt::format("block {} is findable, its parent {} is not", i, entry.parent.value));
    } else if (place[parent] <= place[i] && place[i] != INT64_MAX) {
      out.push_back(fmt::format("block {} would be evicted before its child {}", parent, i));
    } else if (place[parent] != INT64_MAX && place[i] == INT64_MAX) {
      out.push_back(fmt::format("block {} is idle, its child {} is in use", parent, i));
    }
  }
  if (entries != facts.numEntries) {
    out.push_back(
        fmt::format("{} blocks are findable, the index has {}", entries, facts.numEntries));
  }
}

void checkTable(const KvFacts& facts, const KvFacts::Holder& holder, Violations& out) {
  const auto capacity = static_cast<std::int64_t>(holder.table.size()) * facts.blockSize;
  if (holder.numComputed > capacity) {
    out.push_back(fmt::format("request {} has computed {} tokens in {} slots", holder.request.value,
                              holder.numComputed, capacity));
  }
  if (holder.publishedBlocks * facts.blockSize > holder.numComputed) {
    out.push_back(fmt::format("request {} published {} blocks of {} computed tokens",
                              holder.request.value, holder.publishedBlocks, holder.numComputed));
  }
  std::vector<BlockId> sorted = holder.table;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end()) {
    out.push_back(fmt::format("request {} holds a block twice", holder.request.value));
  }
  for (std::size_t i = 0; i < holder.table.size(); ++i) {
    if (!isBlock(facts, holder.table[i])) continue;  // reported with the counts
    const Block& block = blockOf(facts, holder.table[i]);
    const std::int64_t begin = static_cast<std::int64_t>(i) * facts.blockSize;
    const std::int64_t due =
        std::clamp<std::int64_t>(holder.numComputed - begin, 0, facts.blockSize);
    if (block.filled < due) {
      out.push_back(fmt::format("request {} counts on {} slots of block {}, {} are filled",
                                holder.request.value, due, holder.table[i].value, block.filled));
    }
    if (block.hash != 0 && due < facts.blockSize) {
      out.push_back(fmt::format("block {} is findable before request {} has computed it",
                                holder.table[i].value, holder.request.value));
    }
  }
}

void checkHolders(const KvFacts& facts, Violations& out) {
  std::vector<std::uint32_t> holders(facts.blocks.size(), 0);
  for (const KvFacts::Holder& holder : facts.holders) {
    checkTable(facts, holder, out);
    for (const BlockId id : holder.table) {
      if (isBlock(facts, id)) {
        ++holders[static_cast<std::size_t>(id.value)];
      } else {
        out.push_back(fmt::format("request {} holds block {}, which does not exist",
                                  holder.request.value, id.value));
      }
    }
  }
  for (std::size_t i = 0; i < facts.blocks.size(); ++i) {
    if (holders[i] != facts.blocks[i].refCount) {
      out.push_back(fmt::format("block {} counts {} holders and has {}", i,
                                facts.blocks[i].refCount, holders[i]));
    }
  }
}

}  // namespace

KvFacts takeFacts(const KvCache& cache) {
  const BlockPool& pool = cache.pool();
  KvFacts facts;
  facts.blockSize = pool.blockSize();
  facts.numFree = pool.numFree();
  facts.numCached = pool.numCached();
  facts.numUsed = pool.numUsed();
  facts.freeOrder = pool.freeOrder();
  facts.evictionOrder = pool.evictionOrder();
  facts.numEntries = static_cast<std::int64_t>(cache.prefixIndex().numEntries());
  for (std::int32_t i = 0; i < pool.numBlocks(); ++i) {
    facts.blocks.push_back(pool.block(BlockId(i)));
    const std::uint64_t hash = cache.prefixIndex().hashOf(BlockId(i));
    facts.findable.push_back(
        {hash, hash == 0 ? BlockId() : cache.prefixIndex().parentOf(BlockId(i))});
  }
  return facts;
}

std::vector<std::string> findViolations(const KvFacts& facts) {
  Violations violations;
  checkCounts(facts, violations);
  checkList(facts, true, violations);
  checkList(facts, false, violations);
  checkBlocks(facts, violations);
  checkIndex(facts, violations);
  checkHolders(facts, violations);
  return violations;
}

}  // namespace engine::kv
