// The figures of a serving run under the keys of vLLM's result files.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/cli/cli_io.h"
#include "engine/sim/serving_metrics.h"

namespace app::cli {

// What a client saw of a run, one entry a request in each list.
struct ServedRun {
  std::vector<engine::sim::RequestTrack> tracks;
  std::vector<std::string> errors;  // empty for a success
  double durationMs = 0;            // at least this long; see summarizeServing
};

// Latency summaries in ms; ttfts, itls and start_times in seconds, as vLLM writes them.
// request_goodput is null when no request had a target.
Json metricsJson(const ServedRun& run);

}  // namespace app::cli
