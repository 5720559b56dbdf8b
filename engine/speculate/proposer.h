// Guesses what comes next, to be verified by the model in one pass: the interface of all drafters.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/api/sampling_params.h"
#include "engine/base/ids.h"
#include "engine/sample/distribution.h"
#include "engine/sample/token_history.h"
#include "engine/sample/token_mask.h"

namespace engine::speculate {

// One sequence that wants guesses.
struct Proposal {
  RequestId request;
  std::span<const TokenId> tokens;  // prompt and output so far
  int count = 0;                    // at most so many guesses
  std::vector<TokenId> drafts;      // the answer: at most `count`, none when nothing suggests itself

  // What the sequence's own draws depend on; history and mask are as before after the call.
  const SamplingParams* params = nullptr;
  sample::TokenHistory* history = nullptr;
  sample::TokenMask* mask = nullptr;
  std::uint64_t sample = 0;
  std::string cacheNamespace;
  // What each draft was drawn from; empty = they are named for certain.
  std::vector<sample::Distribution> drawnFrom;
};

// Engine thread only.
class Proposer {
 public:
  virtual ~Proposer() = default;

  virtual void propose(std::span<Proposal> proposals) = 0;
};

}  // namespace engine::speculate
