// When a replay shows what was recorded: an event's or a message's own time, or that of what it
// belongs to.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/api/message.h"
#include "engine/api/trace_event.h"
#include "engine/trace/trace_record.h"

namespace engine::trace {

// When it happened; nothing for slices, blocks and drafts, which belong to an iteration.
std::optional<std::int64_t> ownTime(const TraceEvent& event);

// Takes events in the order of their telling, each with the time it was taken from the engine, and
// gives each the time at which it shows. An iteration shows at its end, what was told before it no
// later, what was told after it no earlier: a request that arrived during a step shows when the
// engine learnt of it. In between counts an event's own time; slices, blocks and drafts show with
// what follows them. Times never go back and are never later than the taking.
void settleTimes(std::vector<Timed<TraceEvent>>& events);

// One time for each of the messages taken at takenNs. A message shows no later than those that
// follow it.
std::vector<std::int64_t> showTimes(std::span<const EngineMessage> messages, std::int64_t takenNs);

}  // namespace engine::trace
