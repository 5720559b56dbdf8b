// The decoder that a GGUF file describes, as data.
#pragma once

#include <cstdint>

#include "engine/base/result.h"
#include "engine/model/gguf_file.h"
#include "engine/model/model_config.h"

namespace engine::model {

// Unsupported, naming it, for an architecture, rule or tensor type that we do not run; CorruptFile
// for values that are absent, out of bounds or contradict each other.
// `maxContext` positions will be served at most (0 = as many as trained); some scalings depend on
// it.
Result<ModelConfig> readConfig(const GgufFile& file, std::int64_t maxContext = 0);

// Elements of all tensors.
std::int64_t countParameters(const GgufFile& file);

// The tensor type that holds most elements: "Q4_1"; "" without tensors.
std::string dominantType(const GgufFile& file);

}  // namespace engine::model
