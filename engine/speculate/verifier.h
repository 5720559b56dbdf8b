// Verifies guesses against the model's own rows: a guess stands with probability min(1, p/q), and
// where it falls the token comes from the normalised max(0, p - q).
//
// A proposer that names one token for certain has q = 1 there and 0 elsewhere. The rule is then the
// same as to draw from p and to let the guess stand when it is what was drawn: it stands with
// probability p, and otherwise the draw is one from p without the guess. The draw is the one that
// the position gets without speculation, so ids, log-probabilities and row hashes are bitwise the
// same with it, greedy or sampled, however many guesses a step had room for.
//
// A guess that was itself drawn from a q is tried by a draw of its own, and so is what takes its
// place: tokens follow p exactly, but which ones come depends on how many guesses were tried.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/result.h"
#include "engine/sample/sampler.h"

namespace engine::speculate {

// What became of one guess. It stands exactly when u < p / q.
struct DraftVerdict {
  TokenId id = -1;
  std::int64_t position = 0;  // in its sequence
  float p = 0, q = 1;         // what model and proposer give it, after the sampling chain
  float u = 0;                // uniform in [0, 1); 0 where the chain is greedy
  bool isAccepted = false;
};

// One sequence's part of a step: the rows of logits after its newest token and after each guess.
struct DraftRun {
  std::span<const TokenId> drafts;
  // What each draft was drawn from, for requests that draw; empty = named for certain.
  std::span<const sample::Distribution> drawnFrom;
  std::vector<SampledToken> tokens;    // guesses that stand, then the one token drawn after them
  std::vector<DraftVerdict> verdicts;  // of the guesses looked at
  bool isOpen = true;                  // wants the next row

  // How many of `tokens` are guesses that stand.
  std::size_t numAccepted() const;
};

// What the draws of a run depend on beside its rows; history and mask are as before the run, and
// are so again after every call.
struct RunContext {
  const SamplingParams* params = nullptr;
  sample::TokenHistory* history = nullptr;  // null = no penalties
  sample::TokenMask* mask = nullptr;        // null = all tokens allowed
  std::uint64_t sample = 0;
  std::int64_t position = 0;  // of the run's first new token
  bool wantRowHash = false;
};

// The run's next row: draws its token and closes the run unless that token is the next guess. A
// row that gives no token (not finite, nothing allowed) is an error only as the run's first: later
// it ends the run before it, and comes up again as the first of the next step.
//   logits: [vocabSize], as the model gave them; tiles: what is known of them, or nothing
Result<void> verifyNext(sample::Sampler& sampler,
                        const RunContext& context,
                        std::span<const float> logits,
                        DraftRun& run,
                        std::span<const sample::TileSummary> tiles = {});

}  // namespace engine::speculate
