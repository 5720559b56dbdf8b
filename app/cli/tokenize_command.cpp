#include <memory>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/cli/commands.h"
#include "app/cli/flag_set.h"
#include "app/cli/model_choice.h"

namespace app::cli {

namespace {

struct TokenizeOptions {
  ModelChoice model;
  std::string text;
  bool hasNoSpecial = false;
  bool isJson = false;
};

int runTokenize(CliIo& io, const TokenizeOptions& options) {
  using engine::text::SpecialTokens;
  const auto text = readTextArgument(io, options.text);
  if (!text) return fail(io, text.error());
  const auto tokenizer = openTokenizer(options.model);
  if (!tokenizer) return fail(io, tokenizer.error());
  const auto mode = options.hasNoSpecial ? SpecialTokens::Plain : SpecialTokens::AddAndMatch;
  const auto ids = (*tokenizer)->encodeRaw(*text, mode);
  if (!ids) return fail(io, ids.error());
  if (options.isJson) return writeJson(io, {{"ids", *ids}});
  return writeText(io, fmt::format("{}\n", fmt::join(*ids, " ")));
}

}  // namespace

CommandRun setUpTokenize(CLI::App& app) {
  const auto options = std::make_shared<TokenizeOptions>();
  FlagSet flags(app);
  flags.positional("TEXT", options->text, "the text, or - for standard input, byte for byte");
  addModelFlag(flags, options->model);
  flags.toggle("--no-special", options->hasNoSpecial, "add no BOS or EOS, match no control tokens");
  flags.toggle("--json", options->isJson, "one JSON document: ids");
  return [options](CliIo& io) { return runTokenize(io, *options); };
}

}  // namespace app::cli
