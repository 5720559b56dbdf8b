// Cosines and sines of one position, the same for every backend.
#pragma once

#include <cstdint>

#include "kernels/core/decoder_spec.h"

namespace kernels {

// cosines, sines [inverseFrequencies.size()], times the rope's magnitude. The angle is reduced in
// double, so that positions far out lose nothing.
void ropeAngles(const RopeSpec& rope, std::int64_t position, float* cosines, float* sines);

}  // namespace kernels
