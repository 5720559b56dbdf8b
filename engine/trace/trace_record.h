// What a trace file holds, as plain values.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/api/engine_config.h"
#include "engine/api/message.h"
#include "engine/api/snapshot.h"
#include "engine/api/trace_event.h"
#include "engine/base/ids.h"

namespace engine::trace {

inline constexpr std::uint32_t kTraceVersion = 4;
// 3 lacks IterationRecord::busyShare, which is then 0.
inline constexpr std::uint32_t kOldestTraceVersion = 3;

// The first record of a file.
struct TraceHeader {
  std::string program;       // what recorded it: "tessera-cli 0.1.0"
  std::int64_t startNs = 0;  // engine clock
  EngineConfig config;
  std::shared_ptr<const ModelInfo> model;  // null when none was loaded yet
};

// What was asked, as the front end stated it.
struct RequestOpening {
  RequestId request;
  std::string label;
  std::string prompt;  // raw text or the conversation's JSON; empty for token ids
  bool isConversation = false;
  std::int64_t maxTokens = 0;
  std::uint64_t seed = 0;
  int priority = 0;
};

// Something with the time at which a replay shows it; engine clock.
template <typename T>
struct Timed {
  std::int64_t timeNs = 0;
  T value;
};

// Where a snapshot lies in the file's bytes. A key frame stands alone; others are told apart from
// the one before.
struct StoredSnapshot {
  std::size_t offset = 0, size = 0;
  bool isKey = false;
};

}  // namespace engine::trace
