// One request as a front end states it, and how it ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/api/sampling_params.h"
#include "engine/base/ids.h"

namespace engine {

// Raw text: control tokens in it are matched, BOS/EOS added as the file says.
struct TextPrompt {
  std::string text;  // UTF-8, byte for byte
};

// A conversation for the model's chat template: the JSON document
// {"messages":[{"role","content"}], "tools":[...], "add_generation_prompt":true, ...}, key order kept.
// Text inside it never becomes a control token.
struct ChatPrompt {
  std::string conversationJson;
  std::string templateText;  // empty = the model's own
};

struct TokenPrompt {
  std::vector<TokenId> ids;
};

struct SloTarget {
  std::optional<double> ttftMs;
  std::optional<double> tpotMs;
};

struct RequestSpec {
  RequestId id;            // chosen by the front end, unique for the life of the handle
  std::string label;       // what views call it: "chat 2", "user 14"
  std::variant<TextPrompt, ChatPrompt, TokenPrompt> prompt;
  SamplingParams sampling;
  int priority = 0;        // lower goes first
  SloTarget slo;
  std::string cacheNamespace;  // requests share prefix blocks only within one namespace
  bool wantRowHashes = false;  // xxh64 of every sampled logits row, in SampledToken::rowHash
};

enum class FinishReason : std::uint8_t { None, Stop, Length, Cancelled, Refused, Failed };

struct Usage {
  std::int64_t promptTokens = 0;
  std::int64_t completionTokens = 0;
  std::int64_t cachedTokens = 0;  // prompt tokens not computed again
};

// Nanoseconds of the engine's clock; -1 = did not happen.
struct RequestTimes {
  std::int64_t arrivalNs = -1;
  std::int64_t tokenisedNs = -1;
  std::int64_t admittedNs = -1;
  std::int64_t prefilledNs = -1;
  std::int64_t firstTokenNs = -1;
  std::int64_t lastTokenNs = -1;
  std::int64_t finishedNs = -1;
};

struct TokenLogprob {
  TokenId id = -1;
  float logprob = 0.0f;  // raw log-softmax, natural
};

// One sampled token with what was asked to be known about it.
struct SampledToken {
  TokenId id = -1;
  float logprob = 0.0f;
  std::uint64_t rowHash = 0;  // xxh64 of the float32 logits row; 0 unless row hashes are on
  std::vector<TokenLogprob> top;
};

// Names used by the command line and the views: "stop", "length", ...
const char* finishReasonName(FinishReason reason);

}  // namespace engine
