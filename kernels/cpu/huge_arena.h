// One span of zeroed memory in huge pages, handed out from the front and given back as a whole.
#pragma once

#include <cstddef>

namespace kernels::cpu {

// 2 MiB aligned, huge pages advised (worth 1.1-1.6 x of read bandwidth). Pages come when first
// touched. Thread-compatible.
class HugeArena {
 public:
  HugeArena() = default;
  ~HugeArena();
  HugeArena(HugeArena&& other) noexcept;
  HugeArena& operator=(HugeArena&& other) noexcept;

  // Replaces what was held. False, holding nothing, when the system refuses `bytes`.
  bool reserve(std::size_t bytes);
  // 64-byte aligned and zero; null when fewer than `bytes` are left.
  std::byte* allocate(std::size_t bytes);

  std::size_t capacity() const { return m_capacity; }

  std::size_t used() const { return m_used; }

  // What allocate(bytes) takes: sizes rounded up to whole cache lines.
  static constexpr std::size_t rounded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

 private:
  void release();

  std::byte* m_data = nullptr;  // aligned start inside the mapping
  std::size_t m_capacity = 0, m_used = 0;
  void* m_mapping = nullptr;
  std::size_t m_mappedBytes = 0;
};

}  // namespace kernels::cpu
