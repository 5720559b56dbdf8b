// What a model file says about its decoder, checked and turned into data for kernels and front
// ends.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/core/decoder_spec.h"

namespace engine::model {

struct ModelConfig {
  std::string architecture;  // "llama", "qwen2", "gemma3"
  std::string name;          // general.name, or the file's
  std::string quantisation;  // the type that holds most weights: "Q4_1"
  std::int64_t trainedContext = 0;
  std::int64_t parameters = 0;
  kernels::DecoderSpec decoder;
};

}  // namespace engine::model
