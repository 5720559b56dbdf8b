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
  OneLocalToOne,   // every other layer sees everything
  FiveLocalToOne,  // every sixth layer sees everything; local layers have a rope of their own
};

struct DecoderFamily {
  const char* name;  // general.architecture
  kernels::RopePairing ropePairing = kernels::RopePairing::Halves;
  kernels::Activation activation = kernels::Activation::SiluGate;
  Presence qkvBias = Presence::None, qkNorm = Presence::None, postNorms = Presence::None;
  WindowPattern windows = WindowPattern::AllLayers;
  bool scalesEmbedding = false;  // by sqrt(hidden)
  // q, k and v are row ranges of one matrix, so are gate and up.
  bool fusesProjections = false;
  // Where the file says nothing.
  float ropeBase = 10000.0f;
  float attentionSoftCap = 0.0f, finalSoftCap = 0.0f;
  // The model of this many layers scales attention by hidden / heads, not by its head size.
  int evenShareLayers = 0;
};

// Null when we do not run `architecture`.
const DecoderFamily* findFamily(std::string_view architecture);
std::string familyNames();  // "llama, qwen2, ..."

}  // namespace engine::model
