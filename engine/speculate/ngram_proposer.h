// Prompt lookup: what followed the sequence's newest tokens when they last occurred in it.
#pragma once

#include "engine/speculate/proposer.h"

namespace engine::speculate {

// How many of the newest tokens must have occurred before, and how many are compared at most.
struct NgramLengths {
  int min = 2, max = 5;
};

// The drafts after the longest earlier occurrence of the end of `tokens`, the latest among equals.
// Where the occurrence overlaps the end, the drafts go on with themselves: a loop stays a loop.
std::vector<TokenId> ngramDrafts(std::span<const TokenId> tokens, int count, NgramLengths lengths);

// Keeps nothing: a sequence's guesses depend on its tokens alone.
class NgramProposer final : public Proposer {
 public:
  explicit NgramProposer(NgramLengths lengths = {}) : m_lengths(lengths) {}

  void propose(std::span<Proposal> proposals) override;

 private:
  NgramLengths m_lengths;
};

}  // namespace engine::speculate
