#include "engine/sample/distribution.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace engine::sample {

Distribution::Distribution(std::vector<TokenShare> weights) : m_shares(std::move(weights)) {
  std::erase_if(m_shares, [](const TokenShare& one) { return !(one.p > 0.0f); });
  if (!std::ranges::is_sorted(m_shares, {}, &TokenShare::id)) {
    std::ranges::sort(m_shares, {}, &TokenShare::id);
  }
  double sum = 0.0;
  for (const TokenShare& one : m_shares) sum += one.p;
  for (TokenShare& one : m_shares) one.p = static_cast<float>(one.p / sum);
}

float Distribution::of(TokenId id) const {
  const auto found = std::ranges::lower_bound(m_shares, id, {}, &TokenShare::id);
  return found != m_shares.end() && found->id == id ? found->p : 0.0f;
}

TokenId Distribution::draw(double u) const {
  CHECK(!m_shares.empty());
  double sum = 0.0;
  for (const TokenShare& one : m_shares) sum += one.p;
  double left = u * sum;
  for (const TokenShare& one : m_shares) {
    left -= one.p;
    if (left < 0.0) return one.id;
  }
  return m_shares.back().id;
}

Distribution Distribution::lessThat(const Distribution& other) const {
  std::vector<TokenShare> rest;
  auto theirs = other.m_shares.begin();
  for (const TokenShare& one : m_shares) {
    while (theirs != other.m_shares.end() && theirs->id < one.id) ++theirs;
    const bool isBoth = theirs != other.m_shares.end() && theirs->id == one.id;
    const float left = one.p - (isBoth ? theirs->p : 0.0f);
    if (left > 0.0f) rest.push_back({one.id, left});
  }
  return rest.empty() ? *this : Distribution(std::move(rest));
}

}  // namespace engine::sample
