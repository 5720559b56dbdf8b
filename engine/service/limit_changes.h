// The knobs that differ between two settings, by the names of the command line. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "engine/api/engine_config.h"

namespace engine::service {

// Choices count from 0 in the order of their enum, switches are 0 or 1.
struct LimitChange {
  std::string_view knob;
  double oldValue = 0, newValue = 0;
};

std::vector<LimitChange> changesBetween(const SchedulerLimits& before,
                                        const SchedulerLimits& after);
// Paths are no numbers and are left out.
std::vector<LimitChange> changesBetween(const LoadConfig& before, const LoadConfig& after);

}  // namespace engine::service
