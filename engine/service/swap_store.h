// The bytes of swapped-out blocks: copies between the executor's memory and the host's.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/result.h"
#include "engine/exec/executor.h"
#include "engine/kv/swap_space.h"

namespace engine::service {

// Blocks that a swap memory of `bytes` holds; 0 bytes = as many as the pool has, at most 4 GiB.
std::int64_t swapBlocks(std::int64_t bytes, const kernels::KvLayout& layout);

// Engine thread only. Takes memory when a place is first used and keeps it.
class SwapStore {
 public:
  explicit SwapStore(exec::Executor& executor) : m_executor(executor) {}

  // OutOfMemory when the host has no room for one of them.
  Result<void> copyOut(std::span<const kv::SwapMove> moves);
  void copyIn(std::span<const kv::SwapMove> moves);

 private:
  exec::Executor& m_executor;
  std::vector<std::unique_ptr<std::byte[]>> m_blocks;  // by slot; each bytesPerBlock()
};

}  // namespace engine::service
