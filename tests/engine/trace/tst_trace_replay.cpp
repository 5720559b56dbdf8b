// labels: threads
// Replays: a recorded run plays at any speed, pauses, steps and goes back, and tells what the live
// run told.
#include <QtTest>

#include "engine/base/clock.h"
#include "engine/trace/trace_replay.h"
#include "engine/trace/trace_summary.h"
#include "tests/support/recorded_run.h"

using namespace engine;
using namespace engine::trace;
using test_support::EngineClient;
using test_support::RecordedRun;

class TestTraceReplay : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void itCannotDoWhatNeedsAModel();
  void playedToTheEndItTellsWhatTheRunTold();
  void noMatterWhenTheEndIsReachedNothingIsLeftBehind();
  void itsClockBeginsWithTheRecording();
  void timePassesByTheClockAndTheSpeed();
  void pausedItStandsStill();
  void aStepIsOneIteration();
  void seekingEitherWayGivesTheSameState();
  void goingBackTellsTextsAnew();
  void eventsCarryTheStateOnBetweenSnapshots();
  void resumeAtTheEndPlaysAgain();
  void aCutRecordingSaysSo();
  void anEmptyRecordingPlays();
  void theSameRunGivesTheSameTraceButForTimes();

 private:
  std::string path(const char* name) const {
    return m_folder.filePath(QString::fromLatin1(name)).toStdString();
  }

  Trace read() const { return std::move(readTrace(path("run.trace"))).value(); }

  QTemporaryDir m_folder;
  std::map<RequestId, test_support::ClientRequest> m_live;
};

namespace {

// Stands still until it was read so often, then is far ahead.
class LeapingClock final : public Clock {
 public:
  explicit LeapingClock(int leapAtReading) : m_leapAtReading(leapAtReading) {}

  std::int64_t nowNs() const override {
    return ++m_readings < m_leapAtReading ? 0 : std::int64_t{1} << 50;
  }

 private:
  const int m_leapAtReading;
  mutable int m_readings = 0;
};

struct Player {
  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  TraceReplay replay;

  explicit Player(Trace trace) : replay(std::move(trace), clock) {}

  std::vector<EngineMessage> messages() {
    std::vector<EngineMessage> out;
    replay.drainMessages(out);
    return out;
  }

  std::vector<TraceEvent> events() {
    std::vector<TraceEvent> out;
    replay.drainEvents(out);
    return out;
  }

  std::shared_ptr<const EngineSnapshot> snapshot() {
    messages();
    return replay.latestSnapshot();
  }

  std::size_t countIterations() {
    std::size_t count = 0;
    for (const TraceEvent& event : events()) count += event.kind == TraceKind::Iteration;
    return count;
  }
};

std::map<RequestId, std::string> textsOf(const std::vector<EngineMessage>& messages) {
  std::map<RequestId, std::string> texts;
  for (const EngineMessage& message : messages) {
    if (const auto* started = std::get_if<RequestStarted>(&message))
      texts[started->request].clear();
    if (const auto* delta = std::get_if<TextDelta>(&message)) texts[delta->request] += delta->text;
  }
  return texts;
}

// What a view could tell two states apart by.
QString portrait(const EngineSnapshot& snapshot) {
  QString text = QString("%1 step %2 free %3\n")
                     .arg(snapshot.timeNs)
                     .arg(snapshot.lastStep.id.value)
                     .arg(snapshot.pool ? snapshot.pool->freeBlocks : -1);
  for (const RequestSnapshot& r : snapshot.requests) {
    text += QString("%1 %2 %3 %4 %5 %6\n")
                .arg(r.id.value)
                .arg(QString::fromStdString(r.label))
                .arg(int(r.state))
                .arg(r.computedTokens)
                .arg(r.outputTokens)
                .arg(r.preemptions);
  }
  for (const BlockSnapshot& b : snapshot.blocks) {
    text += QString("%1/%2 ").arg(int(b.state)).arg(b.refCount);
  }
  return text;
}

}  // namespace

void TestTraceReplay::initTestCase() {
  RecordedRun run(path("run.trace"));
  QVERIFY(run.play(/*kvBlocks=*/24));
  m_live = run.client.requests();
}

void TestTraceReplay::itCannotDoWhatNeedsAModel() {
  Player player(read());
  const EngineCapabilities can = player.replay.capabilities();
  QVERIFY(!can.canLoad && !can.canSubmit && !can.hasLiveKnobs);
  QVERIFY(can.canPause && can.hasBlocks && can.hasEvents);
  QVERIFY(player.replay.replayControl() != nullptr);
  player.replay.submit(Pause{});
  player.messages();
  player.replay.submit(Submit{test_support::textRequest("hello", test_support::greedy(3))});
  player.replay.submit(LoadModel{});
  player.replay.submit(Query{QueryId(9), TokenizeQuery{"hello"}});
  player.replay.submit(SetLimits{});
  const auto messages = player.messages();
  QCOMPARE(messages.size(), std::size_t{4});
  QVERIFY(std::get<RequestFinished>(messages[0]).reason == FinishReason::Refused);
  QVERIFY(!std::get<RequestFinished>(messages[0]).explanation.empty());
  QVERIFY(std::get<LoadFailed>(messages[1]).error.code == ErrorCode::Unsupported);
  QVERIFY(std::holds_alternative<Error>(std::get<QueryAnswer>(messages[2]).answer));
  QVERIFY(std::holds_alternative<Notice>(messages[3]));
}

void TestTraceReplay::playedToTheEndItTellsWhatTheRunTold() {
  const std::int64_t beganNs = read().beginNs();
  EngineClient client(std::make_unique<TraceReplay>(read()));
  client.engine().replayControl()->setSpeed(50);
  QVERIFY(client.waitForState(EngineState::Paused));
  QCOMPARE(client.requests().size(), m_live.size());
  for (const auto& [id, live] : m_live) {
    const auto& replayed = client.request(id);
    QCOMPARE(replayed.text, live.text);
    QCOMPARE(replayed.ids, live.ids);
    QCOMPARE(replayed.promptIds, live.promptIds);
    QCOMPARE(replayed.rowHashes, live.rowHashes);
    QCOMPARE(replayed.numFinished, 1);
    QVERIFY(replayed.finished.reason == live.finished.reason);
    QCOMPARE(replayed.finished.explanation, live.finished.explanation);
    QCOMPARE(replayed.finished.times.finishedNs, live.finished.times.finishedNs - beganNs);
  }
}

// The end may come between the front end's taking of messages and its look at the snapshot.
void TestTraceReplay::noMatterWhenTheEndIsReachedNothingIsLeftBehind() {
  for (int reading = 2; reading <= 24; ++reading) {  // the first tells when it began
    const auto clock = std::make_shared<LeapingClock>(reading);
    EngineClient client(std::make_unique<TraceReplay>(read(), clock));
    QVERIFY(client.waitForState(EngineState::Paused));
    for (const auto& [id, live] : m_live) QCOMPARE(client.request(id).text, live.text);
  }
}

void TestTraceReplay::itsClockBeginsWithTheRecording() {
  const Trace trace = read();
  const std::int64_t beganNs = trace.beginNs();
  QVERIFY(beganNs > 0);
  Player player(read());
  player.replay.submit(Pause{});
  QCOMPARE(player.replay.beginNs(), std::int64_t{0});
  QCOMPARE(player.replay.endNs(), trace.endNs() - beganNs);
  player.replay.seekNs(player.replay.endNs());
  const auto events = player.events();
  const auto messages = player.messages();
  QCOMPARE(events.size(), trace.events.size());
  std::int64_t lastNs = -1;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const TraceEvent& recorded = trace.events[i].value;
    if (recorded.kind == TraceKind::Request) QCOMPARE(events[i].request.tNs, recorded.request.tNs - beganNs);
    if (recorded.kind == TraceKind::Token) QCOMPARE(events[i].token.tNs, recorded.token.tNs - beganNs);
    if (recorded.kind != TraceKind::Iteration) continue;
    QCOMPARE(events[i].iteration.t0Ns, recorded.iteration.t0Ns - beganNs);
    lastNs = events[i].iteration.t1Ns;
  }
  QCOMPARE(player.snapshot()->lastStep.t1Ns, lastNs);
  QCOMPARE(player.snapshot()->timeNs, player.replay.positionNs());
  int numTokens = 0;
  for (const EngineMessage& message : messages) {
    const auto* delta = std::get_if<TextDelta>(&message);
    if (!delta || delta->timeNs < 0) continue;
    ++numTokens;
    QVERIFY(delta->timeNs <= player.replay.endNs());
  }
  QVERIFY(numTokens > 0);
  // a step's end, asked for on this clock, is where the player comes to stand
  player.replay.seekNs(lastNs);
  QCOMPARE(player.replay.positionNs(), lastNs);
  QCOMPARE(player.snapshot()->lastStep.t1Ns, lastNs);
}

void TestTraceReplay::timePassesByTheClockAndTheSpeed() {
  Player player(read());
  const std::int64_t beginNs = player.replay.beginNs();
  QCOMPARE(player.replay.positionNs(), beginNs);
  player.clock->advanceNs(1000);
  QCOMPARE(player.replay.positionNs(), beginNs + 1000);
  player.replay.setSpeed(0.25);
  player.clock->advanceNs(4000);
  QCOMPARE(player.replay.positionNs(), beginNs + 2000);
  player.replay.setSpeed(0);  // no speed at all: refused
  QCOMPARE(player.replay.speed(), 0.25);
  player.replay.setSpeed(1e18);
  player.clock->advanceNs(1'000'000'000'000);
  QCOMPARE(player.replay.positionNs(), player.replay.endNs());
}

void TestTraceReplay::pausedItStandsStill() {
  Player player(read());
  player.replay.submit(Pause{});
  player.messages();
  player.events();
  const std::uint64_t version = player.snapshot()->version;
  player.clock->advanceNs(1'000'000'000'000);
  QVERIFY(player.messages().empty());
  QVERIFY(player.events().empty());
  QCOMPARE(player.snapshot()->version, version);
  QVERIFY(player.snapshot()->state == EngineState::Paused);
}

void TestTraceReplay::aStepIsOneIteration() {
  Player player(read());
  player.replay.submit(StepOnce{1});  // not while it plays
  player.replay.submit(Pause{});
  player.events();
  player.replay.submit(StepOnce{1});
  QCOMPARE(player.countIterations(), std::size_t{1});
  const std::uint64_t first = player.snapshot()->lastStep.id.value;
  player.replay.submit(StepOnce{3});
  QCOMPARE(player.countIterations(), std::size_t{3});
  QCOMPARE(player.snapshot()->lastStep.id.value, first + 3);
  QVERIFY(!player.snapshot()->lastStep.decisions.empty());
  player.replay.submit(StepOnce{1'000'000});
  QCOMPARE(player.replay.positionNs(), player.replay.endNs());
}

void TestTraceReplay::seekingEitherWayGivesTheSameState() {
  Player forwards(read()), jumping(read());
  forwards.replay.submit(Pause{});
  jumping.replay.submit(Pause{});
  const std::int64_t beginNs = forwards.replay.beginNs();
  const std::int64_t spanNs = forwards.replay.endNs() - beginNs;
  std::vector<QString> portraits;
  constexpr int kStops = 40;
  for (int i = 0; i <= kStops; ++i) {
    forwards.replay.seekNs(beginNs + spanNs * i / kStops);
    portraits.push_back(portrait(*forwards.snapshot()));
  }
  for (const int i : {40, 3, 39, 12, 11, 10, 30, 0, 25, 24}) {
    jumping.replay.seekNs(beginNs + spanNs * i / kStops);
    QCOMPARE(portrait(*jumping.snapshot()), portraits[static_cast<std::size_t>(i)]);
  }
  QVERIFY(portraits.front() != portraits.back());
}

void TestTraceReplay::goingBackTellsTextsAnew() {
  Player player(read());
  player.replay.submit(Pause{});
  player.replay.seekNs(player.replay.endNs());
  const auto atEnd = textsOf(player.messages());
  const std::int64_t middleNs = (player.replay.beginNs() + player.replay.endNs()) / 2;
  player.replay.seekNs(middleNs);
  auto messages = player.messages();
  player.replay.seekNs(player.replay.endNs());
  for (EngineMessage& message : player.messages()) messages.push_back(std::move(message));
  QCOMPARE(textsOf(messages), atEnd);
}

void TestTraceReplay::eventsCarryTheStateOnBetweenSnapshots() {
  Trace trace = read();
  const EngineSnapshot last = trace.snapshotAt(trace.snapshots.size() - 1);
  // only the first snapshots of the loaded model are left: all else comes from events
  std::size_t loaded = 0;
  while (!trace.snapshotAt(loaded).pool) ++loaded;
  QVERIFY(trace.snapshotAt(loaded).numEvents < trace.events.size() / 2);
  trace.snapshots.resize(loaded + 1);
  const std::int64_t beganNs = trace.beginNs();
  Player player(std::move(trace));
  player.replay.submit(Pause{});
  player.replay.seekNs(player.replay.endNs());
  const auto shown = player.snapshot();
  QCOMPARE(shown->counters.steps, last.counters.steps);
  QCOMPARE(shown->counters.generatedTokens, last.counters.generatedTokens);
  QCOMPARE(shown->counters.preemptions, last.counters.preemptions);
  QCOMPARE(shown->lastStep.id.value, last.lastStep.id.value);
  for (const RequestSnapshot& expected : last.requests) {
    const auto found = std::ranges::find(shown->requests, expected.id, &RequestSnapshot::id);
    QVERIFY(found != shown->requests.end());
    QCOMPARE(found->label, expected.label);
    QVERIFY(found->state == expected.state && found->finish == expected.finish);
    QCOMPARE(found->outputTokens, expected.outputTokens);
    QCOMPARE(found->promptTokens, expected.promptTokens);
    QCOMPARE(found->preemptions, expected.preemptions);
    QCOMPARE(found->times.firstTokenNs, expected.times.firstTokenNs < 0 ? -1 : expected.times.firstTokenNs - beganNs);
  }
  QCOMPARE(shown->blocks.size(), last.blocks.size());
  for (std::size_t i = 0; i < last.blocks.size(); ++i) {
    QVERIFY(shown->blocks[i].state == last.blocks[i].state);
    QCOMPARE(shown->blocks[i].refCount, last.blocks[i].refCount);
  }
}

void TestTraceReplay::resumeAtTheEndPlaysAgain() {
  Player player(read());
  player.replay.submit(Pause{});
  player.replay.seekNs(player.replay.endNs());
  player.replay.submit(Resume{});
  QVERIFY(!player.replay.isPaused());
  QCOMPARE(player.replay.positionNs(), player.replay.beginNs());
}

void TestTraceReplay::aCutRecordingSaysSo() {
  Trace trace = read();
  trace.cutSentence = "the recording is cut off";
  Player player(std::move(trace));
  const auto messages = player.messages();
  const auto* notice = std::get_if<Notice>(&messages.at(0));
  QVERIFY(notice != nullptr && notice->severity == Severity::Warning);
  QCOMPARE(notice->text, std::string("the recording is cut off"));
}

void TestTraceReplay::anEmptyRecordingPlays() {
  Player player(Trace{});
  QVERIFY(player.snapshot() != nullptr);
  player.replay.seekNs(123456);
  player.replay.submit(StepOnce{4});
  player.replay.submit(Resume{});
  QVERIFY(player.messages().empty());
  QVERIFY(player.replay.latestSnapshot()->state == EngineState::Paused);  // at its end already
}

void TestTraceReplay::theSameRunGivesTheSameTraceButForTimes() {
  const auto fingerprintOf = [this](std::int64_t blocks, std::uint64_t seed) -> std::uint64_t {
    {
      RecordedRun run(path("again.trace"));
      if (!run.play(blocks, 6, seed)) return 0;
    }
    const auto trace = readTrace(path("again.trace"));
    return trace ? summariseTrace(*trace).fingerprint : 0;
  };
  const std::uint64_t first = fingerprintOf(24, 1);
  QVERIFY(first != 0);
  for (int i = 0; i < 4; ++i) QCOMPARE(fingerprintOf(24, 1), first);
  QVERIFY(fingerprintOf(24, 2) != first);  // another seed
  QVERIFY(fingerprintOf(64, 1) != first);  // another knob
}

QTEST_GUILESS_MAIN(TestTraceReplay)
#include "tst_trace_replay.moc"
