#include "kernels/cpu/huge_arena.h"

#include <sys/mman.h>

#include <cstdint>
#include <utility>

namespace kernels::cpu {

namespace {

constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

}  // namespace

HugeArena::~HugeArena() {
  release();
}

HugeArena::HugeArena(HugeArena&& other) noexcept {
  *this = std::move(other);
}

HugeArena& HugeArena::operator=(HugeArena&& other) noexcept {
  std::swap(m_data, other.m_data);
  std::swap(m_capacity, other.m_capacity);
  std::swap(m_used, other.m_used);
  std::swap(m_mapping, other.m_mapping);
  std::swap(m_mappedBytes, other.m_mappedBytes);
  return *this;
}

void HugeArena::release() {
  if (m_mapping != nullptr) munmap(m_mapping, m_mappedBytes);
  m_data = nullptr;
  m_mapping = nullptr;
  m_capacity = m_used = m_mappedBytes = 0;
}

bool HugeArena::reserve(std::size_t bytes) {
  release();
  if (bytes == 0) return true;
  if (bytes > SIZE_MAX / 2) return false;
  const std::size_t mappedBytes = bytes + kHugePageBytes;
  void* mapping = mmap(nullptr, mappedBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(mapping);
  const std::size_t skip = (kHugePageBytes - address % kHugePageBytes) % kHugePageBytes;
  m_mapping = mapping;
  m_mappedBytes = mappedBytes;
  m_data = static_cast<std::byte*>(mapping) + skip;
  m_capacity = bytes;
  // A last part smaller than a huge page stays in small pages, else every arena would round up.
  const std::size_t hugeBytes = bytes / kHugePageBytes * kHugePageBytes;
  if (hugeBytes > 0) madvise(m_data, hugeBytes, MADV_HUGEPAGE);  // a hint: refusal costs only speed
  return true;
}

std::byte* HugeArena::allocate(std::size_t bytes) {
  const std::size_t take = rounded(bytes);
  if (take < bytes || take > m_capacity - m_used) return nullptr;
  std::byte* start = m_data + m_used;
  m_used += take;
  return start;
}

}  // namespace kernels::cpu
