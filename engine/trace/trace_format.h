// The bytes of a trace file, version 4, little-endian:
//   "TSRATRCE", u32 version, then records to the end of the file:
//   u32 payload bytes, u32 checksum (low half of the payload's XXH64, the kind as its seed), u8
//   kind, payload.
// Payloads are varint-coded (byte_archive.h) in the order of trace_fields.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "engine/api/message.h"

namespace engine::trace {

inline constexpr std::size_t kStartBytes = 12;  // signature and version
inline constexpr std::size_t kRecordHeadBytes = 9;

enum RecordKind : std::uint8_t {
  kHeaderRecord = 1,    // TraceHeader
  kEventsRecord = 2,    // time, events; times in them as distances
  kMessagesRecord = 3,  // time, messages
  kKeyFrameRecord = 4,  // EngineSnapshot
  kFrameRecord = 5,     // what changed since the last frame of either kind
  kOpeningRecord = 6,   // time, RequestOpening
  kLossRecord = 7,      // time, number of events
  kEndRecord = 8,       // the recording was closed
};

// The messages a file holds; their numbers do not depend on EngineMessage.
using TracedMessage = std::variant<TextDelta,
                                   RequestStarted,
                                   RequestFinished,
                                   ModelLoaded,
                                   ModelUnloaded,
                                   LoadFailed,
                                   Notice>;

std::uint32_t recordChecksum(std::uint8_t kind, std::string_view payload);
void appendWord(std::string& out, std::uint32_t word);
// bytes must hold 4 at `at`.
std::uint32_t wordAt(std::string_view bytes, std::size_t at);

}  // namespace engine::trace
