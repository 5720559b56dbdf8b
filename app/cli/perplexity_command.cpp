#include <memory>
#include <string>

#include <fmt/format.h>

#include "app/cli/commands.h"
#include "app/cli/engine_flags.h"
#include "app/cli/interrupt.h"
#include "app/cli/model_choice.h"
#include "app/cli/scoring_session.h"
#include "engine/service/perplexity.h"

namespace app::cli {

namespace {

using namespace engine;

struct PerplexityOptions {
  ModelChoice model;
  EngineConfig config;
  std::string file;
  std::int64_t context = 512;
  bool isJson = false;
};

Result<service::PerplexityResult> measure(CliIo& io, const PerplexityOptions& options) {
  const std::string text = TRY(readFileArgument(io, options.file));
  TRY_VOID(checkModelExists(options.model));
  EngineConfig config = options.config;
  config.load.modelPath = options.model.path();
  auto model = TRY(loadForScoring(io, config, options.context));
  if (options.context > model.info->maxContext) {
    return Error{ErrorCode::InvalidArgument, fmt::format("--context is {}, the model's context holds {}",
                                                         options.context, model.info->maxContext)};
  }
  const auto ids = TRY(encodeForPerplexity(*model.tokenizer, text));
  service::ChunkRule rule;
  rule.context = options.context;
  const text::Vocabulary& vocabulary = model.tokenizer->vocabulary();
  if (vocabulary.addBos && vocabulary.bos >= 0) rule.bos = vocabulary.bos;
  auto measured = service::measurePerplexity(*model.executor, ids, rule, &io.cancel.flag());
  warnOfChange(io, model);
  return measured;
}

// Cancelled before there was a model to measure.
service::PerplexityResult nothingMeasured() {
  service::PerplexityResult result;
  result.isCancelled = true;
  return result;
}

Json documentOf(const service::PerplexityResult& result) {
  const bool hasFigures = result.positions > 0;
  return {{"ppl", hasFigures ? Json(result.perplexity) : Json()},
          {"stderr", hasFigures ? Json(result.standardError) : Json()},
          {"chunks", result.chunks}};
}

std::string textOf(const service::PerplexityResult& result, std::int64_t context) {
  if (result.positions == 0) return {};
  return fmt::format("perplexity {:.4f} ± {:.4f} over {} chunks of {} tokens\n", result.perplexity,
                     result.standardError, result.chunks, context);
}

int runPerplexity(CliIo& io, const PerplexityOptions& options) {
  if (const auto wrong = engineFlagsError(options.config)) return failUsage(io, *wrong);
  if (const auto wrong = contextError(options.context)) return failUsage(io, *wrong);
  const ScopedInterrupt interrupt(io.cancel);
  const auto measured = measure(io, options);
  if (!measured && !io.cancel.isCancelled()) return fail(io, measured.error());
  const auto result = measured ? *measured : nothingMeasured();
  if (options.isJson) return writeOutcome(io, documentOf(result), {}, result.isCancelled);
  return writeOutcome(io, std::nullopt, textOf(result, options.context), result.isCancelled);
}

}  // namespace

CommandRun setUpPerplexity(CLI::App& app) {
  const auto options = std::make_shared<PerplexityOptions>();
  FlagSet flags(app);
  flags.positional("FILE", options->file, "the text, or - for standard input");
  flags.whole("--context", options->context, 4, kMaxScoredContext, "an even one, in tokens");
  addModelFlag(flags, options->model);
  addEngineFlags(flags, options->config);
  flags.toggle("--json", options->isJson, "one JSON document: ppl, stderr, chunks");
  return [options](CliIo& io) { return runPerplexity(io, *options); };
}

}  // namespace app::cli
