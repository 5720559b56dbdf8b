// Merges a word's symbols pair by pair, the best-ranked and then the leftmost pair first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/base/ids.h"

namespace engine::text {

// Immutable once filled; merge() is thread-safe.
class BpeMerger {
 public:
  void reserve(std::size_t numRules) { m_rules.reserve(numRules); }

  // `rank`: lower merges first. The first rule of a pair counts.
  void add(TokenId left, TokenId right, TokenId merged, std::int32_t rank);

  // Replaces `symbols` by what is left when no rule applies. O(n log n) in their number.
  void merge(std::vector<TokenId>& symbols) const;

 private:
  struct Rule {
    TokenId merged = -1;
    std::int32_t rank = 0;
  };

  const Rule* find(TokenId left, TokenId right) const;

  std::unordered_map<std::uint64_t, Rule> m_rules;
};

}  // namespace engine::text
