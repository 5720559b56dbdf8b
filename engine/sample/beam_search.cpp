#include "engine/sample/beam_search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "engine/base/check.h"

namespace engine::sample {

BeamSearch::Step BeamSearch::choose(std::span<const double> sums,
                                    std::span<const std::vector<BeamCandidate>> rows,
                                    const std::function<bool(TokenId)>& isEnd) const {
  CHECK(sums.size() == rows.size());
  Step step;
  for (std::size_t beam = 0; beam < rows.size(); ++beam) {
    for (const BeamCandidate& one : rows[beam]) {
      Move move{beam, one.token, sums[beam] + one.logprob};
      (isEnd(one.token.id) ? step.ended : step.next).push_back(std::move(move));
    }
  }
  std::ranges::stable_sort(step.next, std::greater(), &Move::sum);
  const auto width = static_cast<std::size_t>(m_params.width);
  if (step.next.size() > width) step.next.resize(width);
  return step;
}

double BeamSearch::scoreOf(double sum, std::int64_t length) const {
  return sum / std::pow(static_cast<double>(length), m_params.lengthPenalty);
}

void BeamSearch::add(BeamAnswer answer) {
  std::int64_t length = m_params.promptTokens + std::ssize(answer.tokens);
  // an end token is no part of the length
  if (answer.endsWithEndToken) --length;
  answer.score = scoreOf(answer.sum, length);
  m_answers.push_back(std::move(answer));
}

bool BeamSearch::isDecided(double bestLiveSum, std::int64_t outputs) const {
  const auto width = static_cast<std::size_t>(m_params.width);
  if (m_answers.size() < width) return false;
  if (m_params.earlyStopping) return true;
  // sums only fall: the best of futures is the same sum at the length that flatters it most
  const std::int64_t shortest = m_params.promptTokens + outputs;
  const std::int64_t longest = m_params.promptTokens + m_params.maxOutputs;
  const double bound =
      std::max(scoreOf(bestLiveSum, shortest), scoreOf(bestLiveSum, longest));
  return best(width).back().score >= bound;
}

std::vector<BeamAnswer> BeamSearch::best(std::size_t count) const {
  std::vector<BeamAnswer> ranked = m_answers;
  std::ranges::stable_sort(ranked, std::greater(), &BeamAnswer::score);
  if (ranked.size() > count) ranked.resize(count);
  return ranked;
}

}  // namespace engine::sample
