// How many things a second happened over the last second.
#pragma once

#include <cstdint>
#include <deque>

namespace engine::service {

// Engine thread only.
class RateMeter {
 public:
  void add(std::int64_t nowNs, std::int64_t count) {
    if (count <= 0) return;
    m_marks.push_back({nowNs, count});
    m_sum += count;
    forget(nowNs);
  }

  // 0 before the second mark of the window.
  double perSecond(std::int64_t nowNs) {
    forget(nowNs);
    if (m_marks.size() < 2) return 0.0;
    // the first mark opens the interval that the others fill
    const std::int64_t spanNs = m_marks.back().tNs - m_marks.front().tNs;
    if (spanNs <= 0) return 0.0;
    return static_cast<double>(m_sum - m_marks.front().count) * 1e9 / static_cast<double>(spanNs);
  }

 private:
  static constexpr std::int64_t kWindowNs = 1'000'000'000;

  struct Mark {
    std::int64_t tNs, count;
  };

  void forget(std::int64_t nowNs) {
    while (!m_marks.empty() && m_marks.front().tNs < nowNs - kWindowNs) {
      m_sum -= m_marks.front().count;
      m_marks.pop_front();
    }
  }

  std::deque<Mark> m_marks;
  std::int64_t m_sum = 0;
};

}  // namespace engine::service
