// The two names of a cache element type: what is asked for, and what the kernels store.
#pragma once

#include <optional>

#include "engine/api/engine_config.h"
#include "kernels/core/dtype.h"

namespace engine {

// Nothing for KvDType::Default: the recipe decides.
std::optional<kernels::KvType> kvTypeOf(KvDType dtype);

KvDType kvDTypeOf(kernels::KvType type);

}  // namespace engine
