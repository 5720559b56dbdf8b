// Where a workload comes from: a file, or drawn from flags.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/cli/cli_io.h"
#include "app/cli/flag_set.h"
#include "engine/api/sampling_params.h"
#include "engine/base/result.h"
#include "engine/sim/arrivals.h"
#include "engine/sim/workload.h"

namespace app::cli {

struct WorkloadFlags {
  std::string path;  // empty = drawn
  engine::sim::DrawnWorkloadSpec drawn;
  bool hasDrawFlags = false;  // some flag for drawing was given
};

void addWorkloadFlags(FlagSet& flags, WorkloadFlags& workload);

// One sentence with flag, value and limits; empty when all is well.
std::optional<std::string> workloadFlagsError(const WorkloadFlags& workload);

// `defaults` holds for what a line does not set; its seed also draws. "-" reads standard input.
engine::Result<engine::sim::Workload> openWorkload(CliIo& io,
                                                   const WorkloadFlags& workload,
                                                   const engine::SamplingParams& defaults);

}  // namespace app::cli
