// Which model runs on which device, for the commands that reckon instead of running it.
#pragma once

#include <optional>
#include <string>

#include "app/cli/cli_io.h"
#include "app/cli/flag_set.h"
#include "engine/api/engine_config.h"
#include "engine/base/result.h"
#include "engine/sim/deployment.h"

namespace app::cli {

struct DeploymentFlags {
  std::string device, modelCard, weights = "bf16", calibrationPath;
  engine::LoadConfig cache;  // what addCacheFlags fills
  double memoryFraction = 0.9;
};

// --device --model-card --weight-dtype --memory-fraction --calibration, and addCacheFlags.
void addDeploymentFlags(FlagSet& flags, DeploymentFlags& deployment);

// One sentence with flag, value and limits; empty when all is well.
std::optional<std::string> deploymentFlagsError(const DeploymentFlags& flags);

// Card and formats; `--device cpu` is this machine, measured now, its coefficients fitted to the
// bench document of --calibration. NotFound for a card that is not there.
engine::Result<engine::sim::DeploymentSpec> readDeployment(CliIo& io, const DeploymentFlags& flags);

}  // namespace app::cli
