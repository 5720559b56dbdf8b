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
  std::int64_t blocks = 0;      // held
  std::int64_t deadlineNs = 0;  // of its next token
};

// The last admitted under fcfs; the worst priority, then the last admitted, under priority; who has
// most time left, then the last admitted, under slo. Index into `candidates`, which is not empty.
inline std::size_t pickVictim(std::span<const VictimFacts> candidates, PolicyKind policy) {
  std::size_t worst = 0;
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    const VictimFacts& one = candidates[i];
    const VictimFacts& other = candidates[worst];
    std::int64_t more = 0;  // above 0: `one` can wait longer
    if (policy == PolicyKind::Priority) more = std::int64_t{one.priority} - other.priority;
    if (policy == PolicyKind::Slo) more = one.deadlineNs - other.deadlineNs;
    if (more != 0 ? more > 0 : one.admissionOrder > other.admissionOrder) worst = i;
  }
  return worst;
}

}  // namespace engine::sched
