// Rotary position numbers of a GGUF file, all its scaling folded in.
#pragma once

#include <vector>

#include "engine/base/result.h"
#include "engine/model/architecture_keys.h"
#include "engine/model/decoder_family.h"
#include "engine/model/gguf_file.h"
#include "kernels/core/decoder_spec.h"

namespace engine::model {

// base^(-2i / rotatedDims) for i in [0, rotatedDims / 2), each divided by `scale` and by factors[i]
// (empty = all 1). Computed in double.
std::vector<float> inverseFrequencies(double base,
                                      int rotatedDims,
                                      double scale,
                                      const std::vector<float>& factors);

// One rope, or two (all positions, then local) for a family with local layers. Unsupported, naming
// it, for a scaling other than none and linear; llama-3's factors come as tensor rope_freqs.weight.
Result<std::vector<kernels::RopeSpec>> readRopes(const GgufFile& file,
                                                 const ArchitectureKeys& keys,
                                                 const DecoderFamily& family,
                                                 int headDim);

}  // namespace engine::model
