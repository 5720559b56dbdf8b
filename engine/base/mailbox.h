// Lossless queue between two threads, emptied in one swap.
#pragma once

#include <chrono>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

namespace engine {

// Thread-safe. Unbounded: use it only for things that a person or a finite workload produces.
template <typename T>
class Mailbox {
 public:
  void push(T item) {
    {
      std::lock_guard lock(m_mutex);
      m_items.push_back(std::move(item));
    }
    m_wake.notify_one();
  }

  // Appends everything waiting to `out`, in order.
  void drain(std::vector<T>& out) {
    std::lock_guard lock(m_mutex);
    if (out.empty()) {
      out.swap(m_items);
    } else {
      std::move(m_items.begin(), m_items.end(), std::back_inserter(out));
      m_items.clear();
    }
  }

  // Waits until something is there or the time is over, then drains.
  void waitAndDrain(std::vector<T>& out, std::chrono::milliseconds timeout) {
    {
      std::unique_lock lock(m_mutex);
      m_wake.wait_for(lock, timeout, [this] { return !m_items.empty(); });
    }
    drain(out);
  }

  bool isEmpty() const {
    std::lock_guard lock(m_mutex);
    return m_items.empty();
  }

 private:
  mutable std::mutex m_mutex;
  std::condition_variable m_wake;
  std::vector<T> m_items;
};

}  // namespace engine
