// Chained hashes of a sequence's full blocks: each covers the namespace and every token before it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/ids.h"

namespace engine::kv {

// Never 0, which means "not findable".
std::uint64_t rootHash(std::string_view identity, std::string_view nameSpace);
std::uint64_t chainHash(std::uint64_t parent, std::span<const TokenId> blockTokens);

// Grows as tokens become final; a hash once computed is never computed again.
class HashChain {
 public:
  // identity: model and KV format, the same for all sequences of a cache.
  HashChain(std::string_view identity, std::string nameSpace, int blockSize)
      : m_nameSpace(std::move(nameSpace)),
        m_blockSize(static_cast<std::size_t>(blockSize)),
        m_root(rootHash(identity, m_nameSpace)) {}

  const std::string& nameSpace() const { return m_nameSpace; }

  // Hash of block i; `tokens` are the sequence's from position 0 and cover that block.
  std::uint64_t hashOf(std::size_t i, std::span<const TokenId> tokens);

 private:
  std::string m_nameSpace;
  std::size_t m_blockSize;
  std::uint64_t m_root;
  std::vector<std::uint64_t> m_hashes;
};

}  // namespace engine::kv
