// Pure rule: who gives blocks back when a running request needs one and none is there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/api/engine_config.h"

namespace engine::sched {

struct VictimFacts {
  int priority = 0;
  std::uint64_t admissionOrder = 0;
  std::int64_t blocks = 0;  // held
};

// The last admitted under fcfs; the worst priority, then the last admitted, under priority. Index
// into `candidates`, which is not empty.
inline std::size_t pickVictim(std::span<const VictimFacts> candidates, PolicyKind policy) {
  std::size_t worst = 0;
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    const VictimFacts& one = candidates[i];
    const VictimFacts& other = candidates[worst];
    const bool differs = policy == PolicyKind::Priority && one.priority != other.priority;
    if (differs ? one.priority > other.priority : one.admissionOrder > other.admissionOrder) {
      worst = i;
    }
  }
  return worst;
}

}  // namespace engine::sched
