#include "engine/service/prompt_encoder.h"

#include <exception>
#include <new>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/json_nesting.h"

namespace engine::service {

namespace {

constexpr std::size_t kLongBytes = 8192;

Error invalid(std::string message) {
  return {ErrorCode::InvalidArgument, std::move(message)};
}

Result<void> checkIds(const std::vector<TokenId>& ids, std::int64_t vocabSize) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= 0 && ids[i] < vocabSize) continue;
    return invalid(fmt::format("prompt token {} is id {}; the vocabulary has ids 0 to {}", i,
                               ids[i], vocabSize - 1));
  }
  return {};
}

// The template would render nothing, or free text, for these.
Result<void> checkConversation(const std::string& json) {
  if (const int depth = jsonNesting(json); depth > kMaxJsonNesting) {
    return invalid(fmt::format("the conversation nests {} levels deep; the limit is {}", depth,
                               kMaxJsonNesting));
  }
  const auto document = nlohmann::ordered_json::parse(json, nullptr, false);
  if (document.is_discarded()) return invalid("the conversation is not valid JSON");
  if (!document.is_object() || !document.contains("messages")) {
    return invalid("the conversation has no \"messages\"");
  }
  const auto& messages = document["messages"];
  if (!messages.is_array()) {
    return invalid(fmt::format("the conversation's \"messages\" must be a list; it is {} {}",
                               messages.is_object() ? "an" : "a",
                               messages.type_name()));
  }
  if (messages.empty()) {
    return invalid("the conversation's \"messages\" is empty; it needs at least 1 message");
  }
  return {};
}

Result<std::vector<TokenId>> encodeConversation(const ChatPrompt& prompt,
                                                const LoadedModel& model) {
  TRY_VOID(checkConversation(prompt.conversationJson));
  const text::OriginText rendered = TRY(model.renderChat(prompt));
  return model.tokenizer->encode(rendered, text::SpecialTokens::AddAndMatch);
}

}  // namespace

Result<std::vector<TokenId>> encodeAny(const Prompt& prompt, const LoadedModel& model) {
  if (const auto* text = std::get_if<TextPrompt>(&prompt)) {
    return model.tokenizer->encodeRaw(text->text, text::SpecialTokens::AddAndMatch);
  }
  if (const auto* chat = std::get_if<ChatPrompt>(&prompt)) return encodeConversation(*chat, model);
  const auto& ids = std::get<TokenPrompt>(prompt).ids;
  TRY_VOID(checkIds(ids, model.executor->vocabSize()));
  return ids;
}

Result<std::vector<TokenId>> encodePrompt(const RequestSpec& spec, const LoadedModel& model) {
  std::vector<TokenId> ids = TRY(encodeAny(spec.prompt, model));
  if (ids.empty()) {
    return invalid(
        "the prompt is empty and this model puts no token before it; it needs at least 1 token");
  }
  return ids;
}

bool isLong(const Prompt& prompt) {
  if (const auto* text = std::get_if<TextPrompt>(&prompt)) return text->text.size() >= kLongBytes;
  const auto* chat = std::get_if<ChatPrompt>(&prompt);
  return chat != nullptr && chat->conversationJson.size() >= kLongBytes;
}

LoadedModel textPart(const LoadedModel& model) {
  LoadedModel part;
  part.info = model.info;
  part.tokenizer = model.tokenizer;
  part.renderChat = model.renderChat;
  return part;
}

Result<std::vector<TokenId>> tryEncoding(
    const std::function<Result<std::vector<TokenId>>()>& encode) {
  try {
    return encode();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::OutOfMemory, "there is not enough memory to turn the text into tokens"};
  } catch (const std::exception& unforeseen) {
    return Error{ErrorCode::Internal,
                 fmt::format("the text cannot be turned into tokens: {}", unforeseen.what())};
  }
}

std::string promptTooLongSentence(std::int64_t promptTokens, std::int64_t maxContext) {
  return fmt::format("the prompt has {} {}; the context holds {}, and 1 must be left to answer",
                     promptTokens, promptTokens == 1 ? "token" : "tokens", maxContext);
}

Result<void> checkRequest(const RequestSpec& spec, std::int64_t vocabSize) {
  TRY_VOID(checkSamplingParams(spec.sampling, vocabSize));
  return {};
}

}  // namespace engine::service
