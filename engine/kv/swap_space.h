// Places for swapped-out blocks in host memory, as numbers: which are taken. The bytes are
// elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/ids.h"

namespace engine::kv {

// A place for one block: 0 to numSlots - 1.
using SwapSlot = std::int32_t;

// One block on its way out of the pool or back into it.
struct SwapMove {
  RequestId request;
  BlockId block;
  SwapSlot slot = 0;
};

// Engine thread only.
class SwapSpace {
 public:
  explicit SwapSpace(std::int64_t numSlots) : m_numSlots(numSlots) { CHECK(numSlots >= 0); }

  std::int64_t numSlots() const { return m_numSlots; }

  std::int64_t numUsed() const { return m_numUsed; }

  std::int64_t numFree() const { return m_numSlots - m_numUsed; }

  // All or none.
  std::optional<std::vector<SwapSlot>> tryTake(std::int64_t count) {
    if (count > numFree()) return std::nullopt;
    std::vector<SwapSlot> taken;
    for (std::int64_t i = 0; i < count; ++i) taken.push_back(takeOne());
    return taken;
  }

  void give(std::span<const SwapSlot> taken) {
    for (const SwapSlot slot : taken) {
      CHECK(isUsed(slot));
      m_isUsed[static_cast<std::size_t>(slot)] = false;
      m_returned.push_back(slot);
      --m_numUsed;
    }
  }

  bool isUsed(SwapSlot slot) const {
    return slot >= 0 && static_cast<std::size_t>(slot) < m_isUsed.size() &&
           m_isUsed[static_cast<std::size_t>(slot)];
  }

 private:
  // Places used before come first, so that no more memory is touched than was ever needed at once.
  SwapSlot takeOne() {
    ++m_numUsed;
    if (m_returned.empty()) {
      m_isUsed.push_back(true);
      return static_cast<SwapSlot>(m_isUsed.size() - 1);
    }
    const SwapSlot slot = m_returned.back();
    m_returned.pop_back();
    m_isUsed[static_cast<std::size_t>(slot)] = true;
    return slot;
  }

  std::int64_t m_numSlots;
  std::int64_t m_numUsed = 0;
  std::vector<bool> m_isUsed;  // by slot, as far as any was taken
  std::vector<SwapSlot> m_returned;
};

}  // namespace engine::kv
