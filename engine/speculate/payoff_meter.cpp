#include "engine/speculate/payoff_meter.h"

#include <algorithm>
#include <bit>

namespace engine::speculate {

namespace {

constexpr int kBaselineSteps = 3;  // plain steps before the first guess
constexpr int kFirstPause = 64;
constexpr int kLongestPause = 4096;
constexpr int kBaselineEvery = 64;  // steps with guesses after which a plain one is measured again
constexpr int kWindow = 16;         // steps that a mean remembers
constexpr double kOutlier = 2.0;    // times the mean: more counts as this much
constexpr double kLossShare = 0.02;  // of all time may be lost
constexpr double kFreeSteps = 3;     // plain steps that may be lost beside it

}  // namespace

void PayoffMeter::Mean::add(double value) {
  if (count >= kBaselineSteps) value = std::min(value, kOutlier * mean);
  count = std::min(count + 1, kWindow);
  mean += (value - mean) / count;
}

std::size_t PayoffMeter::indexOf(int rows) {
  const auto width = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(rows)));
  return std::min<std::size_t>(width == 0 ? 0 : width - 1, 15);
}

bool PayoffMeter::isWithinMeans(const Size& size, int rows, const TrialCost& cost) const {
  const double plainStepNs = size.plain.mean * rows;
  return m_lostNs + cost.ns + cost.steps * plainStepNs <=
         kLossShare * m_totalNs + kFreeSteps * plainStepNs;
}

void PayoffMeter::recordCatchUp(std::int64_t ns) {
  m_savedNs -= static_cast<double>(ns);
  m_lostNs += static_cast<double>(ns);
  m_totalNs += static_cast<double>(ns);
}

std::optional<double> PayoffMeter::savedNs() const {
  return m_hasBaseline ? std::optional<double>(m_savedNs) : std::nullopt;
}

bool PayoffMeter::mayDraft(int rows, const TrialCost& cost) {
  Size& size = m_sizes[indexOf(rows)];
  if (size.plain.count < kBaselineSteps) return false;
  if (size.pause > 0) {
    --size.pause;
    return false;
  }
  if (size.trial == 0 && !isWithinMeans(size, rows, cost)) return false;
  return size.sincePlain < kBaselineEvery;
}

void PayoffMeter::record(int rows, int tokens, std::int64_t ns, bool hasDrafts) {
  m_current = indexOf(rows);
  Size& size = m_sizes[m_current];
  const double perToken = static_cast<double>(ns) / static_cast<double>(tokens);
  m_totalNs += static_cast<double>(ns);
  m_hasBaseline = m_hasBaseline || size.plain.count > 0 || !hasDrafts;
  if (!hasDrafts) {
    size.sincePlain = 0;
    size.plain.add(perToken);
    return;
  }
  ++size.sincePlain;
  if (size.plain.count > 0) {
    const double plainNs = size.plain.mean * tokens;
    m_savedNs += plainNs - static_cast<double>(ns);
    const bool isKnown = size.drafted.count >= kBaselineSteps;
    const double usual = isKnown ? kOutlier * size.drafted.mean : perToken;
    m_lostNs += std::min(perToken, usual) * tokens - plainNs;
    // what was won before is no reason to lose it again
    m_lostNs = std::max(m_lostNs, 0.0);
  }
  size.drafted.add(perToken);
  if (++size.trial < kTrialSteps) return;
  if (size.drafted.mean < size.plain.mean) {
    size.nextPause = 0;
    return;
  }
  size.nextPause = std::clamp(2 * size.nextPause, kFirstPause, kLongestPause);
  size.pause = size.nextPause;
  size.trial = 0;
  size.drafted.count = 0;  // the next trial is judged by itself
}

}  // namespace engine::speculate
