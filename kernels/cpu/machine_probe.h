// What this machine can do at most, measured now: the yardsticks that speeds are compared with.
#pragma once

#include <optional>

#include "kernels/core/ops.h"

namespace kernels::cpu {

// Both count the time that their threads were running, so that a busy machine shows (nearly) what a
// quiet one would.

// Bytes a second that `threads` threads together read from memory, the best of several passes over
// 256 MiB in huge pages. Nothing when the system refuses the memory.
std::optional<double> measureReadBandwidth(int threads);

// Operations a second (a multiplication and an addition count two) of the instruction that
// multiplies most int8 values, on `threads` threads, the best of several passes. Nothing for a
// set that this machine cannot run.
std::optional<double> measureInt8Peak(Isa isa, int threads);

}  // namespace kernels::cpu
