#include "engine/model/decoder_family.h"

#include <array>

namespace engine::model {

namespace {

using kernels::Activation;
using kernels::RopePairing;

constexpr std::array<DecoderFamily, 6> kFamilies = {{
    // llama's q and k rows come permuted in GGUF, hence the interleaved pairs; mistral is one
    // with a window
    {.name = "llama", .ropePairing = RopePairing::Interleaved, .qkvBias = Presence::Optional},
    {.name = "qwen2", .qkvBias = Presence::Required},
    {.name = "qwen3", .qkvBias = Presence::Optional, .qkNorm = Presence::Required},
    {.name = "gemma2",
     .activation = Activation::GeluTanhGate,
     .postNorms = Presence::Required,
     .windows = WindowPattern::OneLocalToOne,
     .scalesEmbedding = true,
     .attentionSoftCap = 50.0f,
     .finalSoftCap = 30.0f,
     .evenShareLayers = 46},  // 27B
    {.name = "gemma3",
     .activation = Activation::GeluTanhGate,
     .qkNorm = Presence::Required,
     .postNorms = Presence::Required,
     .windows = WindowPattern::FiveLocalToOne,
     .scalesEmbedding = true,
     .ropeBase = 1000000.0f,
     .evenShareLayers = 62},  // 27B
    {.name = "phi3", .fusesProjections = true},
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
