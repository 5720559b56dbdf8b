// How long the calling thread has been at work: a bound on it holds on a busy machine too.
#pragma once

#include <ctime>

#include <cstdint>

namespace test_support {

// One thread's own; runs from the start.
class ProcessorTimer {
 public:
  void start() { m_startNs = nowNs(); }

  std::int64_t elapsed() const { return (nowNs() - m_startNs) / 1'000'000; }  // ms

  double elapsedUs() const { return static_cast<double>(nowNs() - m_startNs) / 1000.0; }

 private:
  static std::int64_t nowNs() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
  }

  std::int64_t m_startNs = nowNs();
};

}  // namespace test_support
