#include "engine/service/swap_store.h"

#include <algorithm>
#include <new>

#include <fmt/format.h>

#include "engine/base/check.h"

namespace engine::service {

std::int64_t swapBlocks(std::int64_t bytes, const kernels::KvLayout& layout) {
  constexpr std::int64_t kMostBytes = std::int64_t{4} << 30;
  const auto blockBytes = static_cast<std::int64_t>(layout.bytesPerBlock());
  if (blockBytes <= 0) return 0;
  return bytes > 0 ? bytes / blockBytes
                   : std::min<std::int64_t>(layout.numBlocks, kMostBytes / blockBytes);
}

Result<void> SwapStore::copyOut(std::span<const kv::SwapMove> moves) {
  const auto bytes = static_cast<std::size_t>(m_executor.layout().bytesPerBlock());
  for (const kv::SwapMove& move : moves) {
    const auto slot = static_cast<std::size_t>(move.slot);
    if (m_blocks.size() <= slot) m_blocks.resize(slot + 1);
    if (!m_blocks[slot]) m_blocks[slot].reset(new (std::nothrow) std::byte[bytes]);
    if (!m_blocks[slot]) {
      return Error{ErrorCode::OutOfMemory,
                   fmt::format("no room for {} bytes of a swapped-out block", bytes)};
    }
    m_executor.readBlock(move.block, m_blocks[slot].get());
  }
  return {};
}

void SwapStore::copyIn(std::span<const kv::SwapMove> moves) {
  for (const kv::SwapMove& move : moves) {
    const auto slot = static_cast<std::size_t>(move.slot);
    CHECK(slot < m_blocks.size() && m_blocks[slot]);
    m_executor.writeBlock(move.block, m_blocks[slot].get());
  }
}

}  // namespace engine::service
