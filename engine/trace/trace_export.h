// A recorded run for other programs.
#pragma once

#include <string>

#include "engine/trace/trace_summary.h"

namespace engine::trace {

// The Chrome trace event format, which Perfetto opens: a track for the engine's iterations and one
// for each request, counters of requests and KV blocks. Times in microseconds of the engine's
// clock.
std::string chromeJson(const Trace& trace, const TraceSummary& summary);

// Tables with a header line; times in milliseconds of the engine's clock, empty = did not happen.
std::string iterationsCsv(const TraceSummary& summary);
std::string requestsCsv(const TraceSummary& summary);

}  // namespace engine::trace
