// What `run` tells about a workload that the engine has served.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/cli_io.h"
#include "app/cli/engine_session.h"
#include "engine/api/snapshot.h"
#include "engine/sim/serving_metrics.h"
#include "engine/sim/workload.h"

namespace app::cli {

struct RunOutcome {
  struct Request {
    const engine::sim::WorkloadRequest* asked = nullptr;
    // Empty when the run was cancelled before it was sent.
    std::optional<Answer> answer;
  };

  std::vector<Request> requests;  // in the file's order
  std::int64_t startNs = 0, endNs = 0;
  std::shared_ptr<const engine::EngineSnapshot> last;  // null when no model came
};

// requests, engine, metrics, speculation.
Json runJson(const RunOutcome& outcome);

// The `engine` part: what the snapshot counted. null without a snapshot.
Json engineJson(const engine::EngineSnapshot* last);

// Requests, throughput, latencies and goodput of a served run, a few lines for a person.
std::string servingText(const std::vector<engine::sim::RequestTrack>& tracks, double durationMs);

// As servingText, with who failed and what the engine counted.
std::string runText(const RunOutcome& outcome);

}  // namespace app::cli
