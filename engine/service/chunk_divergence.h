// Two models side by side over the same chunks of a text, never holding more than a few rows of each.
#pragma once

#include <atomic>
#include <span>

#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "engine/exec/executor.h"
#include "engine/service/base_file.h"
#include "engine/service/divergence.h"
#include "engine/service/perplexity.h"

namespace engine::service {

// base and measured: two executors of one vocabulary, each with a pool for a chunk.
Result<DivergenceResult> compareExecutors(exec::Executor& base,
                                          exec::Executor& measured,
                                          std::span<const TokenId> tokens,
                                          const ChunkRule& rule,
                                          const std::atomic<bool>* cancel);

// Against a base file, on the file's own tokens. InvalidArgument when `tokens` are not those.
Result<DivergenceResult> compareToFile(BaseFileReader& base,
                                       exec::Executor& measured,
                                       std::span<const TokenId> tokens,
                                       const ChunkRule& rule,
                                       const std::atomic<bool>* cancel);

}  // namespace engine::service
