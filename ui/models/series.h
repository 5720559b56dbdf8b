// A rolling series of figures over the engine's clock, thinned for drawing so that no peak is lost.
#pragma once

#include <cstdint>
#include <vector>

namespace ui::models {

struct SeriesPoint {
  std::int64_t tNs;
  double value;
};

// What one pixel column shows: the line goes through `last`, the band from `min` to `max`.
struct SeriesBucket {
  std::int64_t tNs;  // of `last`
  double min, max, last;
};

class Series {
 public:
  explicit Series(std::size_t capacity = 1 << 16) : m_capacity(capacity) {}

  // Times must not go back; a point that does is ignored. The oldest quarter leaves when full.
  void add(std::int64_t tNs, double value);
  void clear() { m_points.clear(); }
  const std::vector<SeriesPoint>& points() const { return m_points; }

  // At most numBuckets + 2 buckets over [t0Ns, t1Ns), empty ones left out, with one point before and one
  // after so that the line reaches the edges.
  std::vector<SeriesBucket> thinned(std::int64_t t0Ns, std::int64_t t1Ns, int numBuckets) const;

 private:
  std::size_t m_capacity;
  std::vector<SeriesPoint> m_points;
};

// Counts amounts in windows of fixed length and yields amounts per second; silence yields zeros.
class RateSeries {
 public:
  explicit RateSeries(std::int64_t windowNs = 500'000'000) : m_windowNs(windowNs) {}

  void add(std::int64_t tNs, double amount);
  // Windows that end by `nowNs` are complete.
  void closeUntil(std::int64_t nowNs);
  const Series& series() const { return m_series; }

 private:
  std::int64_t m_windowNs;
  std::int64_t m_window = -1;  // index of the open one
  double m_amount = 0;
  Series m_series;
};

}  // namespace ui::models
