// What tells one decoder family from another, as data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/core/decoder_spec.h"

namespace engine::model {

enum class Presence : std::uint8_t { None, Optional, Required };
// Which layers look back over a limited window.
enum class WindowPattern : std::uint8_t {
  AllLayers,       // where the file names a window
  FiveLocalToOne,  // every sixth layer sees everything; local layers have a rope of their own
};

struct DecoderFamily {
  const char* name;  // general.architecture
  kernels::RopePairing ropePairing;
  kernels::Activation activation;
  Presence qkvBias, qkNorm, postNorms;
  WindowPattern windows;
  bool scalesEmbedding;  // by sqrt(hidden)
  float defaultRopeBase;
};

// Null when we do not run `architecture`.
const DecoderFamily* findFamily(std::string_view architecture);
std::string familyNames();  // "llama, qwen2, ..."

}  // namespace engine::model
