// A request's prompt to token ids, with every reason to turn it down said in one sentence.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/api/request.h"
#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "engine/service/loaded_model.h"

namespace engine::service {

using Prompt = decltype(RequestSpec::prompt);

// InvalidArgument: text that is not UTF-8, ids outside the vocabulary, a conversation without
// messages, a prompt of no tokens. Unsupported: a conversation for a model without a template.
Result<std::vector<TokenId>> encodePrompt(const RequestSpec& spec, const LoadedModel& model);

// As it would be submitted, but that no tokens are a result too.
Result<std::vector<TokenId>> encodeAny(const Prompt& prompt, const LoadedModel& model);

// Whether turning it into tokens takes so long that steps which wait for it would be late: from half
// a millisecond.
bool isLong(const Prompt& prompt);

// As much of the model as texts and conversations need, for another thread: no executor.
LoadedModel textPart(const LoadedModel& model);

// What `encode` gives; what it throws becomes an Error, as one text must not stop the engine.
Result<std::vector<TokenId>> tryEncoding(
    const std::function<Result<std::vector<TokenId>>()>& encode);

// Values that no model can serve.
Result<void> checkRequest(const RequestSpec& spec, std::int64_t vocabSize);

// The one sentence for a prompt that leaves its context no room to answer.
std::string promptTooLongSentence(std::int64_t promptTokens, std::int64_t maxContext);

}  // namespace engine::service
