#include "engine/kv/hash_chain.h"

#include <xxhash.h>

#include "engine/base/check.h"

namespace engine::kv {

namespace {

std::uint64_t neverZero(std::uint64_t hash) {
  return hash == 0 ? 1 : hash;
}

}  // namespace

std::uint64_t rootHash(std::string_view identity, std::string_view nameSpace) {
  // each part goes in with its length, so that ("ab", "c") and ("a", "bc") differ
  std::string key = "tessera-kv-1:" + std::to_string(identity.size()) + ":";
  key.append(identity);
  key += ":" + std::to_string(nameSpace.size()) + ":";
  key.append(nameSpace);
  return neverZero(XXH64(key.data(), key.size(), 0));
}

std::uint64_t chainHash(std::uint64_t parent, std::span<const TokenId> blockTokens) {
  return neverZero(XXH64(blockTokens.data(), blockTokens.size_bytes(), parent));
}

std::uint64_t HashChain::hashOf(std::size_t i, std::span<const TokenId> tokens) {
  CHECK((i + 1) * m_blockSize <= tokens.size());
  while (m_hashes.size() <= i) {
    const std::size_t next = m_hashes.size();
    m_hashes.push_back(chainHash(next == 0 ? m_root : m_hashes.back(),
                                 tokens.subspan(next * m_blockSize, m_blockSize)));
  }
  return m_hashes[i];
}

}  // namespace engine::kv
