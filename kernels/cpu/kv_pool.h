// The paged KV cache of the CPU backend and where everything lies in it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/core/kv_layout.h"
#include "kernels/core/status.h"
#include "kernels/cpu/huge_arena.h"
#include "kernels/cpu/kv_planes.h"

namespace kernels::cpu {

// Engine thread only, but for storeKey() and storeValue(), which
// any thread may call for positions of its own.
class KvPool {
 public:
  // Reserves address space; memory comes zeroed when a block is first written.
  Status reserve(const KvLayout& layout);

  const KvLayout& layout() const { return m_layout; }

  KvPlanes planes(int layer, int kvHead) const;

  // Writes one head's key or value, already rounded to elements of the cache's type or encoded as
  // kernels/core/kv_codec.h says.
  void storeKey(int layer, int kvHead, std::int32_t block, int offset, const void* elements);
  void storeValue(int layer, int kvHead, std::int32_t block, int offset, const void* elements);

  std::byte* blockBytes(std::int32_t block) const {
    return m_bytes + static_cast<std::size_t>(block) * m_layout.bytesPerBlock();
  }

 private:
  KvLayout m_layout;
  HugeArena m_arena;
  std::byte* m_bytes = nullptr;
};

}  // namespace kernels::cpu
