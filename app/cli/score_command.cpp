#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "app/cli/commands.h"
#include "app/cli/engine_flags.h"
#include "app/cli/interrupt.h"
#include "app/cli/model_choice.h"
#include "app/cli/scoring_session.h"
#include "engine/exec/sequence_scorer.h"
#include "engine/sample/candidate_set.h"
#include "engine/sample/column_tiles.h"

namespace app::cli {

namespace {

using namespace engine;

constexpr std::size_t kTop = 20;

struct ScoreOptions {
  ModelChoice model;
  EngineConfig config;
  std::string file;
  bool isJson = false;
};

struct Score {
  std::vector<TokenId> ids;
  double sumNll = 0;
  std::int64_t numScored = 0;  // ids with a log-probability
  Json lastTop = Json::array();
};

// Its tokenizer is gone before the model comes with its own: two large vocabularies would count.
Result<std::vector<TokenId>> idsOf(CliIo& io, const ScoreOptions& options) {
  const std::string text = TRY(readFileArgument(io, options.file));
  TRY_VOID(checkModelExists(options.model));
  const auto tokenizer = TRY(openTokenizer(options.model));
  std::vector<TokenId> ids = TRY(tokenizer->encodeRaw(text, text::SpecialTokens::AddAndMatch));
  if (!ids.empty()) return ids;
  return Error{ErrorCode::InvalidArgument, "nothing to score: the text has 0 tokens"};
}

// One pass; holds one row's figures at a time. `score` has what was reached when it fails.
Result<void> scoreText(CliIo& io, const ScoreOptions& options, Score& score) {
  score.ids = TRY(idsOf(io, options));
  EngineConfig config = options.config;
  config.load.modelPath = options.model.path();
  const auto numTokens = static_cast<std::int64_t>(score.ids.size());
  auto model = TRY(loadForScoring(io, config, numTokens));
  if (numTokens > model.info->maxContext) {
    return Error{ErrorCode::InvalidArgument, fmt::format("the text has {} tokens, the context holds {}",
                                                         numTokens, model.info->maxContext)};
  }
  const auto vocabSize = static_cast<std::size_t>(model.executor->vocabSize());
  const auto onRow = [&](std::int64_t position, const float* row) -> Result<void> {
    const std::span<const float> logits(row, vocabSize);
    const sample::RowSummary summary = TRY(sample::summarizeRow(logits));
    if (position + 1 < numTokens) {
      const TokenId next = score.ids[static_cast<std::size_t>(position) + 1];
      score.sumNll += summary.logSumExp - double{logits[static_cast<std::size_t>(next)]};
      ++score.numScored;
      return {};
    }
    for (const sample::Candidate& best : sample::bestOfRow(logits, kTop)) {
      score.lastTop.push_back(Json::array({best.id, double{best.logit} - summary.logSumExp}));
    }
    return {};
  };
  const auto scored =
      exec::scoreSequence(*model.executor, score.ids, 0, &io.cancel.flag(), onRow);
  warnOfChange(io, model);
  return scored;
}

int runScore(CliIo& io, const ScoreOptions& options) {
  if (const auto wrong = engineFlagsError(options.config)) return failUsage(io, *wrong);
  const ScopedInterrupt interrupt(io.cancel);
  Score score;
  const auto scored = scoreText(io, options, score);
  const bool isCancelled = !scored && io.cancel.isCancelled();
  if (!scored && !isCancelled) return fail(io, scored.error());
  Json meanNll;  // null below two tokens
  if (score.numScored > 0) meanNll = score.sumNll / static_cast<double>(score.numScored);
  if (options.isJson) {
    const Json document = {{"ids", score.ids}, {"mean_nll", meanNll}, {"last_top", score.lastTop}};
    return writeOutcome(io, document, {}, isCancelled);
  }
  const std::string text = fmt::format("{} tokens, mean NLL {}\n", score.ids.size(), meanNll.dump());
  return writeOutcome(io, std::nullopt, isCancelled ? std::string() : text, isCancelled);
}

}  // namespace

CommandRun setUpScore(CLI::App& app) {
  const auto options = std::make_shared<ScoreOptions>();
  FlagSet flags(app);
  flags.positional("FILE", options->file, "the text, or - for standard input, byte for byte");
  addModelFlag(flags, options->model);
  addEngineFlags(flags, options->config);
  flags.toggle("--json", options->isJson, "one JSON document: ids, mean_nll, last_top");
  return [options](CliIo& io) { return runScore(io, *options); };
}

}  // namespace app::cli
