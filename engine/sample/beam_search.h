// Which continuations a beam search keeps, which answers it has, and when nothing can change them:
// the rules of vLLM's beam search, as pure bookkeeping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/api/request.h"

namespace engine::sample {

struct BeamParams {
  int width = 1;
  double lengthPenalty = 1.0;
  bool earlyStopping = false;   // enough once `width` answers are complete
  std::int64_t promptTokens = 0;
  std::int64_t maxOutputs = 0;  // where every beam ends at the latest
};

// One way on from a beam, with its log-probability after mask, bias and penalties.
struct BeamCandidate {
  SampledToken token;
  double logprob = 0;
};

struct BeamAnswer {
  std::vector<SampledToken> tokens;  // an end token included
  std::string text;
  double sum = 0;    // of the candidates' log-probabilities
  double score = 0;  // sum / (prompt + output tokens, without an end token)^lengthPenalty
  FinishReason reason = FinishReason::None;
  bool endsWithEndToken = false;
};

// Engine thread only.
class BeamSearch {
 public:
  // A candidate of the beam with this index.
  struct Move {
    std::size_t beam = 0;
    SampledToken token;
    double sum = 0;
  };

  struct Step {
    std::vector<Move> next;   // at most `width`, best first; ties: the lower beam, the better rank
    std::vector<Move> ended;  // every candidate that is an end token, whatever its rank
  };

  explicit BeamSearch(const BeamParams& params) : m_params(params) {}

  const BeamParams& params() const { return m_params; }

  // How many candidates a beam brings.
  int numCandidates() const { return 2 * m_params.width; }

  // sums, rows: of the live beams; each row best first.
  Step choose(std::span<const double> sums,
              std::span<const std::vector<BeamCandidate>> rows,
              const std::function<bool(TokenId)>& isEnd) const;

  // Takes a complete answer and gives it its score.
  void add(BeamAnswer answer);

  // No beam can change what is told: enough answers, and the best of what `bestLiveSum` may still
  // become after `outputs` tokens is no better than the worst of them.
  bool isDecided(double bestLiveSum, std::int64_t outputs) const;

  // The `count` best, or fewer; ties: the earlier one.
  std::vector<BeamAnswer> best(std::size_t count) const;

 private:
  double scoreOf(double sum, std::int64_t length) const;

  BeamParams m_params;
  std::vector<BeamAnswer> m_answers;  // in the order of their completion
};

}  // namespace engine::sample
