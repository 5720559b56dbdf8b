#include "ui/models/series.h"

#include <algorithm>

namespace ui::models {

void Series::add(std::int64_t tNs, double value) {
  if (!m_points.empty() && tNs < m_points.back().tNs) return;
  if (m_points.size() >= m_capacity) {
    const std::size_t count = std::max<std::size_t>(1, m_capacity / 4);
    m_points.erase(m_points.begin(), m_points.begin() + static_cast<std::ptrdiff_t>(count));
  }
  m_points.push_back({tNs, value});
}

std::vector<SeriesBucket> Series::thinned(std::int64_t t0Ns, std::int64_t t1Ns, int numBuckets) const {
  std::vector<SeriesBucket> buckets;
  if (t1Ns <= t0Ns || numBuckets < 1) return buckets;
  const auto one = [](const SeriesPoint& point) {
    return SeriesBucket{point.tNs, point.value, point.value, point.value};
  };
  auto at = std::ranges::lower_bound(m_points, t0Ns, {}, &SeriesPoint::tNs);
  if (at != m_points.begin()) buckets.push_back(one(*(at - 1)));
  const double perNs = numBuckets / static_cast<double>(t1Ns - t0Ns);
  int open = -1;
  for (; at != m_points.end() && at->tNs < t1Ns; ++at) {
    const int index = std::min(numBuckets - 1, static_cast<int>(static_cast<double>(at->tNs - t0Ns) * perNs));
    if (index != open) {
      buckets.push_back(one(*at));
      open = index;
      continue;
    }
    SeriesBucket& bucket = buckets.back();
    bucket.tNs = at->tNs;
    bucket.min = std::min(bucket.min, at->value);
    bucket.max = std::max(bucket.max, at->value);
    bucket.last = at->value;
  }
  if (at != m_points.end()) buckets.push_back(one(*at));
  return buckets;
}

void RateSeries::closeUntil(std::int64_t nowNs) {
  const std::int64_t window = nowNs / m_windowNs;
  if (m_window < 0 || window <= m_window) return;
  const double perSecond = 1e9 / static_cast<double>(m_windowNs);
  m_series.add((m_window + 1) * m_windowNs, m_amount * perSecond);
  // one zero where silence begins and one where it ends draw the same line as all between
  if (window > m_window + 1) m_series.add((m_window + 2) * m_windowNs, 0);
  if (window > m_window + 2) m_series.add(window * m_windowNs, 0);
  m_window = window;
  m_amount = 0;
}

void RateSeries::add(std::int64_t tNs, double amount) {
  if (m_window < 0) m_window = tNs / m_windowNs;
  closeUntil(tNs);
  m_amount += amount;
}

}  // namespace ui::models
