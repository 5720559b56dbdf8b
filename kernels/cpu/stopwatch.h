// Adds the time that it lives to a counter.
#pragma once

#include <chrono>

namespace kernels::cpu {

class Stopwatch {
 public:
  explicit Stopwatch(double& ns) : m_ns(ns) {}

  ~Stopwatch() {
    const auto elapsed = std::chrono::steady_clock::now() - m_start;
    m_ns += std::chrono::duration<double, std::nano>(elapsed).count();
  }

  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& m_ns;
  std::chrono::steady_clock::time_point m_start = std::chrono::steady_clock::now();
};

}  // namespace kernels::cpu
