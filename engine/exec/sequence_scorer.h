// Runs one token sequence through an executor and looks at every position's logits in turn.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>

#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "engine/exec/executor.h"

namespace engine::exec {

// row [vocabSize] f32 are the logits after tokens[position]; valid during the call. An error ends the
// pass and is returned.
using PositionSink = std::function<Result<void>(std::int64_t position, const float* row)>;

// Computes `tokens` from position 0 in chunks, using blocks 0, 1, ... of the executor's pool, and hands
// the logits of positions [firstWanted, tokens.size()) to `sink` in order. Never holds more rows than
// the executor gives at once. InvalidArgument with both numbers when the pool is too small.
Result<void> scoreSequence(Executor& executor,
                           std::span<const TokenId> tokens,
                           std::int64_t firstWanted,
                           const std::atomic<bool>* cancel,
                           const PositionSink& sink);

}  // namespace engine::exec
