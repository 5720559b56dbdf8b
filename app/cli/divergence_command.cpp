#include <memory>
#include <string>

#include <fmt/format.h>

#include "app/cli/commands.h"
#include "app/cli/engine_flags.h"
#include "app/cli/interrupt.h"
#include "app/cli/model_choice.h"
#include "app/cli/scoring_session.h"
#include "engine/service/base_file.h"
#include "engine/service/chunk_divergence.h"

namespace app::cli {

namespace {

using namespace engine;

struct DivergenceOptions {
  ModelChoice model;
  EngineConfig config;
  std::string file, against, base, writeBase;
  std::int64_t context = 512;
  bool isJson = false;
};

// What is measured: model, tokens, rule.
struct Measured {
  service::LoadedModel model;
  std::vector<TokenId> ids;
  service::ChunkRule rule;
};

Result<Measured> openMeasured(CliIo& io, const DivergenceOptions& options) {
  const std::string text = TRY(readFileArgument(io, options.file));
  TRY_VOID(checkModelExists(options.model));
  EngineConfig config = options.config;
  config.load.modelPath = options.model.path();
  Measured measured;
  measured.model = TRY(loadForScoring(io, config, options.context));
  measured.ids = TRY(encodeForPerplexity(*measured.model.tokenizer, text));
  measured.rule.context = options.context;
  const text::Vocabulary& vocabulary = measured.model.tokenizer->vocabulary();
  if (vocabulary.addBos && vocabulary.bos >= 0) measured.rule.bos = vocabulary.bos;
  return measured;
}

// The other model, or the same one with f32 KV.
Result<service::LoadedModel> openBase(CliIo& io, const DivergenceOptions& options) {
  EngineConfig config = options.config;
  config.load.modelPath = options.against.empty() ? options.model.path() : options.against;
  if (options.against.empty()) config.load.kvDtype = KvDType::F32;
  return loadForScoring(io, config, options.context);
}

Result<service::DivergenceResult> compare(CliIo& io, const DivergenceOptions& options) {
  Measured measured = TRY(openMeasured(io, options));
  if (!options.base.empty()) {
    auto base = TRY(service::BaseFileReader::open(options.base));
    auto compared = service::compareToFile(base, *measured.model.executor, measured.ids, measured.rule,
                                           &io.cancel.flag());
    warnOfChange(io, measured.model);
    return compared;
  }
  service::LoadedModel base = TRY(openBase(io, options));
  auto compared = service::compareExecutors(*base.executor, *measured.model.executor, measured.ids,
                                            measured.rule, &io.cancel.flag());
  warnOfChange(io, base);
  warnOfChange(io, measured.model);
  return compared;
}

Result<std::int64_t> writeBase(CliIo& io, const DivergenceOptions& options) {
  Measured measured = TRY(openMeasured(io, options));
  TRY_VOID(service::checkChunks(measured.ids, measured.rule));
  service::BaseHeader header;
  header.context = static_cast<std::uint32_t>(options.context);
  header.vocabSize = static_cast<std::int32_t>(measured.model.executor->vocabSize());
  header.chunks = static_cast<std::int32_t>(static_cast<std::int64_t>(measured.ids.size()) / options.context);
  header.tokens.assign(measured.ids.begin(), measured.ids.begin() + header.chunks * options.context);
  auto writer = TRY(service::BaseFileWriter::create(options.writeBase, header));
  const auto add = [&](std::span<const float> logits, TokenId) { return writer.add(logits); };
  const auto chunks = TRY(service::scoreChunks(*measured.model.executor, measured.ids, measured.rule,
                                               &io.cancel.flag(), add));
  warnOfChange(io, measured.model);
  TRY_VOID(writer.finish());
  return chunks;
}

std::optional<std::string> usageError(const DivergenceOptions& options) {
  if (const auto wrong = engineFlagsError(options.config)) return wrong;
  if (const auto wrong = contextError(options.context)) return wrong;
  const int sources = !options.against.empty() + !options.base.empty() + !options.writeBase.empty();
  if (sources > 1) return "--against, --base and --write-base exclude one another";
  if (sources == 0 && options.config.load.kvDtype == KvDType::Default) {
    return "divergence needs one of --against, --base, --write-base and --kv-dtype";
  }
  return std::nullopt;
}

// Cancelled before there was anything to compare.
service::DivergenceResult nothingCompared() {
  service::DivergenceResult result;
  result.isCancelled = true;
  return result;
}

Json documentOf(const service::DivergenceResult& result) {
  const auto figure = [&result](double value) { return result.positions > 0 ? Json(value) : Json(); };
  return {{"mean_kld", figure(result.meanKld)}, {"p99_kld", figure(result.p99Kld)},
          {"max_kld", figure(result.maxKld)},   {"top1", figure(result.top1)},
          {"rms_dp", figure(result.rmsDp)},     {"ppl_ratio", figure(result.pplRatio)}};
}

std::string textOf(const service::DivergenceResult& result) {
  if (result.positions == 0) return {};
  return fmt::format("KL divergence mean {:.6f}, P99 {:.6f}, max {:.6f} nats; same best token {:.2f} %; "
                     "rms Δp {:.3f} %; perplexity × {:.5f} ({} positions)\n",
                     result.meanKld, result.p99Kld, result.maxKld, result.top1 * 100, result.rmsDp * 100,
                     result.pplRatio, result.positions);
}

int runWriteBase(CliIo& io, const DivergenceOptions& options) {
  const auto chunks = writeBase(io, options);
  const bool isCancelled = !chunks && io.cancel.isCancelled();
  if (!chunks && !isCancelled) return fail(io, chunks.error());
  if (options.isJson) {
    const Json document = {{"base", isCancelled ? Json() : Json(options.writeBase)},
                           {"chunks", chunks ? Json(*chunks) : Json()}};
    return writeOutcome(io, document, {}, isCancelled);
  }
  const std::string text =
      chunks ? fmt::format("wrote {} chunks to {}\n", *chunks, options.writeBase) : std::string();
  return writeOutcome(io, std::nullopt, text, isCancelled);
}

int runDivergence(CliIo& io, const DivergenceOptions& options) {
  if (const auto wrong = usageError(options)) return failUsage(io, *wrong);
  const ScopedInterrupt interrupt(io.cancel);
  if (!options.writeBase.empty()) return runWriteBase(io, options);
  const auto compared = compare(io, options);
  if (!compared && !io.cancel.isCancelled()) return fail(io, compared.error());
  const auto result = compared ? *compared : nothingCompared();
  if (options.isJson) return writeOutcome(io, documentOf(result), {}, result.isCancelled);
  return writeOutcome(io, std::nullopt, textOf(result), result.isCancelled);
}

}  // namespace

CommandRun setUpDivergence(CLI::App& app) {
  const auto options = std::make_shared<DivergenceOptions>();
  FlagSet flags(app);
  flags.positional("FILE", options->file, "the text, or - for standard input");
  flags.text("--against", options->against, "the base: another model of the same vocabulary");
  flags.text("--base", options->base, "the base: a file of log-probabilities");
  flags.text("--write-base", options->writeBase, "write this model's log-probabilities and compare nothing");
  flags.whole("--context", options->context, 4, kMaxScoredContext, "an even one, in tokens");
  addModelFlag(flags, options->model);
  addEngineFlags(flags, options->config);
  flags.toggle("--json", options->isJson, "one JSON document: mean_kld, p99_kld, max_kld, top1, rms_dp, ppl_ratio");
  return [options](CliIo& io) { return runDivergence(io, *options); };
}

}  // namespace app::cli
