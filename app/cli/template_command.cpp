#include <memory>
#include <string>

#include "app/cli/chat_prompt.h"
#include "app/cli/commands.h"
#include "app/cli/flag_set.h"
#include "app/cli/model_choice.h"

namespace app::cli {

namespace {

using engine::Result;
using engine::text::SpecialTokens;
using engine::text::Tokenizer;

struct TemplateOptions {
  ModelChoice model;
  std::string templatePath;
  std::string conversation;
  bool isJson = false;

  // A template file alone needs no model.
  bool usesModel() const { return templatePath.empty() || !model.given.empty(); }
};

Result<Json> renderDocument(CliIo& io, const TemplateOptions& options) {
  std::unique_ptr<Tokenizer> tokenizer;
  if (options.usesModel()) tokenizer = TRY(openTokenizer(options.model));
  const engine::text::Vocabulary* vocabulary = tokenizer ? &tokenizer->vocabulary() : nullptr;
  const std::string templateText = TRY(chooseTemplate(options.templatePath, vocabulary));
  const std::string conversation = TRY(readFileArgument(io, options.conversation));
  const auto text = TRY(renderConversation(templateText, conversation, vocabulary));
  Json document = {{"text", plainText(text)}};
  if (tokenizer) document["ids"] = TRY(tokenizer->encode(text, SpecialTokens::AddAndMatch));
  return document;
}

int runTemplate(CliIo& io, const TemplateOptions& options) {
  const auto document = renderDocument(io, options);
  if (!document) return fail(io, document.error());
  if (options.isJson) return writeJson(io, *document);
  return writeText(io, (*document)["text"].get<std::string>());
}

}  // namespace

CommandRun setUpTemplate(CLI::App& app) {
  const auto options = std::make_shared<TemplateOptions>();
  FlagSet flags(app);
  flags.positional("CONVERSATION", options->conversation,
                   "a JSON file {messages, tools, add_generation_prompt, bos_token, eos_token, "
                   "now}, or - for standard input");
  flags.text("--file", options->templatePath, "a template file in place of the model's own");
  addModelFlag(flags, options->model);
  flags.toggle("--json", options->isJson, "one JSON document: text, and ids where a model is used");
  return [options](CliIo& io) { return runTemplate(io, *options); };
}

}  // namespace app::cli
