// The decoder tensors of a GGUF file as borrowed views.
#pragma once

#include "engine/base/result.h"
#include "engine/model/gguf_file.h"
#include "engine/model/model_config.h"
#include "kernels/core/decoder_spec.h"

namespace engine::model {

// `config` is this file's; the views live as long as `file`. CorruptFile naming the tensor with the
// expected and the found shape; Unsupported naming a tensor of the file that no part of the decoder
// would use, since leaving it out would silently change the answer.
Result<kernels::DecoderWeights> readWeights(const GgufFile& file, const ModelConfig& config);

}  // namespace engine::model
