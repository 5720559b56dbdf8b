#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "app/cli/commands.h"
#include "app/cli/deployment_flags.h"
#include "app/cli/engine_flags.h"
#include "app/cli/interrupt.h"
#include "engine/api/capacity.h"
#include "engine/sim/planner.h"

namespace app::cli {

namespace {

using namespace engine;

constexpr std::int64_t kMaxUsers = 100'000;
constexpr int kMostSeqs = 4096;  // a plan is not held to the limit of one small engine

struct PlanOptions {
  DeploymentFlags deployment;
  SchedulerLimits limits;
  std::int64_t length = 8192;
  std::optional<std::int64_t> outputTokens;  // without: 256, or half of a shorter length
  std::optional<std::int64_t> users;
  std::optional<double> rate, sloTtftMs, sloTpotMs;
  std::uint64_t seed = 0;
  bool isJson = false;
};

std::optional<std::string> usageError(const PlanOptions& options) {
  if (auto wrong = deploymentFlagsError(options.deployment)) return wrong;
  if (const auto checked = checkSchedulerLimits(options.limits); !checked) {
    return "--" + checked.error().message;
  }
  if (options.outputTokens && *options.outputTokens >= options.length) {
    return fmt::format("--output-tokens is {}; it takes 1 to {}, so that a length of {} leaves a prompt",
                       *options.outputTokens, options.length - 1, options.length);
  }
  for (const auto& [flag, value] : {std::pair{"--rate", options.rate},
                                    {"--slo-ttft-ms", options.sloTtftMs},
                                    {"--slo-tpot-ms", options.sloTpotMs}}) {
    if (value && !(*value > 0.0 && *value <= 1e9)) {
      return fmt::format("{} is {}; it takes numbers above 0 to 1e9", flag, *value);
    }
  }
  if (options.users.has_value() == options.rate.has_value()) return "give one of --users and --rate";
  return std::nullopt;
}

sim::PlanRequest requestOf(const PlanOptions& options, sim::DeploymentSpec spec, CliIo& io) {
  sim::PlanRequest request;
  request.deployment = std::move(spec);
  request.length = options.length;
  request.outputTokens = options.outputTokens.value_or(std::min<std::int64_t>(256, options.length / 2));
  request.users = options.users.value_or(0);
  request.ratePerSecond = options.rate.value_or(0);
  if (options.sloTtftMs) request.slo.ttftMs = *options.sloTtftMs;
  if (options.sloTpotMs) request.slo.tpotMs = *options.sloTpotMs;
  request.limits = options.limits;
  request.seed = options.seed;
  request.cancel = &io.cancel;
  return request;
}

// The same model with other numbers of key-value heads.
Json sharingJson(const sim::DeploymentSpec& spec) {
  const accounting::ModelShape shape = sim::shapeOf(spec.model, spec.weights, spec.kv);
  using accounting::HeadSharing;
  return {{"mha", accounting::kvBytesPerToken(shape, HeadSharing::Mha)},
          {"gqa", accounting::kvBytesPerToken(shape, HeadSharing::Gqa)},
          {"mqa", accounting::kvBytesPerToken(shape, HeadSharing::Mqa)}};
}

Json documentOf(const sim::ServingPlan& plan, const sim::PlanRequest& request) {
  return {{"devices", plan.devices()},
          {"tensor_parallel", plan.tensorParallel},
          {"users", plan.usersPerReplica},
          {"replicas", plan.replicas},
          {"kv_bytes_per_token", plan.kvBytesPerToken},
          {"kv_bytes_per_token_by_sharing", sharingJson(request.deployment)},
          {"output_tokens", request.outputTokens},
          {"step_ms", plan.stepMs},
          {"simulated",
           {{"requests", plan.check.requests},
            {"met_share", plan.check.metShare},
            {"p99_ttft_ms", plan.check.ttft.p99},
            {"p99_tpot_ms", plan.check.tpot.p99}}},
          {"passed_over", plan.passedOver}};
}

std::string textOf(const sim::ServingPlan& plan, const sim::PlanRequest& request) {
  std::string text = fmt::format(
      "{} x {}: {} {} of {} {}, {} users of {} tokens in each\n", plan.devices(),
      request.deployment.device.title, plan.replicas, plan.replicas == 1 ? "replica" : "replicas",
      plan.tensorParallel, plan.tensorParallel == 1 ? "device" : "devices", plan.usersPerReplica,
      request.length);
  text += fmt::format("{:.0f} bytes of keys and values a token, {:.2f} ms a step when full\n",
                      plan.kvBytesPerToken, plan.stepMs);
  text += fmt::format(
      "simulated with {} requests: {:.1f} % met every target, P99 TTFT {:.0f} ms, TPOT {:.1f} ms\n",
      plan.check.requests, plan.check.metShare * 100, plan.check.ttft.p99, plan.check.tpot.p99);
  for (const std::string& why : plan.passedOver) text += "passed over: " + why + "\n";
  return text;
}

int runPlan(CliIo& io, const PlanOptions& options) {
  if (const auto wrong = usageError(options)) return failUsage(io, *wrong);
  auto spec = readDeployment(io, options.deployment);
  if (!spec) return fail(io, spec.error());
  const ScopedInterrupt interrupt(io.cancel);
  const sim::PlanRequest request = requestOf(options, *std::move(spec), io);
  const auto plan = sim::planServing(request);
  if (!plan) return failOrInterrupted(io, plan.error(), options.isJson);
  return options.isJson ? writeJson(io, documentOf(*plan, request))
                        : writeText(io, textOf(*plan, request));
}

}  // namespace

CommandRun setUpPlan(CLI::App& app) {
  const auto options = std::make_shared<PlanOptions>();
  options->limits.maxSeqs = kMostSeqs;
  options->limits.maxBatchedTokens = 2 * kMostSeqs;
  FlagSet flags(app);
  addDeploymentFlags(flags, options->deployment);
  flags.whole("--length", options->length, 2, kMostOfAny,
              "tokens of a user at the end, answer included; default 8192");
  flags.whole("--output-tokens", options->outputTokens, 1, kMostOfAny,
              "of --length the answer; default 256, at most half");
  flags.whole("--users", options->users, 1, kMaxUsers, "users at once");
  flags.positive("--rate", options->rate, "numbers above 0 to 1e9 (requests a second)");
  flags.positive("--slo-ttft-ms", options->sloTtftMs,
                 "numbers above 0 to 1e9 (time to first token to keep)");
  flags.positive("--slo-tpot-ms", options->sloTpotMs,
                 "numbers above 0 to 1e9 (time per output token to keep)");
  addSchedulingFlags(flags, options->limits);
  flags.whole("--seed", options->seed, 0, std::numeric_limits<std::uint64_t>::max());
  flags.toggle("--json", options->isJson, "one JSON document");
  return [options](CliIo& io) { return runPlan(io, *options); };
}

}  // namespace app::cli
