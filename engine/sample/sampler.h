// Turns one row of logits into one token: an explicit chain of stages, then a seeded draw.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/api/request.h"
#include "engine/api/sampling_params.h"
#include "engine/base/result.h"
#include "engine/sample/beam_search.h"
#include "engine/sample/candidate_set.h"
#include "engine/sample/distribution.h"
#include "engine/sample/sampling_order.h"
#include "engine/sample/token_history.h"
#include "engine/sample/token_mask.h"

namespace engine::sample {

// Everything a draw depends on; nothing else does. Borrowed during the call.
struct DrawRequest {
  std::span<const float> logits;  // [vocabSize], as the model gave them
  const SamplingParams* params = nullptr;
  const TokenHistory* history = nullptr;  // null = no penalties
  const TokenMask* mask = nullptr;        // null = all tokens allowed
  std::uint64_t sample = 0;               // which child of a request with n > 1
  std::int64_t position = 0;              // of the new token in its sequence
  bool wantRowHash = false;
  std::span<const TileSummary> tiles = {};  // what is known of the logits' tiles, or nothing
};

// One thread at a time; keeps scratch of one row.
class Sampler {
 public:
  explicit Sampler(OrderPreset order = OrderPreset::Vllm) : m_stages(stagesOf(order)) {}

  // The token with its raw logprob, alternatives and row hash. Temperature 0 takes the largest
  // logit left after mask, bias and penalties, the lowest id among equals; no filter can remove it.
  // Internal when a logit is not finite; InvalidArgument when the mask allows nothing.
  Result<SampledToken> sample(const DrawRequest& request);

  // The chain's probabilities; everything on one token at temperature 0. Errors as sample().
  Result<Distribution> distribution(const DrawRequest& request);

  // A token drawn elsewhere, with its raw logprob, alternatives and row hash. Errors as sample().
  Result<SampledToken> describe(const DrawRequest& request, TokenId id) const;

  // The `count` likeliest tokens after mask, bias and penalties, best first, with the
  // log-probabilities that they have there; temperature and filters do not act. Errors as sample().
  Result<std::vector<BeamCandidate>> best(const DrawRequest& request, int count);

  // What is left of the row after the chain, for tests and the sampler's view.
  Result<std::vector<Candidate>> remaining(const DrawRequest& request);

  // What the last sample() with a temperature above 0 gave this id of the draw's interval.
  DrawShare lastShareOf(TokenId id) const { return m_candidates.shareOf(id); }

 private:
  // Runs the chain; false when the mask left no token.
  bool narrow(const DrawRequest& request);
  bool changeLogits(const DrawRequest& request);
  void filter(Stage stage, const SamplingParams& params);
  TokenId choose(const DrawRequest& request);

  std::span<const Stage> m_stages;
  std::vector<float> m_scratch;  // a row's logits, changed
  CandidateSet m_candidates;
};

// xxh64, seed 0, of the row's float32 bytes.
std::uint64_t rowHash(std::span<const float> logits);

}  // namespace engine::sample
