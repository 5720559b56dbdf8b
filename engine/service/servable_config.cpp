#include "engine/service/servable_config.h"

#include <fmt/format.h>

namespace engine::service {

namespace {

Error notBuilt(const char* knob, const char* value, const char* instead) {
  return {ErrorCode::Unsupported, fmt::format("{} {} is not built yet; {}", knob, value, instead)};
}

}  // namespace

Result<void> checkServable(const LoadConfig& config) {
  TRY_VOID(checkLoadConfig(config));
  if (config.device == DeviceKind::Cuda) return notBuilt("device", "cuda", "cpu is");
  return {};
}

Result<void> checkServable(const SchedulerLimits& limits) {
  TRY_VOID(checkSchedulerLimits(limits));
  return {};
}

Result<void> checkServable(const EngineConfig& config) {
  TRY_VOID(checkServable(config.load));
  TRY_VOID(checkServable(config.limits));
  return checkTogether(config);
}

}  // namespace engine::service
