// Pure search for consecutive free blocks, and how badly they are scattered.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace engine::kv {

// First block of the first run of `need` free ones among blocks 0..numBlocks-1.
template <typename IsFree>
std::optional<std::int32_t> findRun(std::int64_t numBlocks, std::int64_t need, IsFree&& isFree) {
  std::int64_t length = 0;
  for (std::int64_t i = 0; i < numBlocks; ++i) {
    length = isFree(static_cast<std::int32_t>(i)) ? length + 1 : 0;
    if (length == need) return static_cast<std::int32_t>(i - need + 1);
  }
  return std::nullopt;
}

template <typename IsFree>
std::int64_t longestRun(std::int64_t numBlocks, IsFree&& isFree) {
  std::int64_t length = 0, longest = 0;
  for (std::int64_t i = 0; i < numBlocks; ++i) {
    length = isFree(static_cast<std::int32_t>(i)) ? length + 1 : 0;
    longest = std::max(longest, length);
  }
  return longest;
}

}  // namespace engine::kv
