// What quantised keys leave out: the part of their bias that is the same at every position.
#pragma once

#include <vector>

#include "kernels/core/decoder_spec.h"
#include "kernels/core/dtype.h"

namespace kernels {

// To be subtracted from the finished keys of a layer, [numKvHeads * headDim]; empty = nothing.
// When every key of a head changes by one vector, all scores of a query change by one number, which
// softmax does not see: so nothing needs to be added back. A bias may be a hundred times what a key
// carries beside it (Qwen2) and would take all the codes. It goes as far as it does not turn with
// the position: where a pair of elements turns by no more than one radian in kKeyShiftPositions.
inline constexpr float kKeyShiftPositions = 8192.0f;
std::vector<float> keyShift(const DecoderSpec& spec,
                            int layer,
                            const std::vector<float>& kBias,
                            const std::vector<float>& kNorm,
                            KvType type);

}  // namespace kernels
