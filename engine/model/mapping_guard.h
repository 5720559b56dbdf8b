// Lets reads of a mapped file go on, with zeros, where the file no longer has the bytes.
#pragma once

#include <cstddef>
#include <span>

namespace engine::model {

// The first guard installs a handler of SIGBUS for the whole process. A fault within a guarded
// mapping puts zeros in the place of everything from the lost page to the mapping's end; every other
// SIGBUS goes to whatever handled it before.
class MappingGuard {
 public:
  static constexpr std::size_t kMaxMappings = 1024;

  MappingGuard() = default;
  MappingGuard(const MappingGuard&) = delete;
  MappingGuard& operator=(const MappingGuard&) = delete;
  ~MappingGuard();  // to go before the mapping does

  // Once. `mapping` begins a page. False when kMaxMappings are guarded already. From any thread.
  bool guard(std::span<const std::byte> mapping);

  // True when zeros took the place of lost bytes. From any thread.
  bool hasZeros() const;

  struct Slot;

 private:
  Slot* m_slot = nullptr;
};

}  // namespace engine::model
