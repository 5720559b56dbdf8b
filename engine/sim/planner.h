// How many devices a service needs: arithmetic first, then the simulator's word on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/cancel_token.h"
#include "engine/base/result.h"
#include "engine/sim/deployment.h"
#include "engine/sim/serving_metrics.h"

namespace engine::sim {

struct PlanRequest {
  DeploymentSpec deployment;  // its tensorParallel is what is looked for
  std::int64_t length = 8192;  // tokens of a user at the end, answer included
  std::int64_t outputTokens = 256;
  // One of both above 0: users at once, or requests a second (Poisson).
  std::int64_t users = 0;
  double ratePerSecond = 0;
  SloTarget slo;
  SchedulerLimits limits;
  std::uint64_t seed = 0;
  const CancelToken* cancel = nullptr;
};

// What the simulator saw of the chosen plan.
struct PlanCheck {
  std::int64_t requests = 0;
  double metShare = 0;  // of the requests that met every target
  LatencySummary ttft, tpot;
};

struct ServingPlan {
  int tensorParallel = 1, replicas = 1;
  std::int64_t usersPerReplica = 0;  // at `length`, by memory and by the TPOT target
  double kvBytesPerToken = 0, stepMs = 0;  // a decode step of that many users
  PlanCheck check;
  std::vector<std::string> passedOver;  // smaller degrees, and why not

  std::int64_t devices() const { return std::int64_t{tensorParallel} * replicas; }
};

// The share of requests that must meet the targets.
inline constexpr double kPlanMetShare = 0.99;

// The fewest devices; of equals the smallest degree. InvalidArgument when nothing up to 16 devices a
// replica and 1,024 replicas serves, with the nearest reason.
Result<ServingPlan> planServing(const PlanRequest& request);

}  // namespace engine::sim
