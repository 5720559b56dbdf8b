// Knobs that are known but not built yet: refused by name instead of ignored. Pure.
#pragma once

#include "engine/api/engine_config.h"
#include "engine/base/result.h"

namespace engine::service {

// Ranges first (checkLoadConfig), then what the engine can do today.
Result<void> checkServable(const LoadConfig& config);
Result<void> checkServable(const SchedulerLimits& limits);
// Both, and whether they go together.
Result<void> checkServable(const EngineConfig& config);

}  // namespace engine::service
