// One row of our own workload format.
#pragma once

#include <nlohmann/json.hpp>

#include "engine/api/sampling_params.h"
#include "engine/base/result.h"
#include "engine/sim/workload.h"

namespace engine::sim {

// {"id","at_ms","prompt"|"prompt_ids"|"messages"(+"tools")|"prompt_tokens","max_tokens",...}.
// InvalidArgument naming the field when one is unknown, of the wrong type or out of range.
Result<WorkloadRequest> parseWorkloadRow(const nlohmann::ordered_json& row,
                                         const SamplingParams& defaults);

}  // namespace engine::sim
