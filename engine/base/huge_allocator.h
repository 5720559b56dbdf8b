// An allocator for large tables that are read here and there: asks for huge pages, so that a look
// into one costs the processor no walk through the page tables.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace engine {

// Small tables are allocated as usual. std::bad_alloc when there is no memory.
template <typename T>
struct HugeAllocator {
  using value_type = T;

  HugeAllocator() = default;

  template <typename U>
  HugeAllocator(const HugeAllocator<U>&) {
  }  // NOLINT(google-explicit-constructor): as the standard's

  T* allocate(std::size_t count) {
    if (count > SIZE_MAX / 2 / sizeof(T)) throw std::bad_alloc();
    const std::size_t bytes = count * sizeof(T);
    if (bytes < kHugePageBytes) return static_cast<T*>(::operator new(bytes));
    // whole pages: what is rounded up is never touched
    const std::size_t whole = (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
    void* memory = std::aligned_alloc(kHugePageBytes, whole);
    if (memory == nullptr) throw std::bad_alloc();
    madvise(memory, bytes / kHugePageBytes * kHugePageBytes, MADV_HUGEPAGE);  // only a hint
    return static_cast<T*>(memory);
  }

  void deallocate(T* memory, std::size_t count) {
    if (count * sizeof(T) < kHugePageBytes) {
      ::operator delete(memory);
    } else {
      std::free(memory);
    }
  }

  template <typename U>
  bool operator==(const HugeAllocator<U>&) const {
    return true;
  }

 private:
  static constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
};

}  // namespace engine
