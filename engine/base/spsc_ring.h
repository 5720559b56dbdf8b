// Bounded ring for one writer and one reader. The writer never waits: what does not fit is counted.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "engine/base/check.h"

namespace engine {

template <typename T>
class SpscRing {
  // Slots are memory until their first item: a large ring costs nothing before it is used.
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  // capacity: a power of two.
  explicit SpscRing(std::size_t capacity) : m_mask(capacity - 1) {
    CHECK(std::has_single_bit(capacity));
    m_slots.reset(std::allocator<T>().allocate(capacity));
    m_slots.get_deleter().capacity = capacity;
  }

  // Writer thread only. False, and one more lost item, when the reader is too far behind.
  bool push(const T& item) {
    const std::uint64_t head = m_head.load(std::memory_order_relaxed);
    if (head - m_tail.load(std::memory_order_acquire) > m_mask) {
      m_lost.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    std::construct_at(&m_slots[head & m_mask], item);
    m_head.store(head + 1, std::memory_order_release);
    return true;
  }

  // Reader thread only. Appends everything waiting to `out`; returns how many.
  std::size_t drain(std::vector<T>& out) {
    const std::uint64_t head = m_head.load(std::memory_order_acquire);
    std::uint64_t tail = m_tail.load(std::memory_order_relaxed);
    const std::size_t count = head - tail;
    for (; tail != head; ++tail) out.push_back(m_slots[tail & m_mask]);
    m_tail.store(tail, std::memory_order_release);
    return count;
  }

  // Items the reader has got or will get. Any thread.
  std::uint64_t numPushed() const { return m_head.load(std::memory_order_relaxed); }

  // Any thread.
  std::uint64_t numLost() const { return m_lost.load(std::memory_order_relaxed); }

 private:
  struct Deallocate {
    std::size_t capacity = 0;

    void operator()(T* items) const { std::allocator<T>().deallocate(items, capacity); }
  };

  const std::uint64_t m_mask;
  std::unique_ptr<T[], Deallocate> m_slots;
  alignas(64) std::atomic<std::uint64_t> m_head{0};
  alignas(64) std::atomic<std::uint64_t> m_tail{0};
  alignas(64) std::atomic<std::uint64_t> m_lost{0};
};

}  // namespace engine
