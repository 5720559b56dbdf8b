// A request's prompt to token ids, with every reason to turn it down said in one sentence.
#pragma once

#include <functional>
#include <vector>

#include "engine/api/request.h"
#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "engine/service/loaded_model.h"

namespace engine::service {

// InvalidArgument: text that is not UTF-8, ids outside the vocabulary, a conversation without
// messages, a prompt of no tokens. Unsupported: a conversation for a model without a template.
Result<std::vector<TokenId>> encodePrompt(const RequestSpec& spec, const LoadedModel& model);

// The conversation as it would be submitted.
Result<std::vector<TokenId>> encodeConversation(const ChatPrompt& prompt, const LoadedModel& model);

// What `encode` gives; what it throws becomes an Error, as one text must not stop the engine.
Result<std::vector<TokenId>> tryEncoding(
    const std::function<Result<std::vector<TokenId>>()>& encode);

// Values that no model can serve.
Result<void> checkRequest(const RequestSpec& spec, std::int64_t vocabSize);

// The one sentence for a prompt that leaves its context no room to answer.
std::string promptTooLongSentence(std::int64_t promptTokens, std::int64_t maxContext);

}  // namespace engine::service
