// A live engine behind the front end's door: one thread that takes commands, steps or sleeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/api/engine_handle.h"
#include "engine/base/clock.h"
#include "engine/service/loaded_model.h"

namespace engine::service {

// Collaborators, so that tests can exchange any of them.
struct EngineParts {
  std::shared_ptr<ModelProvider> models;  // required
  std::shared_ptr<const Clock> clock;     // null = SteadyClock
};

struct EngineOptions {
  std::int64_t snapshotIntervalNs = 16'666'667;  // between publications while steps run
  std::size_t eventCapacity = 1 << 16;  // trace events the front end may be behind; power of two
  bool checkInvariants = false;         // after every step; a violation latches Failed
};

// The engine thread runs until the handle is destroyed, which cancels what is going on and joins.
std::unique_ptr<EngineHandle> createEngineService(EngineParts parts, EngineOptions options = {});

}  // namespace engine::service
