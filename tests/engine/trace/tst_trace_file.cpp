// Trace files: what is written is read, cut and damaged and foreign files, and sizes that lie.
#include <QtTest>

#include "engine/trace/byte_archive.h"
#include "engine/trace/snapshot_codec.h"
#include "engine/trace/trace_file.h"
#include "engine/trace/trace_format.h"
#include "tests/support/recorded_run.h"

using namespace engine;
using namespace engine::trace;
using test_support::RecordedRun;

class TestTraceFile : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void everyEventComesBackAsItWas();
  void everyNumberComesBack();
  void theHeaderTellsConfigAndModel();
  void openingsTellLabelsAndPrompts();
  void snapshotsComeBackAsTheyWere();
  void changesAloneTellASnapshot();
  void aFileCutAnywhereIsReadUpToThere();
  void aDamagedByteEndsTheRecordingThere();
  void aForeignFileIsRefused();
  void aLaterVersionIsRefusedNamingBoth();
  void theVersionBeforeIsReadWithoutWhatItLacks();
  void sizesBeyondTheFileAreNotBelieved();
  void countsBeyondTheRecordAreNotBelieved();
  void aRecordingThatIsStillGoingOnCanBeRead();
  void aFileThatCannotBeWrittenIsNamed();

 private:
  std::string path(const char* name) const {
    return m_folder.filePath(QString::fromLatin1(name)).toStdString();
  }

  std::string write(const char* name, const std::string& bytes) const {
    QFile file(m_folder.filePath(QString::fromLatin1(name)));
    if (!file.open(QIODevice::WriteOnly)) return {};
    file.write(bytes.data(), static_cast<qint64>(bytes.size()));
    return file.fileName().toStdString();
  }

  QTemporaryDir m_folder;
  std::string m_path;
  Trace m_whole;
  std::vector<TraceEvent> m_events;  // as the front end saw them
};

namespace {

std::string bytesOf(const EngineSnapshot& snapshot) {
  std::string bytes;
  encodeSnapshot(snapshot, nullptr, bytes);
  return bytes;
}

// A record with a good checksum.
std::string recordOf(RecordKind kind, const std::string& payload) {
  std::string bytes;
  appendWord(bytes, static_cast<std::uint32_t>(payload.size()));
  appendWord(bytes, recordChecksum(kind, payload));
  bytes.push_back(static_cast<char>(kind));
  return bytes + payload;
}

}  // namespace

void TestTraceFile::initTestCase() {
  m_path = path("run.trace");
  {
    RecordedRun run(m_path);
    QVERIFY(run.play(/*kvBlocks=*/24));
    m_events = run.client.events;
  }
  auto trace = readTrace(m_path);
  QVERIFY2(trace.isOk(), trace ? "" : trace.error().message.c_str());
  m_whole = std::move(trace).value();
  QVERIFY2(m_whole.cutSentence.empty(), m_whole.cutSentence.c_str());
  QVERIFY(m_whole.snapshots.size() >= 2);
  QVERIFY(isTraceFile(m_path));
}

void TestTraceFile::everyEventComesBackAsItWas() {
  QVERIFY(m_events.size() > 300);
  QVERIFY(m_whole.events.size() >= m_events.size());  // the last look may have come too late for us
  std::map<TraceKind, int> kinds;
  for (std::size_t i = 0; i < m_events.size(); ++i) {
    const TraceEvent& was = m_events[i];
    const TraceEvent& is = m_whole.events[i].value;
    QVERIFY(was.kind == is.kind);
    ++kinds[was.kind];
    if (was.kind == TraceKind::Iteration) {
      QCOMPARE(is.iteration.id, was.iteration.id);
      QCOMPARE(is.iteration.t0Ns, was.iteration.t0Ns);
      QCOMPARE(is.iteration.t1Ns, was.iteration.t1Ns);
      QCOMPARE(is.iteration.modelNs, was.iteration.modelNs);
      QCOMPARE(is.iteration.freeBlocks, was.iteration.freeBlocks);
      QCOMPARE(is.iteration.flops, was.iteration.flops);
      QCOMPARE(is.iteration.busyShare, was.iteration.busyShare);
      QCOMPARE(is.iteration.busyShare, 10'000);  // the toy has one thread
      QVERIFY(is.iteration.limit == was.iteration.limit);
    } else if (was.kind == TraceKind::Token) {
      QCOMPARE(is.token.id, was.token.id);
      QCOMPARE(is.token.tNs, was.token.tNs);
      QCOMPARE(is.token.logprob, was.token.logprob);
    } else if (was.kind == TraceKind::Block) {
      QCOMPARE(is.block.hash, was.block.hash);
      QCOMPARE(is.block.block, was.block.block);
      QVERIFY(is.block.op == was.block.op);
    } else if (was.kind == TraceKind::Request) {
      QCOMPARE(is.request.tNs, was.request.tNs);
      QCOMPARE(is.request.a, was.request.a);
      QVERIFY(is.request.event == was.request.event);
    }
    if (i > 0) QVERIFY(m_whole.events[i].timeNs >= m_whole.events[i - 1].timeNs);
  }
  for (const TraceKind kind : {TraceKind::Iteration, TraceKind::Slice, TraceKind::Block,
                               TraceKind::Token, TraceKind::Request}) {
    QVERIFY(kinds[kind] > 0);
  }
}

void TestTraceFile::everyNumberComesBack() {
  const std::vector<std::int64_t> whole = {0, 1, -1, 63, 64, -64, -65, INT64_MAX, INT64_MIN};
  const std::vector<std::uint64_t> natural = {0, 127, 128, UINT64_MAX};
  std::string bytes;
  ByteWriter writer(bytes);
  writer(whole, natural, -0.0f, 1e300, std::string("a\0b", 3), std::optional<int>(), RequestId());
  writer.time(INT64_MAX);
  writer.time(INT64_MIN);
  ByteReader reader(bytes);
  std::vector<std::int64_t> wholeRead;
  std::vector<std::uint64_t> naturalRead;
  float zero = 1.0f;
  double large = 0;
  std::string text;
  std::optional<int> nothing = 4;
  RequestId none(7);
  std::int64_t first = 0, second = 0;
  reader(wholeRead, naturalRead, zero, large, text, nothing, none);
  reader.time(first);
  reader.time(second);
  QVERIFY(reader.isAtEnd());
  QCOMPARE(wholeRead, whole);
  QCOMPARE(naturalRead, natural);
  QVERIFY(std::signbit(zero));
  QCOMPARE(large, 1e300);
  QCOMPARE(text, std::string("a\0b", 3));
  QVERIFY(!nothing && none.isNone());
  QCOMPARE(first, INT64_MAX);
  QCOMPARE(second, INT64_MIN);
  std::uint8_t narrow = 0;
  ByteReader tooWide(bytes = std::string("\xff\x02", 2));
  tooWide(narrow);
  QVERIFY(!tooWide.isOk());
}

void TestTraceFile::theHeaderTellsConfigAndModel() {
  QCOMPARE(m_whole.header.program, std::string("test"));
  QCOMPARE(m_whole.header.config.load.kvBlocks, 24);
  QCOMPARE(m_whole.header.config.load.blockSize, 4);
  QVERIFY(m_whole.header.model != nullptr);
  QCOMPARE(m_whole.header.model->path, std::string("toy"));
}

void TestTraceFile::openingsTellLabelsAndPrompts() {
  QCOMPARE(m_whole.openings.size(), std::size_t{7});
  QCOMPARE(m_whole.openings[2].value.label, std::string("user 2"));
  QCOMPARE(m_whole.openings[2].value.prompt, std::string("a shared beginning, then 2"));
  QCOMPARE(m_whole.openings[2].value.maxTokens, 14);
}

void TestTraceFile::snapshotsComeBackAsTheyWere() {
  QVERIFY(m_whole.snapshots.front().value.isKey);
  const EngineSnapshot last = m_whole.snapshotAt(m_whole.snapshots.size() - 1);
  QVERIFY(last.state == EngineState::Idle);
  QCOMPARE(last.blocks.size(), std::size_t{24});
  QCOMPARE(last.requests.size(), std::size_t{6});
  QCOMPARE(last.counters.leakedBlocks, 0);
  QCOMPARE(last.model->path, std::string("toy"));
  for (const RequestSnapshot& request : last.requests) {
    QVERIFY(request.state == RequestState::Finished);
    QVERIFY(request.label.starts_with("user "));
  }
  const auto again = decodeSnapshot(bytesOf(last), nullptr);
  QVERIFY(again.has_value());
  QCOMPARE(bytesOf(*again), bytesOf(last));
}

void TestTraceFile::changesAloneTellASnapshot() {
  EngineSnapshot before = m_whole.snapshotAt(m_whole.snapshots.size() - 1);
  before.requests.front().blocks = {BlockId(3), BlockId(4), BlockId(5)};
  EngineSnapshot after = before;
  after.timeNs += 5;
  after.requests.front().blocks = {BlockId(3), BlockId(4), BlockId(9), BlockId(1)};
  after.requests.pop_back();
  after.blocks[7].filled = 3;
  after.blocks[23].owner = RequestId(4);
  std::string change;
  encodeSnapshot(after, &before, change);
  QVERIFY(change.size() < bytesOf(after).size() / 2);
  const auto read = decodeSnapshot(change, &before);
  QVERIFY(read.has_value());
  QCOMPARE(bytesOf(*read), bytesOf(after));
  QVERIFY(read->requests.front().blocks == after.requests.front().blocks);
  QVERIFY(!decodeSnapshot(change, nullptr));
  QVERIFY(!decodeSnapshot(change.substr(0, change.size() - 1), &before));
}

void TestTraceFile::aFileCutAnywhereIsReadUpToThere() {
  std::size_t lastEvents = 0;
  for (std::size_t size = 0; size < m_whole.bytes.size(); size += size < 600 ? 1 : 97) {
    const auto trace = readTrace(write("cut.trace", m_whole.bytes.substr(0, size)));
    if (size < kStartBytes) {
      QVERIFY(!trace.isOk());
      QVERIFY(trace.error().code == ErrorCode::CorruptFile);
      continue;
    }
    QVERIFY(trace.isOk());
    QVERIFY(!trace->cutSentence.empty());
    QVERIFY(trace->events.size() >= lastEvents);  // never less for more bytes
    lastEvents = trace->events.size();
    QVERIFY(lastEvents <= m_whole.events.size());
  }
  QVERIFY(lastEvents > 0);
}

void TestTraceFile::aDamagedByteEndsTheRecordingThere() {
  for (std::size_t at = kStartBytes; at < m_whole.bytes.size(); at += 211) {
    std::string damaged = m_whole.bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    const auto trace = readTrace(write("damaged.trace", damaged));
    QVERIFY(trace.isOk());
    QVERIFY2(trace->cutSentence.find("byte") != std::string::npos, trace->cutSentence.c_str());
    QVERIFY(trace->events.size() <= m_whole.events.size());
  }
}

void TestTraceFile::aForeignFileIsRefused() {
  QVERIFY(readTrace(path("nowhere.trace")).error().code == ErrorCode::NotFound);
  for (const std::string& bytes : {std::string(), std::string("GGUF\3\0\0\0", 8),
                                   std::string(4000, 'x'), std::string("TSRATRCF\1\0\0\0", 12)}) {
    const std::string file = write("foreign", bytes);
    QVERIFY(!isTraceFile(file));
    const auto trace = readTrace(file);
    QVERIFY(!trace.isOk());
    QVERIFY(trace.error().code == ErrorCode::CorruptFile);
    QVERIFY(trace.error().message.find("foreign") != std::string::npos);
  }
  QVERIFY(!isTraceFile(m_folder.path().toStdString()));
}

void TestTraceFile::aLaterVersionIsRefusedNamingBoth() {
  std::string later = m_whole.bytes;
  later[8] = 7;
  const auto trace = readTrace(write("later.trace", later));
  QVERIFY(!trace.isOk());
  QVERIFY(trace.error().code == ErrorCode::Unsupported);
  QVERIFY(trace.error().message.find("version 7") != std::string::npos);
  QVERIFY(trace.error().message.find("versions 3 to 4") != std::string::npos);
  later[8] = 2;
  QVERIFY(!readTrace(write("earlier.trace", later)).isOk());
}

// Its iterations as version 3 had them, byte for byte; the records before them were the same.
void TestTraceFile::theVersionBeforeIsReadWithoutWhatItLacks() {
  std::string payload;
  ByteWriter writer(payload);
  writer.time(70);
  writer(std::uint64_t{2});
  for (const std::uint64_t id : {std::uint64_t{4}, std::uint64_t{5}}) {
    writer(TraceKind::Iteration);
    writer.time(10);
    writer.time(60);
    writer(id);
    for (std::uint32_t number = 1; number <= 10; ++number) writer(number);
    writer(1.5, 2.5, 3.5, std::uint32_t{11}, std::uint32_t{12}, std::uint32_t{13},
           Reason::LimitTokenBudget);
  }
  const std::size_t headerEnd = kStartBytes + kRecordHeadBytes + wordAt(m_whole.bytes, kStartBytes);
  std::string bytes = m_whole.bytes.substr(0, headerEnd);
  bytes[8] = 3;
  const auto trace = readTrace(
      write("before.trace", bytes + recordOf(kEventsRecord, payload) + recordOf(kEndRecord, {})));
  QVERIFY2(trace.isOk(), trace ? "" : trace.error().message.c_str());
  QCOMPARE(trace->cutSentence, std::string());
  QCOMPARE(trace->version, 3u);
  QCOMPARE(trace->events.size(), std::size_t{2});
  const IterationRecord& last = trace->events[1].value.iteration;
  QCOMPARE(last.id, std::uint64_t{5});
  QCOMPARE(last.t1Ns, 60);
  QCOMPARE(last.attentionNs, 12u);
  QCOMPARE(last.budget, 13u);
  QVERIFY(last.limit == Reason::LimitTokenBudget);
  QCOMPARE(last.busyShare, 0);
}

void TestTraceFile::sizesBeyondTheFileAreNotBelieved() {
  std::string bytes = m_whole.bytes.substr(0, kStartBytes);
  appendWord(bytes, 0xFFFFFFFF);
  appendWord(bytes, 0);
  bytes += std::string("\2abc");
  const auto trace = readTrace(write("size.trace", bytes));
  QVERIFY(trace.isOk());
  QVERIFY(trace->cutSentence.find("cut off") != std::string::npos);
}

void TestTraceFile::countsBeyondTheRecordAreNotBelieved() {
  std::string header;
  ByteWriter headerWriter(header);
  headerWriter(std::string("test"), std::int64_t{0});
  for (const std::uint64_t count : {std::uint64_t{1000}, std::uint64_t{1} << 40, UINT64_MAX}) {
    const std::size_t headerEnd =
        kStartBytes + kRecordHeadBytes + wordAt(m_whole.bytes, kStartBytes);
    for (const RecordKind kind :
         {kEventsRecord, kMessagesRecord, kKeyFrameRecord, kOpeningRecord}) {
      std::string payload;
      ByteWriter writer(payload);
      writer(std::int64_t{5}, count, std::uint64_t{1});
      const auto trace = readTrace(
          write("count.trace", m_whole.bytes.substr(0, headerEnd) + recordOf(kind, payload)));
      QVERIFY(trace.isOk());
      QVERIFY(trace->cutSentence.find("damaged") != std::string::npos);
    }
  }
}

void TestTraceFile::aRecordingThatIsStillGoingOnCanBeRead() {
  const std::string file = path("going-on.trace");
  RecordedRun run(file);
  QVERIFY(run.play());
  QTest::qWait(120);  // the file is handed on ten times a second
  run.client.take();
  const auto trace = readTrace(file);
  QVERIFY(trace.isOk());
  QVERIFY(trace->cutSentence.find("not closed") != std::string::npos);
  QVERIFY(trace->events.size() > 100);
}

void TestTraceFile::aFileThatCannotBeWrittenIsNamed() {
  QFile model(QString::fromStdString(path("model.gguf")));
  QVERIFY(model.open(QIODevice::WriteOnly));
  model.write("GGUF and so on");
  model.close();
  const auto over = TraceWriter::create(path("model.gguf"));
  QVERIFY(!over.isOk());
  QVERIFY(over.error().message.find("is a file that is not a recording") != std::string::npos);
  QCOMPARE(model.size(), 14);
  const auto writer = TraceWriter::create(path("no-folder") + "/run.trace");
  QVERIFY(!writer.isOk());
  QVERIFY(writer.error().message.find("no-folder/run.trace") != std::string::npos);
  if (!QFile::exists(QStringLiteral("/dev/full"))) QSKIP("needs a device that is always full");
  auto full = TraceWriter::create("/dev/full");
  if (full) {
    (*full)->writeLoss(1, 1);
    QVERIFY(!(*full)->flush().isOk());
  } else {
    QVERIFY(full.error().message.find("/dev/full") != std::string::npos);
  }
}

QTEST_GUILESS_MAIN(TestTraceFile)
#include "tst_trace_file.moc"
