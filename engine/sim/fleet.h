// Several simulated engines that serve one workload: replicas behind a router, or a pool that
// prefills and hands keys and values over a link to a pool that decodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/cancel_token.h"
#include "engine/base/result.h"
#include "engine/sim/serving_metrics.h"
#include "engine/sim/simulated_engine.h"
#include "engine/sim/workload.h"

namespace engine::sim {

struct FleetConfig {
  SimulatedEngineConfig engine;  // of each; the seed draws prompts and tokens
  CostModel cost;                // of each
  int replicas = 1;
  // Both above 0: prefill and decode pools instead of replicas.
  int prefillEngines = 0, decodeEngines = 0;
  double linkBytesPerSecond = 0;   // from each prefill engine
  double kvBytesPerToken = 0;      // what the link carries
  const CancelToken* cancel = nullptr;  // looked at now and then; may be null

  bool hasPools() const { return prefillEngines > 0 && decodeEngines > 0; }

  int numEngines() const { return hasPools() ? prefillEngines + decodeEngines : replicas; }
};

struct FleetRun {
  std::vector<SimulatedAnswer> answers;  // in the workload's order
  std::vector<RequestTrack> tracks;      // likewise
  EngineCounters counters;               // sums over the engines; peakBlocks too
  SpeculationSummary speculation;
  double durationMs = 0;                 // to the last token
  double busyFraction = 0;               // of the engines' time within it
};

// Prompts must be synthetic or token ids: InvalidArgument names the first request whose is not. The
// router gives a request to the engine with the fewest outstanding tokens, the first of equals.
// Cancelled when the token rises.
Result<FleetRun> simulateFleet(const FleetConfig& config, const Workload& workload);

}  // namespace engine::sim
