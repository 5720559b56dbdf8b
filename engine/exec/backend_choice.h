// Which numeric recipe runs the model on this processor. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "engine/api/engine_config.h"
#include "engine/base/result.h"
#include "kernels/core/ops.h"

namespace engine::exec {

struct BackendChoice {
  std::optional<kernels::cpu::Isa> cpuIsa;  // empty = the reference recipe
  std::string note;      // why it is not a fast one, when nobody asked for a slow one; else empty
  bool isAsked = false;  // by name, so no other may take its place
};

// The recipe asked for; `Auto` asks `environment` (TESSERA_ISA, null when unset), then takes the
// best supported one, or the reference with a note. InvalidArgument for an unknown name,
// Unsupported naming what this machine has when it cannot run the one asked for.
Result<BackendChoice> chooseBackend(IsaKind asked,
                                    const char* environment,
                                    std::span<const kernels::cpu::Isa> supported);

// The KV element type: bf16 by default, f32 with the reference recipe.
kernels::KvType chooseKvType(KvDType asked, const BackendChoice& backend);

}  // namespace engine::exec
