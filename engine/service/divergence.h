// How far one model's distributions are from another's on the same text, position by position.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/result.h"

namespace engine::service {

struct DivergenceResult {
  double meanKld = 0, p99Kld = 0, maxKld = 0;  // nats, of base from measured
  double top1 = 0;                             // share of positions with the same best token
  double rmsDp = 0;     // root mean square of the true token's change of probability
  double pplRatio = 0;  // measured over base
  std::int64_t positions = 0;
  bool isCancelled = false;  // what was measured until then
};

// Collects positions and sums them up, by the definitions of llama.cpp's perplexity tool.
class DivergenceMeter {
 public:
  // base: log-probabilities [vocabSize]; logits: measured, [vocabSize]; next: the token that follows.
  // Base tokens below e^-16 are left out of the divergence, as the base file cannot hold them.
  Result<void> add(std::span<const float> base, std::span<const float> logits, TokenId next);
  DivergenceResult result() const;

 private:
  std::vector<double> m_klds;
  double m_sumDp2 = 0, m_sumNll = 0, m_sumBaseNll = 0;
  std::int64_t m_same = 0;
};

}  // namespace engine::service
