// Time as an injected collaborator: the real clock, or one that a test or the simulator moves by hand.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace engine {

class Clock {
 public:
  virtual ~Clock() = default;
  // Nanoseconds since the clock's own start; never goes back. Thread-safe.
  virtual std::int64_t nowNs() const = 0;
};

class SteadyClock final : public Clock {
 public:
  std::int64_t nowNs() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now() - m_start)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point m_start = std::chrono::steady_clock::now();
};

class ManualClock final : public Clock {
 public:
  std::int64_t nowNs() const override { return m_nowNs.load(std::memory_order_relaxed); }
  void advanceNs(std::int64_t ns) { m_nowNs.fetch_add(ns, std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> m_nowNs{0};
};

}  // namespace engine
