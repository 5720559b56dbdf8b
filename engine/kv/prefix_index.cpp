#include "engine/kv/prefix_index.h"

#include <algorithm>

#include "engine/base/check.h"

namespace engine::kv {

namespace {

constexpr int kMaxNeighbours = 64;          // looked at for an explanation
constexpr std::size_t kMaxEvicted = 16384;  // hashes remembered after their eviction

}  // namespace

PrefixIndex::PrefixIndex(int blockSize, std::int64_t numBlocks)
    : m_blockSize(static_cast<std::size_t>(blockSize)),
      m_entries(static_cast<std::size_t>(numBlocks)),
      m_tokens(static_cast<std::size_t>(numBlocks) * m_blockSize),
      m_byHash(numBlocks) {}

std::span<const TokenId> PrefixIndex::tokensOf(std::int32_t block) const {
  return std::span(m_tokens).subspan(static_cast<std::size_t>(block) * m_blockSize, m_blockSize);
}

bool PrefixIndex::isFindable(BlockId block) const {
  return entry(block.value).hash != 0 && !entry(block.value).isHidden;
}

std::uint64_t PrefixIndex::hashOf(BlockId block) const {
  return isFindable(block) ? entry(block.value).hash : 0;
}

BlockId PrefixIndex::parentOf(BlockId block) const {
  return BlockId(entry(block.value).parent);
}

std::int32_t& PrefixIndex::firstOf(std::int32_t parent) {
  return parent < 0 ? m_firstRoot : entry(parent).firstChild;
}

// The block under `parent` with the tokens of the query's block i, or -1.
std::int32_t PrefixIndex::lookUp(const PrefixQuery& query,
                                 std::size_t i,
                                 std::int32_t parent) const {
  const std::int32_t block = m_byHash.find(query.chain->hashOf(i, query.tokens));
  if (block < 0) return -1;
  const Entry& candidate = entry(block);
  if (candidate.isHidden || candidate.parent != parent) return -1;
  const auto tokens = query.tokens.subspan(i * m_blockSize, m_blockSize);
  if (!std::ranges::equal(tokens, tokensOf(block))) return -1;
  if (parent < 0 && m_rootNamespaces.at(block) != query.chain->nameSpace()) return -1;
  return block;
}

PrefixMatch PrefixIndex::find(const PrefixQuery& query) const {
  PrefixMatch match;
  if (query.tokens.empty()) return match;
  const std::size_t most = (query.tokens.size() - 1) / m_blockSize;  // one token is left to compute
  std::int32_t parent = -1;
  for (std::size_t i = 0; i < most; ++i) {
    const std::int32_t block = lookUp(query, i, parent);
    if (block < 0) break;
    match.blocks.emplace_back(block);
    parent = block;
  }
  match.numTokens = static_cast<std::int64_t>(match.blocks.size() * m_blockSize);
  match.position = match.numTokens;
  if (match.blocks.size() == most) match.miss = PrefixMiss::BlockFloor;
  return match;
}

void PrefixIndex::explain(const PrefixQuery& query, PrefixMatch& match) const {
  if (match.miss != PrefixMiss::NeverSeen || query.tokens.empty()) return;
  const std::size_t i = match.blocks.size();
  if (m_evicted.contains(query.chain->hashOf(i, query.tokens))) {
    match.miss = PrefixMiss::Evicted;
    return;
  }
  const auto tokens = query.tokens.subspan(i * m_blockSize, m_blockSize);
  std::size_t nearest = 0;
  bool hasNeighbour = false;
  std::int32_t block =
      match.blocks.empty() ? m_firstRoot : entry(match.blocks.back().value).firstChild;
  for (int n = 0; block >= 0 && n < kMaxNeighbours; ++n, block = entry(block).nextSibling) {
    if (entry(block).isHidden) continue;
    const auto other = tokensOf(block);
    const auto differs = std::ranges::mismatch(tokens, other);
    const auto common = static_cast<std::size_t>(differs.in1 - tokens.begin());
    if (common == m_blockSize) {  // a first block that only the namespace keeps apart
      match.miss = PrefixMiss::Namespace;
      return;
    }
    hasNeighbour = hasNeighbour || i > 0 || common > 0;
    nearest = std::max(nearest, common);
  }
  if (!hasNeighbour) return;
  match.miss = PrefixMiss::DifferentToken;
  match.position = match.numTokens + static_cast<std::int64_t>(nearest);
}

BlockId PrefixIndex::publish(const PrefixQuery& query,
                             std::size_t i,
                             BlockId block,
                             BlockId parent) {
  CHECK(m_hidden.empty());  // a step that still may roll back publishes nothing
  CHECK((i == 0) == parent.isNone());
  CHECK(parent.isNone() || isFindable(parent));
  const std::int32_t there = lookUp(query, i, parent.value);
  if (there >= 0) return BlockId(there);
  Entry& mine = entry(block.value);
  CHECK(mine.hash == 0);
  const std::uint64_t hash = query.chain->hashOf(i, query.tokens);
  // Another content with the same hash keeps its place: ours stays private.
  if (!m_byHash.insert(hash, block.value)) return BlockId();
  std::int32_t& first = firstOf(parent.value);
  mine = Entry{hash, false, parent.value, -1, first, -1};
  if (first >= 0) entry(first).prevSibling = block.value;
  first = block.value;
  if (i == 0) m_rootNamespaces[block.value] = query.chain->nameSpace();
  const auto tokens = query.tokens.subspan(i * m_blockSize, m_blockSize);
  std::ranges::copy(tokens,
                    m_tokens.begin() + block.value * static_cast<std::int64_t>(m_blockSize));
  ++m_version;
  return block;
}

void PrefixIndex::hide(BlockId block) {
  CHECK(isFindable(block));
  entry(block.value).isHidden = true;
  m_hidden.push_back(block.value);
  ++m_version;
}

void PrefixIndex::restoreHidden() {
  for (const std::int32_t block : m_hidden) entry(block).isHidden = false;
  m_hidden.clear();
  ++m_version;
}

void PrefixIndex::commitHidden() {
  for (const std::int32_t block : m_hidden) erase(block);
  m_hidden.clear();
}

void PrefixIndex::erase(std::int32_t block) {
  Entry& gone = entry(block);
  CHECK(gone.firstChild < 0);
  if (gone.prevSibling >= 0) {
    entry(gone.prevSibling).nextSibling = gone.nextSibling;
  } else {
    firstOf(gone.parent) = gone.nextSibling;
  }
  if (gone.nextSibling >= 0) entry(gone.nextSibling).prevSibling = gone.prevSibling;
  if (gone.parent < 0) m_rootNamespaces.erase(block);
  m_byHash.erase(gone.hash);
  rememberEvicted(gone.hash);
  gone = Entry{};
}

void PrefixIndex::rememberEvicted(std::uint64_t hash) {
  m_evictedOrder.push_back(hash);
  ++m_evicted[hash];
  if (m_evictedOrder.size() <= kMaxEvicted) return;
  const auto oldest = m_evicted.find(m_evictedOrder.front());
  if (--oldest->second == 0) m_evicted.erase(oldest);
  m_evictedOrder.pop_front();
}

}  // namespace engine::kv
