// The reading half of trace_file.h.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "engine/base/check.h"
#include "engine/trace/event_times.h"
#include "engine/trace/snapshot_codec.h"
#include "engine/trace/trace_fields.h"
#include "engine/trace/trace_file.h"
#include "engine/trace/trace_format.h"

namespace engine::trace {

namespace {

constexpr std::int64_t kMaxTimeNs = std::int64_t{1} << 60;  // 36 years

// Reads record after record into a Trace; a record that is not whole or not ours ends it.
class TraceParser {
 public:
  explicit TraceParser(Trace& trace) : m_trace(trace), m_bytes(trace.bytes) {}

  void parse() {
    readRecords();
    settleTimes(m_trace.events);
  }

 private:
  void readRecords() {
    while (m_at < m_bytes.size() && !m_hasEnded) {
      const std::size_t left = m_bytes.size() - m_at;
      const std::size_t size = left >= kRecordHeadBytes ? wordAt(m_bytes, m_at) : 0;
      if (left < kRecordHeadBytes || size > left - kRecordHeadBytes) return stop("is cut off");
      const auto kind = static_cast<std::uint8_t>(m_bytes[m_at + 8]);
      const std::string_view payload = m_bytes.substr(m_at + kRecordHeadBytes, size);
      const bool isSound = recordChecksum(kind, payload) == wordAt(m_bytes, m_at + 4);
      if (!isSound || !take(kind, payload)) return stop("is damaged");
      m_at += kRecordHeadBytes + size;
    }
    if (!m_hasEnded) stop("was not closed");
  }

  void stop(const char* what) {
    m_trace.cutSentence = fmt::format("the recording {} at byte {} of {}; it is shown up to there",
                                      what, m_at, m_bytes.size());
  }

  bool take(std::uint8_t kind, std::string_view payload) {
    if ((kind == kHeaderRecord) == m_hasHeader) return false;  // first, and once
    ByteReader a(payload, m_trace.version);
    switch (kind) {
      case kHeaderRecord:
        a(m_trace.header);
        m_hasHeader = true;
        return a.isAtEnd();
      case kEventsRecord:
        return takeEvents(a);
      case kMessagesRecord:
        return takeMessages(a);
      case kKeyFrameRecord:
      case kFrameRecord:
        return takeSnapshot(payload, kind == kKeyFrameRecord);
      case kOpeningRecord:
        return takeTimed(a, m_trace.openings);
      case kLossRecord:
        return takeTimed(a, m_trace.losses);
      case kEndRecord:
        m_hasEnded = true;
        return payload.empty();
      default:
        return false;
    }
  }

  template <typename T>
  bool takeTimed(ByteReader& a, std::vector<Timed<T>>& list) {
    Timed<T> item;
    a(item.timeNs, item.value);
    return a.isAtEnd() && append(list, std::move(item));
  }

  // False for a time that no clock shows; differences of others cannot overflow.
  static bool isKnownTime(std::int64_t ns) { return ns >= -kMaxTimeNs && ns <= kMaxTimeNs; }

  template <typename T>
  static bool append(std::vector<Timed<T>>& list, Timed<T> item) {
    if (!isKnownTime(item.timeNs)) return false;
    if (!list.empty()) item.timeNs = std::max(item.timeNs, list.back().timeNs);
    list.push_back(std::move(item));
    return true;
  }

  bool takeEvents(ByteReader& a) {
    std::int64_t takenNs = 0;
    a.time(takenNs);
    std::vector<TraceEvent> events;
    a(events);
    if (!a.isAtEnd()) return false;
    return std::ranges::all_of(events, [&](const TraceEvent& event) {
      const auto own = ownTime(event);
      return (!own || isKnownTime(*own)) && append(m_trace.events, {takenNs, event});
    });
  }

  bool takeMessages(ByteReader& a) {
    std::int64_t takenNs = 0;
    std::vector<TracedMessage> traced;
    a(takenNs, traced);
    if (!a.isAtEnd()) return false;
    std::vector<EngineMessage> messages;
    for (TracedMessage& message : traced) {
      std::visit([&](auto& m) { messages.emplace_back(std::move(m)); }, message);
    }
    const std::vector<std::int64_t> times = showTimes(messages, takenNs);
    for (std::size_t i = 0; i < messages.size(); ++i) {
      if (!append(m_trace.messages, {times[i], std::move(messages[i])})) return false;
    }
    return true;
  }

  bool takeSnapshot(std::string_view payload, bool isKey) {
    if (!isKey && !m_lastSnapshot) return false;
    auto snapshot = decodeSnapshot(payload, isKey ? nullptr : &*m_lastSnapshot);
    if (!snapshot) return false;
    const auto offset = static_cast<std::size_t>(payload.data() - m_bytes.data());
    const StoredSnapshot stored{offset, payload.size(), isKey};
    if (!append(m_trace.snapshots, {snapshot->timeNs, stored})) return false;
    m_lastSnapshot = std::move(snapshot);
    return true;
  }

  Trace& m_trace;
  const std::string_view m_bytes;
  std::size_t m_at = kStartBytes;
  std::optional<EngineSnapshot> m_lastSnapshot;
  bool m_hasHeader = false, m_hasEnded = false;
};

Result<std::string> readAll(const std::string& path) {
  std::error_code error;
  if (path.empty()) return Error{ErrorCode::InvalidArgument, "the trace file's path is empty"};
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error)) {
    return Error{ErrorCode::InvalidArgument, fmt::format("{} is not a regular file", path)};
  }
  if (!std::filesystem::is_regular_file(path, error)) {
    return Error{ErrorCode::NotFound, fmt::format("there is no file {}", path)};
  }
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) {
    return Error{ErrorCode::InvalidArgument, fmt::format("{} cannot be read", path)};
  }
  return bytes;
}

template <typename T>
void widen(const std::vector<Timed<T>>& list, std::int64_t& beginNs, std::int64_t& endNs) {
  if (list.empty()) return;
  beginNs = std::min(beginNs, list.front().timeNs);
  endNs = std::max(endNs, list.back().timeNs);
}

std::pair<std::int64_t, std::int64_t> spanOf(const Trace& trace) {
  constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
  std::int64_t beginNs = kFar, endNs = -kFar;
  widen(trace.events, beginNs, endNs);
  widen(trace.messages, beginNs, endNs);
  widen(trace.openings, beginNs, endNs);
  widen(trace.snapshots, beginNs, endNs);
  if (beginNs > endNs) return {trace.header.startNs, trace.header.startNs};
  return {beginNs, endNs};
}

}  // namespace

bool isTraceFile(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  std::ifstream file(path, std::ios::binary);
  std::string start(kTraceSignature.size(), '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  return file && start == kTraceSignature;
}

std::int64_t Trace::beginNs() const {
  return spanOf(*this).first;
}

std::int64_t Trace::endNs() const {
  return spanOf(*this).second;
}

EngineSnapshot Trace::snapshotAt(std::size_t index) const {
  CHECK(index < snapshots.size());
  std::size_t key = index;
  while (!snapshots[key].value.isKey) --key;  // the first is one
  EngineSnapshot snapshot = snapshotAfter({}, key);
  while (key < index) snapshot = snapshotAfter(snapshot, ++key);
  return snapshot;
}

EngineSnapshot Trace::snapshotAfter(const EngineSnapshot& base, std::size_t index) const {
  const StoredSnapshot& stored = snapshots[index].value;
  auto snapshot = decodeSnapshot(std::string_view(bytes).substr(stored.offset, stored.size),
                                 stored.isKey ? nullptr : &base);
  CHECK(snapshot.has_value());  // it did while reading
  return std::move(*snapshot);
}

Result<Trace> readTrace(const std::string& path) {
  return parseTrace(TRY(readAll(path)), path);
}

Result<Trace> parseTrace(std::string bytes, const std::string& name) {
  Trace trace;
  trace.bytes = std::move(bytes);
  if (trace.bytes.size() < kStartBytes || !trace.bytes.starts_with(kTraceSignature)) {
    return Error{ErrorCode::CorruptFile, fmt::format("{} is not a trace file", name)};
  }
  trace.version = wordAt(trace.bytes, kTraceSignature.size());
  if (trace.version < kOldestTraceVersion || trace.version > kTraceVersion) {
    return Error{ErrorCode::Unsupported,
                 fmt::format("{} is a trace of version {}; this program reads versions {} to {}",
                             name, trace.version, kOldestTraceVersion, kTraceVersion)};
  }
  TraceParser(trace).parse();
  return trace;
}

}  // namespace engine::trace
