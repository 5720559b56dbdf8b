// Finds the tokens that are matched as text before anything is split: control tokens, where the
// template wrote them, and user-defined tokens, anywhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/base/ids.h"
#include "engine/text/origin_text.h"
#include "engine/text/vocabulary.h"

namespace engine::text {

// One piece of the text: a matched token, or text still to be split when `id` is -1.
struct TextSegment {
  std::size_t begin = 0;
  std::size_t end = 0;
  TokenId id = -1;
};

// Which bytes the template wrote: sorted, disjoint, adjacent runs joined.
struct TemplateRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

std::vector<TemplateRange> templateRanges(const OriginText& text);

// Immutable after creation, thread-safe. The vocabulary must outlive it.
class SpecialMatcher {
 public:
  // Takes control and unknown tokens, and user-defined ones when `matchUserDefined`.
  SpecialMatcher(const Vocabulary& vocabulary, bool matchUserDefined);

  // Leftmost match first, the longest of several at one place. Control tokens match only inside
  // `controlRanges`. Segments follow each other without gaps.
  std::vector<TextSegment> split(std::string_view text,
                                 const std::vector<TemplateRange>& controlRanges) const;

 private:
  struct Entry {
    TokenId id = -1;
    bool isControl = false;
  };

  struct Match {
    TokenId id = -1;
    std::size_t length = 0;
  };

  void add(const std::string& text, Entry entry);
  // controlEnd: end of the template range that holds `at`, or `at` when none does.
  Match longestAt(std::string_view text, std::size_t at, std::size_t controlEnd) const;

  std::unordered_map<std::string_view, Entry> m_entries;       // keys live in the vocabulary
  std::array<std::vector<std::size_t>, 256> m_lengthsByFirst;  // longest first
};

}  // namespace engine::text
