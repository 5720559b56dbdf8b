#include "app/cli/model_choice.h"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "engine/model/gguf_weight_source.h"
#include "engine/model/safe_text.h"

namespace app::cli {

using engine::Error;
using engine::ErrorCode;
using engine::Result;

std::string defaultModelPath() {
  const char* dataHome = std::getenv("XDG_DATA_HOME");
  const char* home = std::getenv("HOME");
  // The base directory specification: unset, empty or relative means the default.
  const std::string data = dataHome && *dataHome == '/'
                               ? std::string(dataHome)
                               : std::string(home ? home : "") + "/.local/share";
  return data + "/tessera/models/SmolLM2-135M-Instruct.Q4_1.gguf";
}

void addModelFlag(FlagSet& flags, ModelChoice& choice) {
  flags.text("--model", choice.given, "path of a model file (default: the fetched one)");
}

Result<void> checkModelExists(const ModelChoice& choice) {
  std::error_code failure;
  if (!choice.given.empty() || std::filesystem::exists(choice.path(), failure)) return {};
  return Error{ErrorCode::NotFound,
               fmt::format("there is no default model at {}; run packaging/fetch-model or name one "
                           "with --model",
                           choice.path())};
}

Result<engine::text::Vocabulary> openVocabulary(const ModelChoice& choice) {
  TRY_VOID(checkModelExists(choice));
  return TRY(engine::model::GgufWeightSource::open(choice.path()))->vocabulary();
}

Result<std::unique_ptr<engine::text::Tokenizer>> openTokenizer(const ModelChoice& choice) {
  auto tokenizer = engine::text::createTokenizer(TRY(openVocabulary(choice)));
  if (tokenizer) return tokenizer;
  const Error& error = tokenizer.error();
  return engine::model::fileError(error.code, choice.path(), error.message);
}

}  // namespace app::cli
