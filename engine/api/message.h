// What the engine tells a front end without loss: text, ends of requests, load progress, answers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "engine/api/request.h"
#include "engine/api/snapshot.h"
#include "engine/base/ids.h"
#include "engine/base/result.h"

namespace engine {

// Whole characters only; what could still become a stop string is held back.
struct TextDelta {
  RequestId request;
  std::string text;  // may be empty when a token added none yet
  std::vector<SampledToken> tokens;
  std::int64_t timeNs = -1;  // when the step that sampled them ended; engine clock
  int choice = 0;            // which of the request's answers; of ranked ones, the rank
};

struct RequestStarted {  // tokenised and accepted
  RequestId request;
  std::vector<TokenId> promptIds;
};

// How one of several answers to a request ended.
struct ChoiceEnd {
  FinishReason reason = FinishReason::None;
  std::int64_t completionTokens = 0;
  double cumulativeLogprob = 0;  // sum over its tokens, natural
  double score = 0;              // what it was ranked by: that sum, for beams with the length penalty
};

struct RequestFinished {
  RequestId request;
  // Of several answers: that of the first, unless the request was cancelled or failed.
  FinishReason reason = FinishReason::None;
  std::string explanation;  // one sentence for Refused, Failed and a full context; else empty
  ErrorCode errorCode = ErrorCode::Internal;  // meaningful for Refused and Failed
  Usage usage;  // the prompt once; completion tokens of all answers told
  RequestTimes times;
  int preemptions = 0;              // of all its sequences
  std::vector<ChoiceEnd> choices;  // by TextDelta::choice; empty when one answer was asked for
};

struct LoadProgress {
  std::string stage;  // "reading", "packing", ...
  double fraction = 0;            // of the stage
  std::int64_t totalBytes = 0;    // of the model's files; 0 until they are known
};
// When it comes, the latest snapshot has shown this model. ModelUnloaded: it shows none of it any more.
struct ModelLoaded {
  std::shared_ptr<const ModelInfo> info;
};
struct ModelUnloaded {};
struct LoadFailed {
  std::string path;
  Error error;
};

struct MemoryItem {
  std::string name;  // "weights", "KV pool", "activations", ...
  std::int64_t bytes = 0;
  std::string note;  // how it comes about: "1,536 blocks of 16 tokens, bf16"
};
struct MemoryEstimate {
  std::vector<MemoryItem> items;
  std::int64_t totalBytes = 0;
  std::int64_t freeBytes = 0;  // on this machine now
  std::int64_t kvCapacityTokens = 0;
};
struct QueryAnswer {
  QueryId id;
  std::variant<std::vector<TokenId>, MemoryEstimate, Error> answer;
};

enum class Severity : std::uint8_t { Info, Warning, Failure };
struct Notice {
  Severity severity = Severity::Info;
  std::string text;
};

using EngineMessage = std::variant<TextDelta, RequestStarted, RequestFinished, LoadProgress,
                                   ModelLoaded, ModelUnloaded, LoadFailed, QueryAnswer, Notice>;

}  // namespace engine
