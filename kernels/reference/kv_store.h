// The paged KV cache of the reference backend: one plain array a block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "kernels/core/kv_layout.h"
#include "kernels/core/ragged_batch.h"

namespace kernels::reference {

enum class KvSide : std::uint8_t { Key, Value };

// Bytes: [block][layer][key, value][kv head][token of the block][headDim], each F32, F16 or BF16;
// of the quantised types a vector as kernels/core/kv_codec.h has it.
class KvStore {
 public:
  // Memory is reserved, not touched: a pool costs what is used of it.
  explicit KvStore(const KvLayout& layout);

  const KvLayout& layout() const { return m_layout; }

  bool isAllocated() const { return m_bytes != nullptr; }

  // One head's vector at (block, offset in the block); rounds to the cache's type.
  void write(int layer, KvSide side, int head, std::int32_t block, int offset, const float* values);
  void read(int layer, KvSide side, int head, std::int32_t block, int offset, float* values) const;

  std::byte* blockBytes(std::int32_t block) const {
    return m_bytes.get() + static_cast<std::size_t>(block) * m_layout.bytesPerBlock();
  }

 private:
  struct Free {
    void operator()(std::byte* bytes) const;
  };

  std::byte* vectorAt(int layer, KvSide side, int head, std::int32_t block, int offset) const;

  KvLayout m_layout;
  std::unique_ptr<std::byte[], Free> m_bytes;
};

}  // namespace kernels::reference
