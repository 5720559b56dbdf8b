// Reads workloads: our JSON lines, ShareGPT JSON, Azure CSV, BurstGPT CSV, Mooncake JSON lines.
#pragma once

#include <string>
#include <string_view>

#include "engine/api/sampling_params.h"
#include "engine/base/result.h"
#include "engine/sim/workload.h"

namespace engine::sim {

// Recognises the format by content. `defaults` holds for what a row does not set.
// InvalidArgument naming the first bad row's number (1-based line, or entry of ShareGPT) and why.
Result<Workload> parseWorkload(std::string_view text, const SamplingParams& defaults);

// As parseWorkload; NotFound when the file cannot be read.
Result<Workload> readWorkloadFile(const std::string& path, const SamplingParams& defaults);

}  // namespace engine::sim
