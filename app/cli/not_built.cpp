#include "app/cli/not_built.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>

namespace app::cli {

namespace {

using namespace engine;

constexpr std::array<std::string_view, 4> kPlannedCommands = {"load", "serve", "quantize",
                                                              "lesson"};

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

std::optional<std::string> notBuiltYet(const EngineConfig& config) {
  return firstOf({{config.load.device == DeviceKind::Cuda, "--device cuda"}});
}

}  // namespace app::cli
