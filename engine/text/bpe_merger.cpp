#include "engine/text/bpe_merger.h"

#include <queue>
#include <tuple>

#include "engine/base/pace.h"

namespace engine::text {

namespace {

std::uint64_t pairKey(TokenId left, TokenId right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
         static_cast<std::uint32_t>(right);
}

// A pair waiting to be merged; void once either symbol has changed.
struct Candidate {
  std::int32_t rank = 0;
  std::int32_t at = 0;  // index of the left symbol
  TokenId left = -1, right = -1, merged = -1;

  // std::priority_queue puts the greatest on top.
  bool operator<(const Candidate& other) const {
    return std::tie(rank, at) > std::tie(other.rank, other.at);
  }
};

struct Node {
  TokenId id = -1;  // -1 = merged into its left neighbour
  std::int32_t previous = -1, next = -1;
};

}  // namespace

void BpeMerger::add(TokenId left, TokenId right, TokenId merged, std::int32_t rank) {
  m_rules.emplace(pairKey(left, right), Rule{merged, rank});
}

const BpeMerger::Rule* BpeMerger::find(TokenId left, TokenId right) const {
  const auto found = m_rules.find(pairKey(left, right));
  return found == m_rules.end() ? nullptr : &found->second;
}

void BpeMerger::merge(std::vector<TokenId>& symbols) const {
  const auto count = static_cast<std::int32_t>(symbols.size());
  std::vector<Node> nodes(symbols.size());
  std::priority_queue<Candidate> waiting;
  const auto offer = [&](std::int32_t left, std::int32_t right) {
    if (left < 0 || right < 0) return;
    const TokenId leftId = nodes[left].id, rightId = nodes[right].id;
    if (const Rule* rule = find(leftId, rightId)) {
      waiting.push({rule->rank, left, leftId, rightId, rule->merged});
    }
  };
  for (std::int32_t at = 0; at < count; ++at) {
    nodes[at] = {symbols[at], at - 1, at + 1 < count ? at + 1 : -1};
    offer(at - 1, at);
  }
  while (!waiting.empty()) {
    Pace::breathe();
    const Candidate best = waiting.top();
    waiting.pop();
    Node& left = nodes[best.at];
    if (left.id != best.left || left.next < 0 || nodes[left.next].id != best.right) continue;
    Node& right = nodes[left.next];
    left.id = best.merged;
    left.next = right.next;
    right.id = -1;
    if (left.next >= 0) nodes[left.next].previous = best.at;
    offer(left.previous, best.at);
    offer(best.at, left.next);
  }
  symbols.clear();
  for (std::int32_t at = count > 0 ? 0 : -1; at >= 0; at = nodes[at].next) {
    symbols.push_back(nodes[at].id);
  }
}

}  // namespace engine::text
