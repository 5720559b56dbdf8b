// Pure rule of static and dynamic batching: when the next batch begins. It ends when all of its
// requests have; until then the door stays shut.
#pragma once

#include <cstdint>

#include "engine/api/engine_config.h"
#include "engine/api/reason.h"

namespace engine::sched {

struct DoorFacts {
  BatchingKind batching = BatchingKind::Continuous;
  std::int64_t running = 0;  // with those that have ended and wait for the others
  std::int64_t waiting = 0;  // at least 1
  std::int64_t maxBatch = 1;
  std::int64_t oldestArrivalNs = 0;  // of those that wait
  std::int64_t queueDelayNs = 0, nowNs = 0;
};

// None = open; else why not, and when to ask again (-1: at the next step).
struct DoorVerdict {
  Reason reason = Reason::None;
  std::int64_t wakeAtNs = -1;
};

// A static batch begins with what is there; a dynamic one waits a little for more.
inline DoorVerdict judgeDoor(const DoorFacts& facts) {
  if (facts.batching == BatchingKind::Continuous) return {};
  if (facts.running > 0) return {Reason::WaitsBatchEnd, -1};
  const std::int64_t wakeAtNs = facts.oldestArrivalNs + facts.queueDelayNs;
  if (facts.batching == BatchingKind::Dynamic && facts.waiting < facts.maxBatch &&
      facts.nowNs < wakeAtNs) {
    return {Reason::WaitsQueueDelay, wakeAtNs};
  }
  return {};
}

}  // namespace engine::sched
