// Cuts a text into the pieces of a sentencepiece BPE vocabulary, as the library does, in a time that
// stays small beside the library's when words are long.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/base/ids.h"
#include "engine/text/vocabulary.h"

namespace engine::text {

// Immutable after creation, thread-safe. The vocabulary must outlive it.
class ScoreMerger {
 public:
  // Null for vocabularies with what is left to the library: unused pieces, a byte without a piece, a score
  // that is no number.
  static std::unique_ptr<ScoreMerger> create(const Vocabulary& vocabulary);

  // Appends the ids of UTF-8 text, whose spaces are not escaped yet. The best-scored pair of neighbours is
  // merged first, of equals the leftmost; user-defined pieces are matched before and never merged; what no
  // piece writes becomes bytes.
  void encode(std::string_view text, std::vector<TokenId>& ids) const;

 private:
  // A character or piece; characters without a piece have ids below -1 (see symbolOf).
  struct Symbol {
    TokenId id = -1;
    std::int32_t previous = -1, next = -1;
    bool isFrozen = false;
  };

  struct Merge {
    TokenId merged = -1;  // -1 = the two have no piece together
    std::int32_t rank = 0;  // lower merges first
  };

  class Run;  // one call of encode()

  explicit ScoreMerger(const Vocabulary& vocabulary) : m_vocabulary(vocabulary) {}

  bool collect();
  bool rankScores();
  std::vector<Symbol> symbolsOf(std::string_view text) const;
  // The longest user-defined piece at the beginning of `text`; -1 and 0 when there is none.
  TokenId userDefinedAt(std::string_view text, std::size_t& length) const;
  std::string textOfSymbol(TokenId id) const;
  Merge mergeOf(TokenId left, TokenId right) const;

  const Vocabulary& m_vocabulary;
  std::deque<std::string> m_escaped;  // texts of user-defined pieces, which m_pieces points into
  std::unordered_map<std::string_view, TokenId> m_pieces;
  std::unordered_map<std::string_view, TokenId> m_userDefined;
  std::vector<std::size_t> m_userLengths[256];  // by first byte, longest first
  std::vector<std::int32_t> m_ranks;            // of each piece's score
  std::int32_t m_numRanks = 0;
  TokenId m_bytes[256] = {};
};

}  // namespace engine::text
