#include "app/cli/not_built.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>

namespace app::cli {

namespace {

using namespace engine;

constexpr std::array<std::string_view, 4> kPlannedCommands = {
    "load", "serve", "quantize", "lesson"};

constexpr std::array<std::string_view, 1> kPlannedFlags = {"--preset"};

// The first flag of those given that is not built, if any.
std::optional<std::string> firstOf(std::initializer_list<std::pair<bool, const char*>> given) {
  for (const auto& [isGiven, flag] : given) {
    if (isGiven) return fmt::format("{} is not built yet", flag);
  }
  return std::nullopt;
}

}  // namespace

bool isPlannedCommand(std::string_view name) {
  return std::find(kPlannedCommands.begin(), kPlannedCommands.end(), name) !=
         kPlannedCommands.end();
}

bool isPlannedFlag(std::string_view flag) {
  return std::find(kPlannedFlags.begin(), kPlannedFlags.end(), flag) != kPlannedFlags.end();
}

std::optional<std::string> notBuiltYet(const EngineConfig& config) {
  const LoadConfig& load = config.load;
  const SchedulerLimits& limits = config.limits;
  return firstOf({
      {load.device == DeviceKind::Cuda, "--device cuda"},
      {load.allocator == AllocatorKind::Contiguous, "--allocator contiguous"},
      {!load.kvCache, "--kv-cache off"},
      {load.swapMemoryBytes > 0, "--swap-memory"},
      {limits.batching == BatchingKind::Static, "--batching static"},
      {limits.batching == BatchingKind::Dynamic, "--batching dynamic"},
      {limits.preemption == PreemptionKind::Swap, "--preemption swap"},
      {limits.policy == PolicyKind::Priority, "--policy priority"},
      {limits.policy == PolicyKind::Slo, "--policy slo"},
  });
}

}  // namespace app::cli
