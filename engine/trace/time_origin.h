// Moves recorded times to a clock that begins elsewhere, such as with the recording.
#pragma once

#include <cstdint>

#include "engine/api/message.h"
#include "engine/api/snapshot.h"
#include "engine/api/trace_event.h"

namespace engine::trace {

// Every time that is known moves by `byNs`; unknown ones stay so. What a request did before the new
// clock's zero is told at zero.
void moveTimes(TraceEvent& event, std::int64_t byNs);
void moveTimes(EngineMessage& message, std::int64_t byNs);
void moveTimes(EngineSnapshot& snapshot, std::int64_t byNs);

}  // namespace engine::trace
