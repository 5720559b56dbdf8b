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
};

struct RequestStarted {  // tokenised and accepted
  RequestId request;
  std::vector<TokenId> promptIds;
};

struct RequestFinished {
  RequestId request;
  FinishReason reason = FinishReason::None;
  std::string explanation;  // one sentence for Refused, Failed and a full context; else empty
  ErrorCode errorCode = ErrorCode::Internal;  // meaningful for Refused and Failed
  Usage usage;
  RequestTimes times;
  int preemptions = 0;
};

struct LoadProgress {
  std::string stage;  // "reading", "packing", ...
  double fraction = 0;
};
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
