#include "engine/speculate/ngram_proposer.h"

#include <algorithm>
#include <cstddef>

namespace engine::speculate {

namespace {

// Tokens that the first `end` ones and all of them have in common at their ends, at most `max`.
std::size_t commonEnd(std::span<const TokenId> tokens, std::size_t end, std::size_t max) {
  std::size_t length = 0;
  const std::size_t most = std::min(end, max);
  while (length < most && tokens[end - 1 - length] == tokens[tokens.size() - 1 - length]) ++length;
  return length;
}

}  // namespace

std::vector<TokenId> ngramDrafts(std::span<const TokenId> tokens, int count, NgramLengths lengths) {
  const auto max = static_cast<std::size_t>(lengths.max);
  std::size_t best = 0, from = 0;
  for (std::size_t end = tokens.size(); end-- > 1 && best < max;) {
    const std::size_t length = commonEnd(tokens, end, max);
    if (length <= best) continue;
    best = length;
    from = end;
  }
  std::vector<TokenId> drafts;
  if (best == 0 || best < static_cast<std::size_t>(lengths.min)) return drafts;
  for (std::size_t i = from; drafts.size() < static_cast<std::size_t>(std::max(0, count)); ++i) {
    drafts.push_back(i < tokens.size() ? tokens[i] : drafts[i - tokens.size()]);
  }
  return drafts;
}

void NgramProposer::propose(std::span<Proposal> proposals) {
  for (Proposal& one : proposals) one.drafts = ngramDrafts(one.tokens, one.count, m_lengths);
}

}  // namespace engine::speculate
