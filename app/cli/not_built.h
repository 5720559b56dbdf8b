// What the contract names but is not built yet: such values and commands exit with code 2 and say
// so. Whoever builds one deletes its line.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/api/engine_config.h"
#include "engine/api/sampling_params.h"

namespace app::cli {

bool isPlannedCommand(std::string_view name);

// "--batching static is not built yet", for values that parse but nothing honours.
std::optional<std::string> notBuiltYet(const engine::EngineConfig& config);

}  // namespace app::cli
