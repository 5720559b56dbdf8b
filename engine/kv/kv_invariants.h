// What must hold of the KV memory between any two operations: facts in, violations out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/kv/kv_cache.h"

namespace engine::kv {

// Read-only copy of everything the rules look at; a test can bend one to see its rule at work.
struct KvFacts {
  struct Holder {
    RequestId request;
    std::vector<BlockId> table;
    std::int64_t numComputed = 0, publishedBlocks = 0;
  };

  struct Findable {
    std::uint64_t hash = 0;  // 0 = not in the index
    BlockId parent;
  };

  int blockSize = 0;
  std::int64_t numFree = 0, numCached = 0, numUsed = 0;  // as counted
  std::vector<Block> blocks;                             // by id
  std::vector<BlockId> freeOrder, evictionOrder;
  std::vector<Findable> findable;  // by id
  std::int64_t numEntries = 0;
  std::vector<Holder> holders;  // all of them
};

// Without holders, which the caller adds.
KvFacts takeFacts(const KvCache& cache);

// One sentence each; empty when all is well.
std::vector<std::string> findViolations(const KvFacts& facts);

}  // namespace engine::kv
