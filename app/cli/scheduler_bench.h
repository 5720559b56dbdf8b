// Measures what scheduler and cache cost a step, and what looking up a prompt costs: no model, the
// tokens are made up.
#pragma once

#include <cstdint>
#include <vector>

#include "app/cli/bench_case.h"
#include "engine/api/engine_config.h"
#include "engine/base/cancel_token.h"
#include "engine/base/result.h"

namespace app::cli {

// Microseconds of this thread for each of benchCase.genTokens steps in which all users decode:
// planning and committing, prefix cache and block records included. Users' prompts end at different
// places of a block. Cancelled when `cancel` rises; OutOfMemory when the pool is too small for all.
engine::Result<std::vector<double>> measureSchedulerSteps(const engine::EngineConfig& config,
                                                          const BenchCase& benchCase,
                                                          const engine::CancelToken& cancel);

// Microseconds for hashing a prompt of `tokens` and finding all of it in the prefix cache.
double measurePrefixLookup(int blockSize, std::int64_t tokens);

}  // namespace app::cli
