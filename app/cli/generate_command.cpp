#include <algorithm>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "app/cli/answer_json.h"
#include "app/cli/chat_prompt.h"
#include "app/cli/commands.h"
#include "app/cli/engine_flags.h"
#include "app/cli/engine_session.h"
#include "app/cli/flag_set.h"
#include "app/cli/interrupt.h"
#include "app/cli/model_choice.h"
#include "engine/text/utf8.h"

namespace app::cli {

namespace {

using namespace engine;

struct GenerateOptions {
  ModelChoice model;
  EngineConfig config;
  SamplingFlags sampling;
  std::optional<std::string> prompt, chat, system;
  std::string templatePath;
  std::string tracePath;
  bool isJson = false;
};

std::optional<std::string> usageError(const GenerateOptions& options) {
  if (options.prompt.has_value() == options.chat.has_value()) {
    return "generate takes either --prompt or --chat";
  }
  if (!options.chat && options.system) return "--system needs --chat";
  if (!options.chat && !options.templatePath.empty()) return "--template needs --chat";
  const SamplingParams& params = options.sampling.params;
  if (params.topLogprobs > 0 && !options.isJson) {
    return "--logprobs needs --json: plain text has no place for them";
  }
  if (params.beamWidth > 0 && options.config.limits.speculation != SpeculationKind::Off) {
    return "--beam-width needs --speculate off: beams are not drafted";
  }
  if (const auto wrong = engineFlagsError(options.config)) return wrong;
  return samplingFlagsError(params, /*vocabSize=*/0);
}

Result<void> checkUtf8(const char* flag, const std::string& text) {
  const auto at = engine::text::findInvalidUtf8(text);
  if (!at) return {};
  return Error{ErrorCode::InvalidArgument, fmt::format("{} is not UTF-8 at byte {}", flag, *at)};
}

Result<ChatPrompt> chatPromptOf(const GenerateOptions& options) {
  Json messages = Json::array();
  if (options.system) {
    TRY_VOID(checkUtf8("--system", *options.system));
    messages.push_back({{"role", "system"}, {"content", *options.system}});
  }
  TRY_VOID(checkUtf8("--chat", *options.chat));
  messages.push_back({{"role", "user"}, {"content", *options.chat}});
  Json conversation;
  conversation["messages"] = std::move(messages);
  ChatPrompt prompt;
  prompt.conversationJson = conversation.dump();
  // the engine would make do with a format of its own; here only what the file says counts
  const engine::text::Vocabulary vocabulary = TRY(openVocabulary(options.model));
  prompt.templateText = TRY(chooseTemplate(options.templatePath, &vocabulary));
  return prompt;
}

Result<RequestSpec> requestOf(CliIo& io, const GenerateOptions& options) {
  RequestSpec spec;
  for (const std::string& stop : options.sampling.params.stop) {
    TRY_VOID(checkUtf8("--stop", stop));  // it could never be met
  }
  if (options.prompt) {
    spec.prompt = TextPrompt{TRY(readTextArgument(io, *options.prompt))};
  } else {
    spec.prompt = TRY(chatPromptOf(options));
  }
  spec.label = "generate";
  spec.sampling = options.sampling.params;
  spec.priority = options.sampling.priority;
  return spec;
}

// Tokens a second over a span of the engine's clock; null when the span did not happen.
Json rateJson(std::int64_t tokens, std::int64_t fromNs, std::int64_t toNs) {
  if (tokens <= 0 || fromNs < 0 || toNs <= fromNs) return {};
  return static_cast<double>(tokens) * 1e9 / static_cast<double>(toNs - fromNs);
}

// A request that never ran (cancelled while the model was loading) has none of these.
Json timingsJson(const Answer& answer, const ModelInfo* model) {
  const RequestFinished ended = answer.finished.value_or(RequestFinished{});
  const RequestTimes& times = ended.times;
  const std::int64_t computed = ended.usage.promptTokens - ended.usage.cachedTokens;
  const auto numTokens = static_cast<std::int64_t>(answer.tokens.size());
  return {{"load_ms", model ? Json(model->loadMs) : Json()},
          {"ttft_ms", ttftJson(answer)},
          {"prefill_tps", rateJson(computed, times.admittedNs, times.prefilledNs)},
          {"decode_tps", rateJson(numTokens - 1, times.firstTokenNs, times.lastTokenNs)}};
}

Json usageJson(const Usage& usage) {
  return {{"prompt_tokens", usage.promptTokens},
          {"completion_tokens", usage.completionTokens},
          {"total_tokens", usage.promptTokens + usage.completionTokens},
          {"cached_tokens", usage.cachedTokens}};
}

// `last` is null when no model came.
Json documentOf(const Answer& answer, const GenerateOptions& options, const EngineSnapshot* last) {
  Json document = {{"text", answer.text},
                   {"ids", sampledIdsJson(answer)},
                   {"prompt_ids", answer.promptIds},
                   {"logprobs", logprobsJson(answer)}};
  if (options.sampling.params.topLogprobs > 0) document["top_logprobs"] = topLogprobsJson(answer);
  if (options.sampling.hasChoices()) {
    document["choices"] =
        choicesJson(answer, options.sampling.params.topLogprobs > 0, /*wantsHashes=*/false);
  }
  document["finish_reason"] = finishReasonName(answer.reason());
  if (answer.reason() == FinishReason::Cancelled) document["cancelled"] = true;
  document["usage"] = usageJson(answer.finished ? answer.finished->usage : Usage{});
  document["timings"] = timingsJson(answer, last ? last->model.get() : nullptr);
  document["speculation"] = speculationJson(last);
  return document;
}

// Several answers for a person: one after another, each under its number.
std::string choicesText(const Answer& answer) {
  std::string text;
  for (std::size_t i = 0; i < answer.numChoices(); ++i) {
    const std::string& own = answer.choice(i).text;
    text += fmt::format("--- {} of {}\n{}{}", i + 1, answer.numChoices(), own,
                        own.empty() || own.back() != '\n' ? "\n" : "");
  }
  return text;
}

int writeAnswer(CliIo& io,
                const Answer& answer,
                const GenerateOptions& options,
                const EngineSnapshot* last) {
  const bool endsLine = io.isTerminal && !answer.text.empty() && answer.text.back() != '\n';
  const std::string rest = answer.others.empty() && !options.sampling.isSeveral()
                               ? (endsLine ? "\n" : "")
                               : choicesText(answer);
  const int code = options.isJson ? writeJson(io, documentOf(answer, options, last))
                                  : writeText(io, rest);
  if (code != kSuccess) return code;
  return answer.reason() == FinishReason::Cancelled ? kInterrupted : kSuccess;
}

int runGenerate(CliIo& io, const GenerateOptions& options) {
  if (const auto wrong = usageError(options)) return failUsage(io, *wrong);
  if (const auto found = checkModelExists(options.model); !found) return fail(io, found.error());
  auto spec = requestOf(io, options);
  if (!spec) return fail(io, spec.error());
  const ScopedInterrupt interrupt(io.cancel);
  EngineConfig config = options.config;
  config.load.modelPath = options.model.path();
  const auto session = EngineSession::open(config, io.cancel, options.tracePath);
  if (!session) {
    if (session.error().code != ErrorCode::Cancelled) return fail(io, session.error());
    return writeAnswer(io, Answer{}, options, nullptr);
  }
  EngineSession& engine = **session;
  if (const auto wrong = samplingFlagsError(options.sampling.params, engine.model().vocabSize)) {
    return failUsage(io, *wrong);
  }
  if (!options.isJson && !options.sampling.isSeveral()) {
    engine.onText([&io, &engine](RequestId, std::string_view text) {
      io.out << text << std::flush;
      if (!io.out) engine.cancelAll();  // nobody reads the rest
    });
  }
  const RequestId id = engine.submit(std::move(*spec));
  engine.waitForAll();
  const Answer& answer = engine.answer(id);
  if (answer.reason() == FinishReason::Refused) return fail(io, answer.finished->explanation);
  for (const std::string& notice : engine.notices()) warn(io, notice);
  if (answer.reason() == FinishReason::Failed) return fail(io, answer.finished->explanation);
  if (!answer.finished->explanation.empty()) warn(io, answer.finished->explanation);
  return writeAnswer(io, answer, options, engine.restingSnapshot().get());
}

void addPromptFlags(FlagSet& flags, GenerateOptions& options) {
  const auto keep = [&flags](const char* flag, std::optional<std::string>& target,
                             const char* help) {
    flags.custom(flag, help, [&target](const std::string& value) {
      target = value;
      return true;
    });
  };
  keep("--prompt", options.prompt, "raw text, or - for standard input, byte for byte");
  keep("--chat", options.chat, "a user's message for the model's chat template");
  keep("--system", options.system, "a system message before --chat");
  flags.text("--template", options.templatePath, "a template file in place of the model's own");
}

}  // namespace

CommandRun setUpGenerate(CLI::App& app) {
  const auto options = std::make_shared<GenerateOptions>();
  FlagSet flags(app);
  addPromptFlags(flags, *options);
  addModelFlag(flags, options->model);
  addEngineFlags(flags, options->config);
  addTraceFlag(flags, options->tracePath);
  addSamplingFlags(flags, options->sampling);
  flags.whole("--logprobs", options->sampling.params.topLogprobs, 0, kMaxTopLogprobs,
              "how many likeliest tokens to add");
  flags.toggle("--json", options->isJson,
               "one JSON document: text, ids, prompt_ids, logprobs, finish_reason, usage, timings");
  return [options](CliIo& io) { return runGenerate(io, *options); };
}

}  // namespace app::cli
