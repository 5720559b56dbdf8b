#include "engine/model/decoder_family.h"

#include <array>

namespace engine::model {

namespace {

using kernels::Activation;
using kernels::RopePairing;

constexpr std::array<DecoderFamily, 4> kFamilies = {{
    // llama's q and k rows come permuted in GGUF, hence the interleaved pairs
    {"llama", RopePairing::Interleaved, Activation::SiluGate, Presence::Optional, Presence::None,
     Presence::None, WindowPattern::AllLayers, false, 10000.0f},
    {"qwen2", RopePairing::Halves, Activation::SiluGate, Presence::Required, Presence::None,
     Presence::None, WindowPattern::AllLayers, false, 10000.0f},
    {"qwen3", RopePairing::Halves, Activation::SiluGate, Presence::Optional, Presence::Required,
     Presence::None, WindowPattern::AllLayers, false, 10000.0f},
    {"gemma3", RopePairing::Halves, Activation::GeluTanhGate, Presence::None, Presence::Required,
     Presence::Required, WindowPattern::FiveLocalToOne, true, 1000000.0f},
}};

}  // namespace

const DecoderFamily* findFamily(std::string_view architecture) {
  for (const DecoderFamily& family : kFamilies) {
    if (architecture == family.name) return &family;
  }
  return nullptr;
}

std::string familyNames() {
  std::string names;
  for (const DecoderFamily& family : kFamilies) {
    names.append(names.empty() ? "" : ", ").append(family.name);
  }
  return names;
}

}  // namespace engine::model
