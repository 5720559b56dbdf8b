#include "engine/text/special_matcher.h"

#include <algorithm>
#include <functional>

namespace engine::text {

std::vector<TemplateRange> templateRanges(const OriginText& text) {
  std::vector<TemplateRange> ranges;
  std::size_t at = 0;
  for (const OriginRun& run : text) {
    const std::size_t end = at + run.text.size();
    if (run.origin == Origin::Template && end > at) {
      if (!ranges.empty() && ranges.back().end == at) {
        ranges.back().end = end;
      } else {
        ranges.push_back({at, end});
      }
    }
    at = end;
  }
  return ranges;
}

SpecialMatcher::SpecialMatcher(const Vocabulary& vocabulary, bool matchUserDefined) {
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const TokenType type = vocabulary.types[id];
    const bool isControl = type == TokenType::Control || type == TokenType::Unknown;
    const bool isUserDefined = type == TokenType::UserDefined && matchUserDefined;
    if (!isControl && !isUserDefined) continue;
    add(vocabulary.tokens[id], {static_cast<TokenId>(id), isControl});
  }
  for (std::vector<std::size_t>& lengths : m_lengthsByFirst) {
    std::sort(lengths.begin(), lengths.end(), std::greater<>());
    lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  }
}

void SpecialMatcher::add(const std::string& text, Entry entry) {
  if (text.empty()) return;
  if (!m_entries.emplace(text, entry).second) return;  // the lowest id of equal texts
  m_lengthsByFirst[static_cast<unsigned char>(text[0])].push_back(text.size());
}

std::vector<TextSegment> SpecialMatcher::split(
    std::string_view text, const std::vector<TemplateRange>& controlRanges) const {
  std::vector<TextSegment> segments;
  std::size_t plainBegin = 0;
  auto range = controlRanges.begin();
  for (std::size_t at = 0; at < text.size();) {
    while (range != controlRanges.end() && range->end <= at) ++range;
    const bool isInside = range != controlRanges.end() && range->begin <= at;
    const Match match = longestAt(text, at, isInside ? range->end : at);
    if (match.length == 0) {
      ++at;
      continue;
    }
    if (at > plainBegin) segments.push_back({plainBegin, at, -1});
    segments.push_back({at, at + match.length, match.id});
    at += match.length;
    plainBegin = at;
  }
  if (text.size() > plainBegin) segments.push_back({plainBegin, text.size(), -1});
  return segments;
}

SpecialMatcher::Match SpecialMatcher::longestAt(std::string_view text,
                                                std::size_t at,
                                                std::size_t controlEnd) const {
  for (const std::size_t length : m_lengthsByFirst[static_cast<unsigned char>(text[at])]) {
    if (length > text.size() - at) continue;
    const auto found = m_entries.find(text.substr(at, length));
    if (found == m_entries.end()) continue;
    if (found->second.isControl && at + length > controlEnd) continue;
    return {found->second.id, length};
  }
  return {};
}

}  // namespace engine::text
