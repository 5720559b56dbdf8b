// What one render may spend: steps of work, live memory, nesting, output.
#pragma once

#include <cstddef>
#include <cstdint>

namespace engine::text::jinja {

struct Limits {
  std::int64_t steps = 2'000'000;              // one a node evaluated, element visited or 64 bytes read
  std::size_t liveBytes = 128u << 20;          // of values alive at one time
  std::size_t stringBytes = 8u << 20;         // of one string, the output included
  int depth = 1200;                            // nested evaluations: macros calling macros
  std::int64_t rangeLength = 100'000;
  int valueDepth = 100;                        // lists inside lists
};

// Charges against Limits; a limit passed is a Failure that names it. One render, one thread.
class Budget {
 public:
  explicit Budget(const Limits& limits) : m_limits(limits) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  const Limits& limits() const { return m_limits; }

  void step(std::size_t count = 1);
  void read(std::size_t numBytes) { step(1 + numBytes / 64); }   // scanning or rewriting text
  void copy(std::size_t numBytes) { step(1 + numBytes / 256); }  // plain copies
  void checkStringSize(std::size_t numBytes) const;

  // Live memory; values give it back when they go.
  void take(std::size_t numBytes);
  void give(std::size_t numBytes) { m_liveBytes -= numBytes; }

  void enter();
  void leave() { --m_depth; }

 private:
  Limits m_limits;
  std::int64_t m_steps = 0;
  std::size_t m_liveBytes = 0;
  int m_depth = 0;
};

// One level of nesting for as long as it lives.
class DepthGuard {
 public:
  explicit DepthGuard(Budget& budget) : m_budget(budget) { m_budget.enter(); }
  ~DepthGuard() { m_budget.leave(); }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  Budget& m_budget;
};

}  // namespace engine::text::jinja
