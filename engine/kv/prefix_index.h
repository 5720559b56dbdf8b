// Finds blocks by what is in them: a tree of full blocks, each child under the tokens before it.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/api/snapshot.h"
#include "engine/base/huge_allocator.h"
#include "engine/base/ids.h"
#include "engine/kv/block_hash_table.h"
#include "engine/kv/hash_chain.h"

namespace engine::kv {

struct PrefixMatch {
  std::vector<BlockId> blocks;
  std::int64_t numTokens = 0;  // blocks.size() * blockSize
  PrefixMiss miss = PrefixMiss::NeverSeen;
  std::int64_t position = 0;  // first token that is not reused, or that differs
};

// What a caller knows of a sequence when it asks.
struct PrefixQuery {
  HashChain* chain = nullptr;       // extended as far as the match goes
  std::span<const TokenId> tokens;  // from position 0
};

// Engine thread only. A findable block's parent is always findable: blocks are published in table
// order, held together with all before them, and released last-first, so eviction takes leaves.
class PrefixIndex {
 public:
  PrefixIndex(int blockSize, std::int64_t numBlocks);

  // The longest run of published blocks that hold tokens [0, n): hash, then parent, tokens and (for
  // the first block) namespace are compared. At least one token is always left to compute.
  PrefixMatch find(const PrefixQuery& query) const;
  // Why the match ended; looks at a bounded number of neighbours.
  void explain(const PrefixQuery& query, PrefixMatch& match) const;

  // Asks for the memory that a look for block i will need.
  void prefetch(const PrefixQuery& query, std::size_t i) const {
    m_byHash.prefetch(query.chain->hashOf(i, query.tokens));
  }

  // Block i of the sequence, full and committed, under `parent` (none for i = 0), which is
  // findable. Returns the block that is findable under these tokens now: `block`, or the one that
  // was there.
  BlockId publish(const PrefixQuery& query, std::size_t i, BlockId block, BlockId parent);

  // Not findable from now on. Final at commitHidden(); restoreHidden() takes all back.
  void hide(BlockId block);
  void commitHidden();
  void restoreHidden();

  // Grows whenever a find() could give another answer.
  std::uint64_t version() const { return m_version; }

  std::size_t numEntries() const { return m_byHash.size() - m_hidden.size(); }

  bool isFindable(BlockId block) const;
  std::uint64_t hashOf(BlockId block) const;  // 0 when not findable
  BlockId parentOf(BlockId block) const;

 private:
  struct Entry {
    std::uint64_t hash = 0;  // 0 = no entry
    bool isHidden = false;
    std::int32_t parent = -1;
    std::int32_t firstChild = -1, nextSibling = -1, prevSibling = -1;
  };

  const Entry& entry(std::int32_t block) const {
    return m_entries[static_cast<std::size_t>(block)];
  }

  Entry& entry(std::int32_t block) { return m_entries[static_cast<std::size_t>(block)]; }

  std::span<const TokenId> tokensOf(std::int32_t block) const;
  std::int32_t lookUp(const PrefixQuery& query, std::size_t i, std::int32_t parent) const;
  std::int32_t& firstOf(std::int32_t parent);
  void erase(std::int32_t block);
  void rememberEvicted(std::uint64_t hash);

  std::size_t m_blockSize;
  std::vector<Entry, HugeAllocator<Entry>> m_entries;  // by block
  std::vector<TokenId, HugeAllocator<TokenId>>
      m_tokens;  // [numBlocks, blockSize], of published blocks
  BlockHashTable m_byHash;
  std::unordered_map<std::int32_t, std::string> m_rootNamespaces;  // of first blocks
  std::int32_t m_firstRoot = -1;
  std::vector<std::int32_t> m_hidden;
  std::deque<std::uint64_t> m_evictedOrder;  // bounded memory of what made room
  std::unordered_map<std::uint64_t, int> m_evicted;
  std::uint64_t m_version = 1;
};

}  // namespace engine::kv
