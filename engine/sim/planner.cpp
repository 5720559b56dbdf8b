#include "engine/sim/planner.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "engine/api/capacity.h"
#include "engine/sim/arrivals.h"
#include "engine/sim/fleet.h"

namespace engine::sim {

namespace {

constexpr std::array<int, 5> kDegrees = {1, 2, 4, 8, 16};
constexpr std::int64_t kMaxReplicas = 1024;
constexpr int kBlockSize = 16;
// Requests that a check simulates: enough for a 99 % share to mean something.
constexpr std::int64_t kCheckedRequests = 400;

// One tensor-parallel degree with what it can carry.
struct Option {
  int degree = 1;
  Deployment deployment;
  std::int64_t users = 0;  // a replica
  double stepMs = 0;
};

class Planner {
 public:
  explicit Planner(const PlanRequest& request) : m_request(request) {}

  Result<ServingPlan> run() {
    std::optional<ServingPlan> best;
    for (const int degree : kDegrees) {
      const Result<Option> option = optionOf(degree);
      if (!option) {
        m_passedOver.push_back(fmt::format("{} devices: {}", degree, option.error().message));
        continue;
      }
      // a larger degree cannot win any more
      if (best && degree > best->devices()) break;
      Result<ServingPlan> plan = replicate(*option, best ? best->devices() - 1 : 0);
      if (!plan) {
        if (plan.error().code == ErrorCode::Cancelled) return plan.error();
        m_passedOver.push_back(fmt::format("{} devices: {}", degree, plan.error().message));
      } else if (!best || plan->devices() < best->devices()) {
        best = *plan;
      }
    }
    if (!best) return Error{ErrorCode::InvalidArgument, m_passedOver.back()};
    best->passedOver = m_passedOver;
    return *best;
  }

 private:
  double stepMs(const Deployment& deployment, std::int64_t users) const {
    const std::vector<accounting::RowCost> rows(static_cast<std::size_t>(users),
                                                {1, m_request.length, 1});
    return deployment.cost.stepSeconds(rows) * 1e3;
  }

  double prefillMs(const Deployment& deployment) const {
    const std::int64_t prompt = m_request.length - m_request.outputTokens;
    const accounting::RowCost row{prompt, prompt, 1};
    return deployment.cost.stepSeconds(std::span(&row, 1)) * 1e3;
  }

  // Users by memory, then as many as the time between tokens allows.
  Result<Option> optionOf(int degree) const {
    DeploymentSpec spec = m_request.deployment;
    spec.tensorParallel = degree;
    Option option{degree, TRY(deploy(spec))};
    const std::int64_t fit =
        accounting::capacityUsers(option.deployment.capacityTokens, m_request.length, kBlockSize);
    option.users = std::min<std::int64_t>(fit, m_request.limits.maxSeqs);
    if (option.users < 1) {
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("the pool holds {} tokens, a user takes {}",
                               option.deployment.capacityTokens, m_request.length)};
    }
    if (const auto limit = m_request.slo.tpotMs) {
      std::int64_t least = 0, most = option.users;
      while (least < most) {
        const std::int64_t middle = (least + most + 1) / 2;
        if (stepMs(option.deployment, middle) <= *limit) {
          least = middle;
        } else {
          most = middle - 1;
        }
      }
      if (least < 1) {
        return Error{ErrorCode::InvalidArgument,
                     fmt::format("a step of one user takes {:.1f} ms, the target is {} ms",
                                 stepMs(option.deployment, 1), *limit)};
      }
      option.users = least;
    }
    if (const auto limit = m_request.slo.ttftMs; limit && prefillMs(option.deployment) > *limit) {
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("reading the prompt takes {:.0f} ms, the target is {} ms",
                               prefillMs(option.deployment), *limit)};
    }
    option.stepMs = stepMs(option.deployment, option.users);
    return option;
  }

  // Requests that keep the steady state for a while: with users, each takes the next turn at once.
  Workload workloadFor() const {
    DrawnWorkloadSpec drawn;
    const double prompt = static_cast<double>(m_request.length - m_request.outputTokens);
    drawn.promptLengths = {LengthKind::Fixed, prompt, 0};
    drawn.outputLengths = {LengthKind::Fixed, static_cast<double>(m_request.outputTokens), 0};
    drawn.seed = m_request.seed;
    drawn.requests = kCheckedRequests;
    if (m_request.ratePerSecond > 0) {
      drawn.arrivals = {ArrivalKind::Poisson, m_request.ratePerSecond, 1.0};
    } else {
      drawn.requests = m_request.users;
    }
    Workload workload = drawWorkload(drawn, SamplingParams{});
    for (WorkloadRequest& one : workload.requests) one.slo = m_request.slo;
    return workload;
  }

  Result<PlanCheck> simulate(const Option& option, std::int64_t replicas) const {
    FleetConfig fleet{.engine = {}, .cost = option.deployment.cost};
    fleet.engine.limits = m_request.limits;
    fleet.engine.limits.maxSeqs = static_cast<int>(option.users);
    fleet.engine.cache.blockSize = kBlockSize;
    fleet.engine.cache.numBlocks = option.deployment.capacityTokens / kBlockSize;
    fleet.engine.cache.maxContext = fleet.engine.maxContext = m_request.deployment.model.maxContext;
    fleet.engine.seed = m_request.seed;
    fleet.replicas = static_cast<int>(replicas);
    fleet.cancel = m_request.cancel;
    const FleetRun run = TRY(simulateFleet(fleet, workloadFor()));
    const ServingMetrics metrics = summarizeServing(run.tracks, run.durationMs);
    PlanCheck check;
    check.requests = static_cast<std::int64_t>(run.tracks.size());
    check.ttft = metrics.ttft;
    check.tpot = metrics.tpot;
    // goodput counts a second; all that was sent counts here
    const double good = metrics.requestGoodput ? *metrics.requestGoodput * metrics.durationS
                                               : static_cast<double>(metrics.completed);
    check.metShare = good / static_cast<double>(check.requests);
    if (!metrics.requestGoodput && !keepsUp(run, option)) check.metShare = 0;
    return check;
  }

  // Without targets: the queue does not grow, so that the last answer comes soon after its request.
  bool keepsUp(const FleetRun& run, const Option& option) const {
    if (m_request.ratePerSecond <= 0) return true;
    const double lastMs = run.tracks.back().startMs;
    const double aloneMs = prefillMs(option.deployment) +
                           static_cast<double>(m_request.outputTokens) * option.stepMs;
    return run.durationMs <= lastMs + 3 * aloneMs;
  }

  // The fewest replicas up to `most` (0 = the limit) that the simulator agrees with.
  Result<ServingPlan> replicate(const Option& option, std::int64_t mostDevices) const {
    std::int64_t most = kMaxReplicas;
    if (mostDevices > 0) most = std::min(most, mostDevices / option.degree);
    if (m_request.users > 0) {
      const std::int64_t needed = (m_request.users + option.users - 1) / option.users;
      if (needed > most) return tooMany(needed, most);
      return planOf(option, needed, TRY(simulate(option, needed)));
    }
    return replicateForRate(option, most);
  }

  static Error tooMany(std::int64_t needed, std::int64_t most) {
    return {ErrorCode::InvalidArgument,
            fmt::format("{} replicas would be needed, {} are looked at", needed, most)};
  }

  // Doubling, then halving the gap: more replicas never serve worse.
  Result<ServingPlan> replicateForRate(const Option& option, std::int64_t most) const {
    std::int64_t enough = 1;
    Result<PlanCheck> check = simulate(option, enough);
    while (check && check->metShare < kPlanMetShare) {
      if (enough >= most) return tooMany(enough + 1, most);
      enough = std::min(enough * 2, most);
      check = simulate(option, enough);
    }
    if (!check) return check.error();
    std::int64_t tooFew = enough / 2;
    while (enough - tooFew > 1) {
      const std::int64_t middle = (enough + tooFew) / 2;
      const PlanCheck tried = TRY(simulate(option, middle));
      if (tried.metShare >= kPlanMetShare) {
        enough = middle;
        check = tried;
      } else {
        tooFew = middle;
      }
    }
    return planOf(option, enough, *check);
  }

  ServingPlan planOf(const Option& option, std::int64_t replicas, const PlanCheck& check) const {
    ServingPlan plan;
    plan.tensorParallel = option.degree;
    plan.replicas = static_cast<int>(replicas);
    plan.usersPerReplica = option.users;
    plan.kvBytesPerToken = option.deployment.kvBytesPerToken;
    plan.stepMs = option.stepMs;
    plan.check = check;
    return plan;
  }

  const PlanRequest& m_request;
  std::vector<std::string> m_passedOver;
};

}  // namespace

Result<ServingPlan> planServing(const PlanRequest& request) {
  const std::int64_t context = request.deployment.model.maxContext;
  if (request.length > context) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a length of {} tokens is asked for, {} holds {}", request.length,
                             request.deployment.model.name, context)};
  }
  if (request.outputTokens < 1 || request.outputTokens >= request.length) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{} of {} tokens as answer leave no prompt", request.outputTokens,
                             request.length)};
  }
  return Planner(request).run();
}

}  // namespace engine::sim
