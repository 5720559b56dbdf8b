#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "app/cli/commands.h"
#include "app/cli/flag_set.h"
#include "app/cli/model_choice.h"
#include "app/cli/number_text.h"
#include "engine/model/safe_text.h"
#include "engine/text/utf8.h"

namespace app::cli {

namespace {

using engine::Error;
using engine::ErrorCode;
using engine::Result;
using engine::TokenId;

struct DetokenizeOptions {
  ModelChoice model;
  std::vector<std::string> ids;
  bool isJson = false;
};

// Ids by spaces, line ends or commas.
Result<std::vector<TokenId>> parseIds(std::string_view text) {
  constexpr std::string_view kSeparators = " ,\t\r\n";
  std::vector<TokenId> ids;
  for (std::size_t at = text.find_first_not_of(kSeparators); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kSeparators, at), text.size());
    const std::string_view word = text.substr(at, end - at);
    TokenId id = 0;
    if (!parseNumber(word, id)) {
      return Error{ErrorCode::InvalidArgument, fmt::format("\"{}\" is no token id", engine::model::safeText(word))};
    }
    ids.push_back(id);
    at = text.find_first_not_of(kSeparators, end);
  }
  return ids;
}

std::string hexOf(std::string_view bytes) {
  std::string hex;
  for (const char byte : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return hex;
}

int runDetokenize(CliIo& io, const DetokenizeOptions& options) {
  std::string words;
  for (const std::string& argument : options.ids) {
    const auto text = readTextArgument(io, argument);
    if (!text) return fail(io, text.error());
    words += *text + ' ';
  }
  const auto ids = parseIds(words);
  if (!ids) return failUsage(io, ids.error().message);
  const auto tokenizer = openTokenizer(options.model);
  if (!tokenizer) return fail(io, tokenizer.error());
  const auto size = static_cast<TokenId>((*tokenizer)->vocabulary().tokens.size());
  for (const TokenId id : *ids) {
    if (id >= 0 && id < size) continue;
    return failUsage(io, fmt::format("token id {} is not in the vocabulary, which has ids 0 to {}",
                                     id, size - 1));
  }
  const std::string bytes = (*tokenizer)->decode(*ids, /*writeControl=*/true);
  const std::string text = engine::text::repairUtf8(bytes);
  if (options.isJson) return writeJson(io, {{"text", text}, {"bytes_hex", hexOf(bytes)}});
  return writeText(io, text + '\n');
}

}  // namespace

CommandRun setUpDetokenize(CLI::App& app) {
  const auto options = std::make_shared<DetokenizeOptions>();
  FlagSet flags(app);
  flags.positionals("IDS", options->ids, "token ids by space or comma, or - for standard input");
  addModelFlag(flags, options->model);
  flags.toggle("--json", options->isJson, "one JSON document: text, bytes_hex");
  return [options](CliIo& io) { return runDetokenize(io, *options); };
}

}  // namespace app::cli
