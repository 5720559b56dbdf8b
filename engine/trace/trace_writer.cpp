// The writing half of trace_file.h; the format is described in trace_format.h.
#include <cerrno>
#include <cstring>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "engine/base/overwrite.h"
#include "engine/trace/snapshot_codec.h"
#include "engine/trace/trace_fields.h"
#include "engine/trace/trace_file.h"
#include "engine/trace/trace_format.h"

namespace engine::trace {

namespace {

constexpr std::int64_t kKeyIntervalNs = 2'000'000'000;

// The message as the file knows it; nothing for those that a replay has no use for.
template <typename T>
constexpr bool kIsTraced = !std::is_same_v<T, LoadProgress> && !std::is_same_v<T, QueryAnswer>;

std::optional<TracedMessage> tracedOf(const EngineMessage& message) {
  return std::visit(
      [](const auto& m) -> std::optional<TracedMessage> {
        if constexpr (kIsTraced<std::decay_t<decltype(m)>>) return TracedMessage(m);
        return std::nullopt;
      },
      message);
}

}  // namespace

Result<std::unique_ptr<TraceWriter>> TraceWriter::create(const std::string& path) {
  TRY_VOID(checkOverwrite(path, kTraceSignature, "a recording"));
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) {
    return Error{ErrorCode::InvalidArgument, fmt::format("the trace file {} cannot be written: {}",
                                                         path, std::strerror(errno))};
  }
  std::unique_ptr<TraceWriter> writer(new TraceWriter(file, path));
  std::string start(kTraceSignature);
  appendWord(start, kTraceVersion);
  writer->writeBytes(start);
  TRY_VOID(writer->flush());
  return writer;
}

TraceWriter::TraceWriter(std::FILE* file, std::string path)
    : m_file(file), m_path(std::move(path)) {}

TraceWriter::~TraceWriter() {
  (void)close();
}

Result<void> TraceWriter::close() {
  if (m_file == nullptr) return {};
  m_payload.clear();
  writeRecord(kEndRecord);
  const Result<void> flushed = flush();
  std::fclose(std::exchange(m_file, nullptr));
  return flushed;
}

void TraceWriter::writeHeader(const TraceHeader& header) {
  m_payload.clear();
  ByteWriter{m_payload}(header);
  writeRecord(kHeaderRecord);
}

void TraceWriter::writeOpening(std::int64_t timeNs, const RequestOpening& opening) {
  m_payload.clear();
  ByteWriter{m_payload}(timeNs, opening);
  writeRecord(kOpeningRecord);
}

void TraceWriter::writeEvents(std::int64_t timeNs, std::span<const TraceEvent> events) {
  if (events.empty()) return;
  m_payload.clear();
  ByteWriter a(m_payload);
  a.time(timeNs);
  a(events.size());
  for (const TraceEvent& event : events) a(event);
  writeRecord(kEventsRecord);
}

void TraceWriter::writeMessages(std::int64_t timeNs, std::span<const EngineMessage> messages) {
  std::vector<TracedMessage> traced;
  for (const EngineMessage& message : messages) {
    if (auto m = tracedOf(message)) traced.push_back(std::move(*m));
  }
  if (traced.empty()) return;
  m_payload.clear();
  ByteWriter{m_payload}(timeNs, traced);
  writeRecord(kMessagesRecord);
}

void TraceWriter::writeSnapshot(std::shared_ptr<const EngineSnapshot> snapshot) {
  const bool isKey = !m_lastSnapshot || m_lastSnapshot->blocks.size() != snapshot->blocks.size() ||
                     snapshot->timeNs - m_lastKeyNs >= kKeyIntervalNs;
  m_payload.clear();
  encodeSnapshot(*snapshot, isKey ? nullptr : m_lastSnapshot.get(), m_payload);
  writeRecord(isKey ? kKeyFrameRecord : kFrameRecord);
  if (isKey) m_lastKeyNs = snapshot->timeNs;
  m_lastSnapshot = std::move(snapshot);
}

void TraceWriter::writeLoss(std::int64_t timeNs, std::uint64_t count) {
  m_payload.clear();
  ByteWriter{m_payload}(timeNs, count);
  writeRecord(kLossRecord);
}

void TraceWriter::writeRecord(int kind) {
  std::string head;
  appendWord(head, static_cast<std::uint32_t>(m_payload.size()));
  appendWord(head, recordChecksum(static_cast<std::uint8_t>(kind), m_payload));
  head.push_back(static_cast<char>(kind));
  writeBytes(head);
  writeBytes(m_payload);
}

void TraceWriter::writeBytes(std::string_view bytes) {
  if (m_file == nullptr || m_failure != 0) return;
  if (std::fwrite(bytes.data(), 1, bytes.size(), m_file) != bytes.size()) noteFailure();
  m_numBytes += bytes.size();
}

void TraceWriter::noteFailure() {
  m_failure = errno != 0 ? errno : EIO;
}

Result<void> TraceWriter::flush() {
  if (m_file != nullptr && m_failure == 0 && std::fflush(m_file) != 0) noteFailure();
  if (m_failure == 0) return {};
  return Error{ErrorCode::Internal, fmt::format("the trace file {} cannot be written any further: "
                                                "{}; the recording ends there",
                                                m_path, std::strerror(m_failure))};
}

}  // namespace engine::trace
