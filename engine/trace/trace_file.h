// The versioned file of a recorded run: a signature, then records of one length, one checksum and
// one payload each, so that a file cut anywhere is read up to its last whole record.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/trace/trace_record.h"

namespace engine::trace {

// Bytes of a file's beginning that tell a trace; enough for isTraceFile.
inline constexpr std::string_view kTraceSignature = "TSRATRCE";

// Whether a file begins as traces do. False when it cannot be read.
bool isTraceFile(const std::string& path);

// Appends records. One thread. What failed once stays failed and writes no more.
class TraceWriter {
 public:
  // Replaces a file of that name. InvalidArgument when it cannot be written.
  static Result<std::unique_ptr<TraceWriter>> create(const std::string& path);
  // Writes the end record: the mark of a whole recording.
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  // Once, before all others.
  void writeHeader(const TraceHeader& header);
  void writeOpening(std::int64_t timeNs, const RequestOpening& opening);
  // timeNs: when they were taken from the engine; each shows at its own time if it has one.
  void writeEvents(std::int64_t timeNs, std::span<const TraceEvent> events);
  void writeMessages(std::int64_t timeNs, std::span<const EngineMessage> messages);
  // A key frame now and then, else what changed.
  void writeSnapshot(std::shared_ptr<const EngineSnapshot> snapshot);
  // Events that the ring had to drop since the last such record.
  void writeLoss(std::int64_t timeNs, std::uint64_t count);

  // Hands what was written to the system: it survives the program from here on.
  // One sentence with the system's reason once something could not be written.
  Result<void> flush();
  // The end of the recording: what is written from here on is lost.
  Result<void> close();

  std::uint64_t numBytes() const { return m_numBytes; }

 private:
  explicit TraceWriter(std::FILE* file, std::string path);
  void writeRecord(int kind);  // m_payload
  void writeBytes(std::string_view bytes);
  void noteFailure();

  std::FILE* m_file;
  std::string m_path;
  std::string m_payload;
  std::shared_ptr<const EngineSnapshot> m_lastSnapshot;
  std::int64_t m_lastKeyNs = 0;
  std::uint64_t m_numBytes = 0;
  int m_failure = 0;  // errno of the first write that failed
};

// A whole file in memory, decoded but for the snapshots.
struct Trace {
  std::uint32_t version = kTraceVersion;  // of the file
  TraceHeader header;
  // Times never go back within a list.
  std::vector<Timed<TraceEvent>> events;
  std::vector<Timed<EngineMessage>> messages;
  std::vector<Timed<RequestOpening>> openings;
  std::vector<Timed<StoredSnapshot>> snapshots;  // each decodes: tried while reading
  std::vector<Timed<std::uint64_t>> losses;
  std::string bytes;        // the file
  std::string cutSentence;  // why the recording ends early; empty for a whole one

  std::int64_t beginNs() const;
  std::int64_t endNs() const;
  // The snapshot at `index`, by way of the key frame before it.
  EngineSnapshot snapshotAt(std::size_t index) const;
  // The one after `base`, which is the snapshot at index - 1.
  EngineSnapshot snapshotAfter(const EngineSnapshot& base, std::size_t index) const;
};

// NotFound; CorruptFile for what is not a trace; Unsupported for a version before
// kOldestTraceVersion or after kTraceVersion. A file that is
// cut or damaged behind its signature is read up to there, and says so.
Result<Trace> readTrace(const std::string& path);
// The same from bytes in memory; `name` is for the sentences.
Result<Trace> parseTrace(std::string bytes, const std::string& name);

}  // namespace engine::trace
