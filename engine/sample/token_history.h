// How often each token occurs in one request, for the penalties. Grows with the output; the newest
// tokens can be taken back.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/base/ids.h"

namespace engine::sample {

struct TokenUse {
  bool isInPrompt = false;
  std::int32_t outputCount = 0;
};

// Engine thread only.
class TokenHistory {
 public:
  explicit TokenHistory(std::span<const TokenId> prompt = {});

  void append(TokenId id);
  // Takes back the newest `count` output tokens, at most all of them.
  void rollback(std::size_t count);

  std::size_t numOutputTokens() const { return m_output.size(); }

  // Ids in no particular order; each stands for one logit, so the order cannot matter.
  const std::unordered_map<TokenId, TokenUse>& uses() const { return m_uses; }

 private:
  std::unordered_map<TokenId, TokenUse> m_uses;
  std::vector<TokenId> m_output;
};

}  // namespace engine::sample
