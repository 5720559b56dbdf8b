// When a replay shows what was recorded: an event's or a message's own time, or that of what it
// belongs to.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/api/message.h"
#include "engine/api/trace_event.h"

namespace engine::trace {

// One time for each, never going back; none is later than takenNs, when all were taken from the
// engine. Slices and blocks show with the iteration that follows them.
std::vector<std::int64_t> showTimes(std::span<const TraceEvent> events, std::int64_t takenNs);
std::vector<std::int64_t> showTimes(std::span<const EngineMessage> messages, std::int64_t takenNs);

}  // namespace engine::trace
