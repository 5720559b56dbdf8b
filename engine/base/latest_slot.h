// The newest immutable value, handed from one thread to any other. Latest wins.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace engine {

// Thread-safe; the mutex is held for a pointer copy only. (std::atomic<std::shared_ptr> of GCC 12
// makes TSan report a race inside libstdc++.)
template <typename T>
class LatestSlot {
 public:
  void set(std::shared_ptr<const T> value) {
    std::lock_guard lock(m_mutex);
    m_value.swap(value);
  }

  // Null until the first set().
  std::shared_ptr<const T> get() const {
    std::lock_guard lock(m_mutex);
    return m_value;
  }

 private:
  mutable std::mutex m_mutex;
  std::shared_ptr<const T> m_value;
};

}  // namespace engine
