// A flag that one thread raises and the working thread looks at between work items.
#pragma once

#include <atomic>

namespace engine {

// Thread-safe.
class CancelToken {
 public:
  void cancel() { m_flag.store(true, std::memory_order_relaxed); }
  void reset() { m_flag.store(false, std::memory_order_relaxed); }
  bool isCancelled() const { return m_flag.load(std::memory_order_relaxed); }
  const std::atomic<bool>& flag() const { return m_flag; }

 private:
  std::atomic<bool> m_flag{false};
};

}  // namespace engine
