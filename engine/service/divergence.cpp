#include "engine/service/divergence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/sample/column_tiles.h"
#include "engine/sim/serving_metrics.h"

namespace engine::service {

namespace {

constexpr float kFloor = -16.0f;

}  // namespace

Result<void> DivergenceMeter::add(std::span<const float> base,
                                  std::span<const float> logits,
                                  TokenId next) {
  if (base.size() != logits.size()) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the base has {} tokens in its vocabulary, this model {}", base.size(),
                             logits.size())};
  }
  const sample::RowSummary summary = TRY(sample::summarizeRow(logits));
  double kld = 0.0;
  std::size_t bestBase = 0;
  for (std::size_t i = 0; i < base.size(); ++i) {
    if (base[i] > base[bestBase]) bestBase = i;
    if (base[i] <= kFloor) continue;
    const double logprob = double{logits[i]} - summary.logSumExp;
    kld += std::exp(double{base[i]}) * (double{base[i]} - logprob);
  }
  const auto at = static_cast<std::size_t>(next);
  const double logprob = double{logits[at]} - summary.logSumExp;
  const double dp = std::exp(logprob) - std::exp(double{base[at]});
  m_klds.push_back(kld);
  m_sumDp2 += dp * dp;
  m_sumNll -= logprob;
  m_sumBaseNll -= double{base[at]};
  m_same += static_cast<TokenId>(bestBase) == summary.argmax;
  return {};
}

DivergenceResult DivergenceMeter::result() const {
  DivergenceResult result;
  result.positions = static_cast<std::int64_t>(m_klds.size());
  if (m_klds.empty()) return result;
  const auto n = static_cast<double>(m_klds.size());
  result.meanKld = std::accumulate(m_klds.begin(), m_klds.end(), 0.0) / n;
  std::vector<double> sorted = m_klds;
  std::ranges::sort(sorted);
  result.p99Kld = sim::interpolatedPercentile(sorted, 0.99);
  result.maxKld = sorted.back();
  result.top1 = static_cast<double>(m_same) / n;
  result.rmsDp = std::sqrt(m_sumDp2 / n);
  result.pplRatio = std::exp((m_sumNll - m_sumBaseNll) / n);
  return result;
}

}  // namespace engine::service
