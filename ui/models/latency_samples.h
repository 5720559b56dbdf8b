// Waiting times as exact samples, and what share of them is at most so long.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace ui::models {

// The latest samples with the time each was taken.
class LatencySamples {
 public:
  struct Sample {
    std::int64_t tNs;
    double ms;
  };

  static constexpr int kLeastForP99 = 100;  // below, the 99th percentile would be one or two samples

  explicit LatencySamples(std::size_t capacity = 20'000) : m_capacity(capacity) {}

  void add(std::int64_t tNs, double ms);
  std::size_t size() const { return m_samples.size(); }
  const std::vector<Sample>& samples() const { return m_samples; }  // in the order they came

  // Ascending, of [t0Ns, t1Ns).
  std::vector<double> sorted(std::int64_t t0Ns, std::int64_t t1Ns) const;
  // Nearest rank of ascending samples; nothing when `percent` cannot be told from so few: P99 below
  // kLeastForP99, others below one.
  static std::optional<double> percentile(const std::vector<double>& sorted, double percent);

 private:
  std::size_t m_capacity;
  std::vector<Sample> m_samples;
};

}  // namespace ui::models
