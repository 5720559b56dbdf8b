#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "app/cli/acceptance.h"
#include "app/cli/answer_json.h"
#include "app/cli/commands.h"
#include "app/cli/deployment_flags.h"
#include "app/cli/engine_flags.h"
#include "app/cli/interrupt.h"
#include "app/cli/metrics_json.h"
#include "app/cli/model_choice.h"
#include "app/cli/prompt_synthesis.h"
#include "app/cli/run_report.h"
#include "app/cli/step_prediction.h"
#include "app/cli/workload_flags.h"
#include "engine/sim/fleet.h"

namespace app::cli {

namespace {

using namespace engine;

constexpr int kMaxEngines = 1024;

struct SimulateOptions {
  DeploymentFlags deployment;
  SchedulerLimits limits;
  WorkloadFlags workload;
  ModelChoice tokenizer;  // for requests that are texts
  int tensorParallel = 1, replicas = 1, prefillPool = 0, decodePool = 0;
  double linkGbps = 50, pricePerHour = 0;  // gigabytes a second; of one device
  std::string draftCard, acceptance;
  std::string predictPath;  // measured steps to predict in place of a workload
  double sloTtftMs = 0, sloTpotMs = 0;  // 0 = none
  std::uint64_t seed = 0;
  std::int64_t maxTokens = 128;
  bool isJson = false;

  bool speculates() const { return limits.speculation != SpeculationKind::Off; }
};

std::optional<std::string> amountError(const char* flag, double value, bool mayBeZero) {
  if (value > 0.0 && value <= 1e9) return std::nullopt;
  if (mayBeZero && value == 0.0) return std::nullopt;
  return fmt::format("{} is {}; it takes numbers {} to 1e9", flag, value,
                     mayBeZero ? "from 0" : "above 0");
}

std::optional<std::string> speculationError(const SimulateOptions& options) {
  const bool isDraft = options.limits.speculation == SpeculationKind::Draft;
  if (isDraft && options.draftCard.empty()) return "--speculate draft needs --draft-card";
  if (!isDraft && !options.draftCard.empty()) return "--draft-card goes with --speculate draft";
  if (options.speculates() && options.acceptance.empty()) {
    return "--speculate needs --acceptance: a probability, or the document of a recorded run";
  }
  if (!options.speculates() && !options.acceptance.empty()) {
    return "--acceptance goes with --speculate";
  }
  if (!options.draftCard.empty()) {
    if (const auto card = sim::findModelCard(options.draftCard); !card) {
      return "--draft-card: " + card.error().message;
    }
  }
  return acceptanceError(options.acceptance);
}

std::optional<std::string> usageError(const SimulateOptions& options) {
  if (auto wrong = deploymentFlagsError(options.deployment)) return wrong;
  if (auto wrong = workloadFlagsError(options.workload)) return wrong;
  if (const auto checked = checkSchedulerLimits(options.limits); !checked) {
    return "--" + checked.error().message;
  }
  if ((options.prefillPool > 0) != (options.decodePool > 0)) {
    return "--prefill-pool and --decode-pool go together";
  }
  if (options.prefillPool > 0 && options.replicas > 1) {
    return "--replicas and --prefill-pool are two ways to use more engines; give one";
  }
  if (auto wrong = amountError("--link-gbps", options.linkGbps, false)) return wrong;
  if (auto wrong = amountError("--price-per-hour", options.pricePerHour, true)) return wrong;
  if (auto wrong = amountError("--slo-ttft-ms", options.sloTtftMs, true)) return wrong;
  if (auto wrong = amountError("--slo-tpot-ms", options.sloTpotMs, true)) return wrong;
  return speculationError(options);
}

// Texts as token ids, and recorded answers as lengths: only these need a tokenizer.
Result<void> tokenizeTexts(sim::Workload& workload, const ModelChoice& choice) {
  const auto isText = [](const sim::WorkloadRequest& request) {
    return std::holds_alternative<TextPrompt>(request.prompt) || !request.referenceAnswer.empty();
  };
  if (std::ranges::none_of(workload.requests, isText)) return {};
  TRY_VOID(checkModelExists(choice));
  const auto tokenizer = TRY(openTokenizer(choice));
  for (sim::WorkloadRequest& request : workload.requests) {
    if (const auto* prompt = std::get_if<TextPrompt>(&request.prompt)) {
      request.prompt = TokenPrompt{
          TRY(tokenizer->encodeRaw(prompt->text, text::SpecialTokens::AddAndMatch))};
    }
    takeAnswerLength(request, *tokenizer);
  }
  return {};
}

Result<sim::Workload> prepareWorkload(CliIo& io, const SimulateOptions& options) {
  SamplingParams defaults;
  defaults.seed = options.seed;
  defaults.maxTokens = options.maxTokens;
  sim::Workload workload = TRY(openWorkload(io, options.workload, defaults));
  TRY_VOID(tokenizeTexts(workload, options.tokenizer));
  for (sim::WorkloadRequest& request : workload.requests) {
    if (options.sloTtftMs > 0 && !request.slo.ttftMs) request.slo.ttftMs = options.sloTtftMs;
    if (options.sloTpotMs > 0 && !request.slo.tpotMs) request.slo.tpotMs = options.sloTpotMs;
  }
  return workload;
}

struct Prepared {
  sim::FleetConfig fleet;
  sim::Deployment deployment;
  sim::DeviceCard device;
};

// The draft model lies on the same devices, its weights and cache beside the target's.
Result<std::optional<sim::SimulatedDrafts>> prepareDrafts(CliIo& io,
                                                          const SimulateOptions& options,
                                                          sim::DeploymentSpec& target) {
  if (!options.speculates()) return std::optional<sim::SimulatedDrafts>();
  sim::SimulatedDrafts drafts{TRY(readAcceptance(io, options.acceptance)), std::nullopt};
  if (!options.draftCard.empty()) {
    sim::DeploymentSpec draft = target;
    draft.model = TRY(sim::findModelCard(options.draftCard));
    const sim::Deployment made = TRY(sim::deploy(draft));
    target.otherBytes = made.weightBytes;
    target.otherKvBytesPerToken = made.kvBytesPerToken;
    drafts.draft = made.cost;
  }
  return std::optional(std::move(drafts));
}

Result<Prepared> prepare(CliIo& io, const SimulateOptions& options) {
  sim::DeploymentSpec spec = TRY(readDeployment(io, options.deployment));
  spec.tensorParallel = options.tensorParallel;
  auto drafts = TRY(prepareDrafts(io, options, spec));
  const sim::Deployment deployment = TRY(sim::deploy(spec));
  Prepared made{{.engine = {}, .cost = deployment.cost}, deployment, spec.device};
  sim::SimulatedEngineConfig& engine = made.fleet.engine;
  engine.limits = options.limits;
  engine.cache.allocator = options.deployment.cache.allocator;
  engine.cache.blockSize = options.deployment.cache.blockSize;
  engine.cache.numBlocks = deployment.capacityTokens / engine.cache.blockSize;
  engine.maxContext = engine.cache.maxContext = spec.model.maxContext;
  engine.cache.identity = spec.model.name;
  engine.drafts = std::move(drafts);
  engine.seed = options.seed;
  made.fleet.replicas = options.replicas;
  made.fleet.prefillEngines = options.prefillPool;
  made.fleet.decodeEngines = options.decodePool;
  made.fleet.linkBytesPerSecond = options.linkGbps * 1e9;
  made.fleet.kvBytesPerToken = deployment.kvBytesPerToken;
  made.fleet.cancel = &io.cancel;
  return made;
}

// The counters as a live engine's last snapshot would hold them.
EngineSnapshot snapshotOf(const Prepared& prepared, const sim::FleetRun& run) {
  EngineSnapshot snapshot;
  snapshot.counters = run.counters;
  snapshot.speculation = run.speculation;
  PoolSummary& pool = snapshot.pool.emplace();
  pool.blockSize = prepared.fleet.engine.cache.blockSize;
  pool.numBlocks = prepared.fleet.engine.cache.numBlocks;
  return snapshot;
}

ServedRun servedRunOf(const sim::FleetRun& run) {
  ServedRun served;
  served.tracks = run.tracks;
  served.durationMs = run.durationMs;
  for (const sim::SimulatedAnswer& answer : run.answers) {
    served.errors.push_back(answer.explanation);
  }
  return served;
}

Json refusalsJson(const sim::Workload& workload, const sim::FleetRun& run) {
  Json refusals = Json::array();
  for (const sim::SimulatedAnswer& answer : run.answers) {
    if (answer.explanation.empty()) continue;
    refusals.push_back(
        {{"id", workload.requests[answer.index].id}, {"reason", answer.explanation}});
  }
  return refusals;
}

std::int64_t devicesOf(const SimulateOptions& options, const Prepared& prepared) {
  return std::int64_t{options.tensorParallel} * prepared.fleet.numEngines();
}

// Null without a price, or without a token to pay for.
Json costJson(const SimulateOptions& options, const Prepared& prepared, const sim::FleetRun& run) {
  const auto devices = static_cast<double>(devicesOf(options, prepared));
  const double hours = run.durationMs / 3.6e6;
  const double price = devices * hours * options.pricePerHour;
  double tokens = 0;
  for (const sim::RequestTrack& track : run.tracks) {
    if (track.isSuccess) tokens += static_cast<double>(track.outputTokens);
  }
  Json perMillion;
  if (options.pricePerHour > 0 && tokens > 0) perMillion = price / tokens * 1e6;
  return {{"devices", devicesOf(options, prepared)},
          {"device_hours", devices * hours},
          {"price", options.pricePerHour > 0 ? Json(price) : Json()},
          {"per_million_output_tokens", perMillion}};
}

Json documentOf(const SimulateOptions& options,
                const Prepared& prepared,
                const sim::Workload& workload,
                const sim::FleetRun& run) {
  const EngineSnapshot snapshot = snapshotOf(prepared, run);
  Json document = metricsJson(servedRunOf(run));
  document["simulated"] = true;
  document["device"] = prepared.device.title;
  document["kv_capacity_tokens"] = prepared.deployment.capacityTokens;
  document["kv_bytes_per_token"] = prepared.deployment.kvBytesPerToken;
  document["busy_fraction"] = run.busyFraction;
  document["prefix_cache"] = {{"queried_tokens", run.counters.prefixQueries},
                              {"hit_tokens", run.counters.prefixHits}};
  document["engine"] = engineJson(&snapshot);
  document["speculation"] = speculationJson(&snapshot);
  document["refusals"] = refusalsJson(workload, run);
  document["cost"] = costJson(options, prepared, run);
  return document;
}

std::string textOf(const SimulateOptions& options,
                   const Prepared& prepared,
                   const sim::Workload& workload,
                   const sim::FleetRun& run) {
  std::string text;
  for (const sim::SimulatedAnswer& answer : run.answers) {
    if (answer.explanation.empty()) continue;
    text += fmt::format("{}: {}\n", workload.requests[answer.index].id, answer.explanation);
  }
  text += fmt::format("simulated: {} on {} x {}, room for {} tokens in each of {} engines\n",
                      options.deployment.modelCard, devicesOf(options, prepared),
                      prepared.device.title, prepared.deployment.capacityTokens,
                      prepared.fleet.numEngines());
  text += servingText(run.tracks, run.durationMs);
  text += fmt::format("engines busy {:.0f} % of the time, {} steps, {} preemptions\n",
                      run.busyFraction * 100, run.counters.steps, run.counters.preemptions);
  const Json cost = costJson(options, prepared, run);
  if (!cost["per_million_output_tokens"].is_null()) {
    text += fmt::format("{:.2f} for a million output tokens\n",
                        cost["per_million_output_tokens"].get<double>());
  }
  return text;
}

Result<StepPrediction> predict(CliIo& io, const SimulateOptions& options) {
  sim::DeploymentSpec spec = TRY(readDeployment(io, options.deployment));
  spec.tensorParallel = options.tensorParallel;
  return predictSteps(io, options.predictPath, TRY(sim::deploy(spec)).cost);
}

int runPrediction(CliIo& io, const SimulateOptions& options) {
  const auto prediction = predict(io, options);
  if (!prediction) return fail(io, prediction.error());
  return options.isJson ? writeJson(io, predictionJson(*prediction))
                        : writeText(io, predictionText(*prediction));
}

int runSimulate(CliIo& io, const SimulateOptions& options) {
  if (const auto wrong = usageError(options)) return failUsage(io, *wrong);
  if (!options.predictPath.empty()) return runPrediction(io, options);
  const auto workload = prepareWorkload(io, options);
  if (!workload) return fail(io, workload.error());
  const ScopedInterrupt interrupt(io.cancel);
  const auto prepared = prepare(io, options);
  if (!prepared) return fail(io, prepared.error());
  const auto run = sim::simulateFleet(prepared->fleet, *workload);
  if (!run) return failOrInterrupted(io, run.error(), options.isJson);
  return options.isJson ? writeJson(io, documentOf(options, *prepared, *workload, *run))
                        : writeText(io, textOf(options, *prepared, *workload, *run));
}

}  // namespace

CommandRun setUpSimulate(CLI::App& app) {
  const auto options = std::make_shared<SimulateOptions>();
  FlagSet flags(app);
  addDeploymentFlags(flags, options->deployment);
  flags.whole("--tensor-parallel", options->tensorParallel, 1, kMaxEngines,
              "devices that share every layer");
  flags.whole("--replicas", options->replicas, 1, kMaxEngines, "engines behind a router");
  flags.whole("--prefill-pool", options->prefillPool, 0, kMaxEngines, "engines that only prefill");
  flags.whole("--decode-pool", options->decodePool, 0, kMaxEngines, "engines that only decode");
  flags.positive("--link-gbps", options->linkGbps,
                 "numbers above 0 to 1e9 (gigabytes a second from a prefill engine)");
  flags.number("--price-per-hour", options->pricePerHour,
               "numbers from 0 to 1e9 (price of a device for an hour)");
  flags.text("--draft-card", options->draftCard, "the model card that drafts");
  flags.text("--acceptance", options->acceptance,
             "probability of a guess, or the document of `run --json`");
  flags.text("--predict", options->predictPath,
             "what `bench --json` wrote: its steps beside what the cost model says of them");
  flags.number("--slo-ttft-ms", options->sloTtftMs,
               "numbers from 0 to 1e9 (target of requests that state none)");
  flags.number("--slo-tpot-ms", options->sloTpotMs,
               "numbers from 0 to 1e9 (target of requests that state none)");
  addWorkloadFlags(flags, options->workload);
  addSchedulingFlags(flags, options->limits);
  addModelFlag(flags, options->tokenizer);
  flags.whole("--seed", options->seed, 0, std::numeric_limits<std::uint64_t>::max());
  flags.whole("--max-tokens", options->maxTokens, 1, kMostOfAny);
  flags.toggle("--json", options->isJson, "one JSON document: vLLM's keys, engine, refusals, cost");
  return [options](CliIo& io) { return runSimulate(io, *options); };
}

}  // namespace app::cli
