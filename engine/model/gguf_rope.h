// Rotary position numbers of a GGUF file, all its scaling folded in.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/model/architecture_keys.h"
#include "engine/model/decoder_family.h"
#include "engine/model/gguf_file.h"
#include "kernels/core/decoder_spec.h"

namespace engine::model {

// How a model trained on fewer positions was stretched.
struct RopeScaling {
  double divisor = 1.0;        // of every frequency, where it is stretched
  std::vector<double> kept;    // [rotated dims / 2], the share left as it was; empty = none
  std::vector<float> factors;  // [rotated dims / 2], divide as well; empty = all 1
  double magnitude = 1.0;
};

// base^(-2i / rotatedDims) for i in [0, rotatedDims / 2), scaled. Computed in double.
std::vector<float> inverseFrequencies(double base, int rotatedDims, const RopeScaling& scaling);

// One rope, or two (all positions, then local) for a family whose local layers have their own.
// Unsupported, naming it, for a scaling other than none, linear, yarn and longrope; the factors of
// llama-3 and longrope come as tensors. `context` positions will be served: longrope has one set of
// factors up to the context it was first trained on, and one beyond.
Result<std::vector<kernels::RopeSpec>> readRopes(const GgufFile& file,
                                                 const ArchitectureKeys& keys,
                                                 const DecoderFamily& family,
                                                 int headDim,
                                                 std::int64_t context);

// Whether a tensor of this name is read by readRopes.
bool isRopeTensor(std::string_view name);

}  // namespace engine::model
