// Identities that cannot be mixed up: strong, ordered, hashable.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace engine {

// A value of type Rep that only compares with its own kind. -1 (all ones) is "none".
template <typename Tag, typename Rep>
struct StrongId {
  Rep value = static_cast<Rep>(-1);

  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep v) : value(v) {}
  constexpr bool isNone() const { return value == static_cast<Rep>(-1); }
  friend constexpr auto operator<=>(StrongId, StrongId) = default;
};

using RequestId = StrongId<struct RequestTag, std::uint64_t>;  // one sequence; a child of n>1 has its own
// Front ends number their requests below this; the engine numbers the children that it splits off from here on.
inline constexpr std::uint64_t kFirstChildId = std::uint64_t{1} << 48;
using BlockId = StrongId<struct BlockTag, std::int32_t>;       // physical KV block
using StepId = StrongId<struct StepTag, std::uint64_t>;        // scheduler iteration
using QueryId = StrongId<struct QueryTag, std::uint64_t>;      // a front end's question

// Token ids are plain integers: they are arithmetic-free but live in bulk arrays shared with kernels.
using TokenId = std::int32_t;

}  // namespace engine

template <typename Tag, typename Rep>
struct std::hash<engine::StrongId<Tag, Rep>> {
  std::size_t operator()(engine::StrongId<Tag, Rep> id) const noexcept {
    return std::hash<Rep>{}(id.value);
  }
};
