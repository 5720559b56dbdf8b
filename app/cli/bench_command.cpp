#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/cli/bench_case.h"
#include "app/cli/commands.h"
#include "app/cli/engine_flags.h"
#include "app/cli/engine_session.h"
#include "app/cli/flag_set.h"
#include "app/cli/interrupt.h"
#include "app/cli/median.h"
#include "app/cli/model_choice.h"
#include "app/cli/number_text.h"
#include "app/cli/prompt_synthesis.h"
#include "app/cli/scheduler_bench.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/machine_probe.h"

namespace app::cli {

namespace {

using namespace engine;

constexpr std::int64_t kMaxBatch = 4096, kMaxTokens = 1 << 24, kMaxRepeats = 1000;
constexpr std::int64_t kLookupTokens = 32768;

struct BenchOptions {
  ModelChoice model;
  EngineConfig config;
  std::int64_t promptTokens = 512, genTokens = 128, repeats = 3;
  std::vector<std::int64_t> batches = {1, 8, 32}, depths = {0};
  bool isSchedulerOnly = false;
  bool isJson = false;
};

// What the machine can do; empty where it was not measured.
struct Yardsticks {
  std::optional<double> bytesPerSecond, int8OpsPerSecond;
};

struct BenchReport {
  const ModelInfo* model = nullptr;
  Json rows = Json::array();
  bool isCancelled = false;
};

bool parseList(std::string_view text, std::vector<std::int64_t>& target) {
  std::vector<std::int64_t> values;
  while (true) {
    const std::size_t comma = text.find(',');
    if (!parseNumber(text.substr(0, comma), values.emplace_back())) return false;
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  target = std::move(values);
  return true;
}

std::optional<std::string> rangeError(const char* flag,
                                      std::int64_t value,
                                      std::int64_t least,
                                      std::int64_t most) {
  if (value >= least && value <= most) return std::nullopt;
  return fmt::format("{} is {}; it takes {} to {}", flag, value, least, most);
}

std::optional<std::string> usageError(const BenchOptions& options) {
  const SchedulerLimits& limits = options.config.limits;
  for (const std::int64_t batch : options.batches) {
    if (auto wrong = rangeError("--batch", batch, 1, kMaxBatch)) return wrong;
    if (batch <= limits.maxBatchedTokens) continue;
    return fmt::format("--batch is {}, more than a step takes: --max-batched-tokens is {}", batch,
                       limits.maxBatchedTokens);
  }
  for (const std::int64_t depth : options.depths) {
    if (auto wrong = rangeError("--depth", depth, 0, kMaxTokens)) return wrong;
    if (depth > 0 && !limits.prefixCache) {
      return "--depth above 0 needs --prefix-cache on, which keeps what lies before the prompt";
    }
  }
  if (limits.speculation != SpeculationKind::Off) {
    return "--speculate is not for bench, which measures steps of one token a user";
  }
  return engineFlagsError(options.config);
}

std::vector<BenchCase> casesOf(const BenchOptions& options) {
  std::vector<BenchCase> cases;
  for (const std::int64_t depth : options.depths) {
    for (const std::int64_t batch : options.batches) {
      cases.push_back({batch, depth, options.promptTokens, options.genTokens});
    }
  }
  return cases;
}

// Room for all users at once, unless the pool was given: a user set back would falsify the figures.
EngineConfig configFor(const BenchOptions& options, const std::vector<BenchCase>& cases) {
  EngineConfig config = options.config;
  config.load.modelPath = options.model.path();
  std::int64_t blocks = 0;
  for (const BenchCase& one : cases) {
    config.limits.maxSeqs = std::max(config.limits.maxSeqs, static_cast<int>(one.batch));
    const std::int64_t tokens = one.depth + one.promptTokens + one.maxTokens(config.limits);
    blocks = std::max(blocks, one.batch * (tokens / config.load.blockSize + 2));
  }
  if (config.load.kvBlocks == 0 && config.load.kvMemoryBytes == 0) config.load.kvBlocks = blocks;
  return config;
}

std::optional<std::string> contextError(const std::vector<BenchCase>& cases,
                                        const ModelInfo& model) {
  for (const BenchCase& one : cases) {
    const std::int64_t tokens = one.depth + one.promptTokens + one.genTokens + 1;
    if (tokens <= model.maxContext) continue;
    return fmt::format("depth {}, {} prompt and {} generated tokens and the next one make {}; the context holds {}",
                       one.depth, one.promptTokens, one.genTokens, tokens, model.maxContext);
  }
  return std::nullopt;
}

// The set with whose int8 instructions the recipe in force is compared; nothing for plain float32.
std::optional<kernels::cpu::Isa> int8IsaOf(const ModelInfo& model) {
  for (const kernels::cpu::Isa isa : kernels::cpu::supportedIsas()) {
    if (model.isa == kernels::cpu::isaName(isa)) return isa;
  }
  return std::nullopt;
}

Yardsticks measureMachine(const ModelInfo& model) {
  Yardsticks machine;
  machine.bytesPerSecond = kernels::cpu::measureReadBandwidth(model.threads);
  if (const auto isa = int8IsaOf(model)) {
    machine.int8OpsPerSecond = kernels::cpu::measureInt8Peak(*isa, model.threads);
  }
  return machine;
}

Json shareJson(std::optional<double> part, std::optional<double> whole) {
  if (!part || !whole || *whole <= 0) return {};
  return *part / *whole;
}

// The median over the repeats of one figure.
std::optional<double> medianOver(const std::vector<BenchSample>& samples,
                                 std::optional<double> BenchSample::*figure) {
  std::vector<double> values;
  for (const BenchSample& sample : samples) {
    if (sample.*figure) values.push_back(*(sample.*figure));
  }
  return medianOf(std::move(values));
}

Json rowJson(const BenchCase& benchCase,
             const std::vector<BenchSample>& samples,
             const Yardsticks& machine) {
  const auto figure = [&samples](std::optional<double> BenchSample::*which) {
    const auto median = medianOver(samples, which);
    return median ? Json(*median) : Json();
  };
  return {{"batch", benchCase.batch},
          {"depth", benchCase.depth},
          {"prefill_tps", figure(&BenchSample::prefillTps)},
          {"decode_tps", figure(&BenchSample::decodeTps)},
          {"step_ms_p50", figure(&BenchSample::stepMs)},
          {"bytes_per_step", figure(&BenchSample::bytesPerStep)},
          {"bandwidth_fraction",
           shareJson(medianOver(samples, &BenchSample::bytesPerSecond), machine.bytesPerSecond)},
          {"peak_fraction", shareJson(medianOver(samples, &BenchSample::linearOpsPerSecond),
                                      machine.int8OpsPerSecond)}};
}

std::string cellText(const Json& value, double scale, int precision, const char* unit = "") {
  if (value.is_null()) return "-";
  return fmt::format("{:.{}f}{}", value.get<double>() * scale, precision, unit);
}

std::string textOf(const BenchReport& report) {
  std::string text;
  if (report.model != nullptr) {
    text += fmt::format("{}, {}, {} threads\n", report.model->name, report.model->isa,
                        report.model->threads);
  }
  text += fmt::format("{:>6} {:>7} {:>14} {:>13} {:>9} {:>10} {:>12} {:>14}\n", "users", "depth",
                      "prefill tok/s", "decode tok/s", "step ms", "MB/step", "of bandwidth",
                      "of int8 peak");
  for (const Json& row : report.rows) {
    text += fmt::format(
        "{:>6} {:>7} {:>14} {:>13} {:>9} {:>10} {:>12} {:>14}\n", row["batch"].get<std::int64_t>(),
        row["depth"].get<std::int64_t>(), cellText(row["prefill_tps"], 1, 1),
        cellText(row["decode_tps"], 1, 1), cellText(row["step_ms_p50"], 1, 2),
        cellText(row["bytes_per_step"], 1e-6, 1), cellText(row["bandwidth_fraction"], 100, 1, "%"),
        cellText(row["peak_fraction"], 100, 1, "%"));
  }
  return text;
}

int writeReport(CliIo& io, const BenchOptions& options, const BenchReport& report) {
  if (!options.isJson) return writeOutcome(io, std::nullopt, textOf(report), report.isCancelled);
  const Json document = {{"isa", report.model ? Json(report.model->isa) : Json()},
                         {"threads", report.model ? Json(report.model->threads) : Json()},
                         {"prompt_tokens", options.promptTokens},
                         {"gen_tokens", options.genTokens},
                         {"rows", report.rows}};
  return writeOutcome(io, document, {}, report.isCancelled);
}

Result<void> measureRows(BenchRunner& runner,
                         const BenchOptions& options,
                         const std::vector<BenchCase>& cases,
                         BenchReport& report) {
  TRY(runner.measure({1, 0, std::min<std::int64_t>(options.promptTokens, 64), 2}));  // wakes all up
  const Yardsticks machine = measureMachine(*report.model);
  for (const BenchCase& benchCase : cases) {
    std::vector<BenchSample> samples;
    for (std::int64_t i = 0; i < options.repeats; ++i) {
      samples.push_back(TRY(runner.measure(benchCase)));
    }
    report.rows.push_back(rowJson(benchCase, samples, machine));
  }
  return {};
}

// What 95 in 100 stay below; times is not empty.
double highOf(std::vector<double> times) {
  std::ranges::sort(times);
  return times[times.size() * 95 / 100];
}

Result<Json> schedulerRow(CliIo& io,
                          const EngineConfig& config,
                          const BenchCase& benchCase,
                          std::int64_t repeats) {
  std::vector<double> medians, highs;
  for (std::int64_t i = 0; i < repeats; ++i) {
    std::vector<double> times = TRY(measureSchedulerSteps(config, benchCase, io.cancel));
    highs.push_back(highOf(times));
    medians.push_back(medianOf(std::move(times)).value());
  }
  return Json{{"batch", benchCase.batch},
              {"depth", benchCase.depth},
              {"schedule_us_p50", medianOf(std::move(medians)).value()},
              {"schedule_us_p95", medianOf(std::move(highs)).value()}};
}

std::string schedulerTextOf(const Json& rows, double lookupUs) {
  std::string text = fmt::format("{:>6} {:>7} {:>14} {:>14}\n", "users", "depth", "us a step",
                                 "95 in 100");
  for (const Json& row : rows) {
    text += fmt::format("{:>6} {:>7} {:>14} {:>14}\n", row["batch"].get<std::int64_t>(),
                        row["depth"].get<std::int64_t>(), cellText(row["schedule_us_p50"], 1, 1),
                        cellText(row["schedule_us_p95"], 1, 1));
  }
  return text + fmt::format("{:.1f} us to find {} tokens in the prefix cache\n", lookupUs,
                            kLookupTokens);
}

// Needs no model and computes nothing: what is left of a step when its numbers take no time.
int runSchedulerBench(CliIo& io, const BenchOptions& options) {
  const std::vector<BenchCase> cases = casesOf(options);
  const EngineConfig config = configFor(options, cases);
  Json rows = Json::array();
  bool isCancelled = false;
  for (const BenchCase& benchCase : cases) {
    auto row = schedulerRow(io, config, benchCase, options.repeats);
    isCancelled = !row && row.error().code == ErrorCode::Cancelled;
    if (isCancelled) break;
    if (!row) return fail(io, row.error());
    rows.push_back(std::move(row).value());
  }
  const double lookupUs = measurePrefixLookup(config.load.blockSize, kLookupTokens);
  if (!options.isJson) {
    return writeOutcome(io, std::nullopt, schedulerTextOf(rows, lookupUs), isCancelled);
  }
  const Json document = {
      {"rows", rows}, {"lookup_tokens", kLookupTokens}, {"lookup_us", lookupUs}};
  return writeOutcome(io, document, {}, isCancelled);
}

int runBench(CliIo& io, const BenchOptions& options) {
  if (const auto wrong = usageError(options)) return failUsage(io, *wrong);
  const ScopedInterrupt interrupt(io.cancel);
  if (options.isSchedulerOnly) return runSchedulerBench(io, options);
  const auto vocabulary = openVocabulary(options.model);
  if (!vocabulary) return fail(io, vocabulary.error());
  const std::vector<BenchCase> cases = casesOf(options);
  const EngineConfig config = configFor(options, cases);
  BenchReport report;
  const auto session = EngineSession::open(config, io.cancel);
  if (!session) {
    report.isCancelled = session.error().code == ErrorCode::Cancelled;
    return report.isCancelled ? writeReport(io, options, report) : fail(io, session.error());
  }
  EngineSession& engine = **session;
  report.model = &engine.model();
  if (const auto wrong = contextError(cases, engine.model())) return fail(io, *wrong);
  const sim::PromptAlphabet alphabet = plainTokens(*vocabulary);
  BenchRunner runner(engine, alphabet, config);
  const auto measured = measureRows(runner, options, cases, report);
  report.isCancelled = !measured && measured.error().code == ErrorCode::Cancelled;
  for (const std::string& notice : engine.notices()) warn(io, notice);
  if (!measured && !report.isCancelled) return fail(io, measured.error());
  return writeReport(io, options, report);
}

}  // namespace

CommandRun setUpBench(CLI::App& app) {
  const auto options = std::make_shared<BenchOptions>();
  FlagSet flags(app);
  const auto list = [&flags](const char* flag, std::vector<std::int64_t>& target,
                             const std::string& takes) {
    flags.custom(flag, takes,
                 [&target](const std::string& value) { return parseList(value, target); });
  };
  flags.whole("--prompt-tokens", options->promptTokens, 1, kMaxTokens);
  flags.whole("--gen-tokens", options->genTokens, 1, kMaxTokens);
  list("--batch", options->batches, fmt::format("whole numbers from 1 to {}, by comma (users at once)", kMaxBatch));
  list("--depth", options->depths,
       fmt::format("whole numbers from 0 to {}, by comma (tokens in the cache before the prompt)",
                   kMaxTokens));
  flags.whole("--repeats", options->repeats, 1, kMaxRepeats, "medians are told");
  flags.toggle("--scheduler", options->isSchedulerOnly,
               "without a model: what scheduler and cache cost a step");
  addModelFlag(flags, options->model);
  addEngineFlags(flags, options->config);
  flags.toggle("--json", options->isJson, "one JSON document: isa, threads, rows");
  return [options](CliIo& io) { return runBench(io, *options); };
}

}  // namespace app::cli
