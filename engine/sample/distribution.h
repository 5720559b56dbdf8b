// What a sampling chain leaves of a row, as probabilities: what speculation's rule compares.
#pragma once

#include <vector>

#include "engine/base/ids.h"

namespace engine::sample {

struct TokenShare {
  TokenId id = -1;
  float p = 0.0f;
};

// Tokens with a probability above 0, which sum to 1 but for rounding.
class Distribution {
 public:
  Distribution() = default;

  // Any order, any positive sum; ids are different.
  explicit Distribution(std::vector<TokenShare> weights);

  bool isEmpty() const { return m_shares.empty(); }

  // By id.
  const std::vector<TokenShare>& shares() const { return m_shares; }

  // 0 for a token that is not among them.
  float of(TokenId id) const;

  // The token at `u` in [0, 1) of the cumulated mass, in the order of ids. Not empty.
  TokenId draw(double u) const;

  // max(0, this - other), normalised; this one itself where nothing is left of it.
  Distribution lessThat(const Distribution& other) const;

 private:
  std::vector<TokenShare> m_shares;
};

}  // namespace engine::sample
