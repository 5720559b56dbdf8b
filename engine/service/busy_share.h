// How much of its threads' time a step used.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "engine/exec/executor.h"

namespace engine::service {

// IterationRecord::busyShare of a step of stepNs on `threads` threads; 0 for a step of no time.
inline std::uint16_t busyShare(const kernels::OpsCounters& counters,
                               int threads,
                               std::int64_t stepNs) {
  if (stepNs <= 0) return 0;
  const auto wholeNs = static_cast<double>(stepNs);
  const double busyNs = wholeNs - counters.waitNs + counters.helpNs;
  const double share = busyNs / (wholeNs * std::max(threads, 1));
  return static_cast<std::uint16_t>(std::clamp(std::lround(share * 1e4), 1l, 10'000l));
}

}  // namespace engine::service
