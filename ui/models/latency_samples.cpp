#include "ui/models/latency_samples.h"

#include <algorithm>
#include <cmath>

namespace ui::models {

void LatencySamples::add(std::int64_t tNs, double ms) {
  if (m_samples.size() >= m_capacity) {
    m_samples.erase(m_samples.begin(), m_samples.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, m_capacity / 4)));
  }
  m_samples.push_back({tNs, ms});
}

std::vector<double> LatencySamples::sorted(std::int64_t t0Ns, std::int64_t t1Ns) const {
  std::vector<double> values;
  values.reserve(m_samples.size());
  for (const Sample& sample : m_samples) {
    if (sample.tNs >= t0Ns && sample.tNs < t1Ns) values.push_back(sample.ms);
  }
  std::ranges::sort(values);
  return values;
}

std::optional<double> LatencySamples::percentile(const std::vector<double>& sorted, double percent) {
  const auto n = static_cast<double>(sorted.size());
  if (sorted.empty() || (percent >= 99 && n < kLeastForP99)) return std::nullopt;
  const double rank = std::clamp(std::ceil(percent / 100 * n), 1.0, n);
  return sorted[static_cast<std::size_t>(rank) - 1];
}

}  // namespace ui::models
