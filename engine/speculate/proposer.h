// Guesses what comes next, to be verified by the model in one pass: the interface of all drafters.
#pragma once

#include <span>
#include <vector>

#include "engine/base/ids.h"

namespace engine::speculate {

// One sequence that wants guesses.
struct Proposal {
  RequestId request;
  std::span<const TokenId> tokens;  // prompt and output so far
  int count = 0;                    // at most so many guesses
  std::vector<TokenId> drafts;      // the answer: at most `count`, none when nothing suggests itself
};

// Engine thread only.
class Proposer {
 public:
  virtual ~Proposer() = default;

  virtual void propose(std::span<Proposal> proposals) = 0;
};

}  // namespace engine::speculate
