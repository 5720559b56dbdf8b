// When a replay shows an event: at its own time, with the iteration it belongs to, never before
// what was told earlier, wherever the recorder happened to look in between.
#include <QtTest>

#include "engine/trace/event_times.h"
#include "engine/trace/trace_file.h"
#include "engine/trace/trace_replay.h"

using namespace engine;
using namespace engine::trace;

class TestEventTimes : public QObject {
  Q_OBJECT

 private slots:
  void aBlockShowsWithItsIteration();
  void aLookInTheMiddleOfAStepChangesNothing();
  void whatArrivedDuringAStepDoesNotPullTheStepBack();
  void whatEndedWithAStepShowsWithIt();
  void whatNothingFollowsShowsWhenItWasTaken();
  void noTimeIsLaterThanTheTaking();
  void messagesShowNoLaterThanWhatFollows();
  void aSnapshotHoldsWhatWasToldBeforeItAndNothingElse();
};

namespace {

TraceEvent iteration(std::uint64_t id, std::int64_t t0Ns, std::int64_t t1Ns) {
  IterationRecord record{};
  record.id = id;
  record.t0Ns = t0Ns;
  record.t1Ns = t1Ns;
  return TraceEvent(record);
}

TraceEvent block() {
  return TraceEvent(BlockRecord{});
}

TraceEvent arrived(std::uint64_t request, std::int64_t ns) {
  RequestRecord record{};
  record.request = request;
  record.tNs = ns;
  record.event = RequestEvent::Arrived;
  return TraceEvent(record);
}

std::vector<std::int64_t> timesOf(std::vector<Timed<TraceEvent>> events) {
  settleTimes(events);
  std::vector<std::int64_t> times;
  for (const auto& event : events) times.push_back(event.timeNs);
  return times;
}

using Times = std::vector<std::int64_t>;

}  // namespace

void TestEventTimes::aBlockShowsWithItsIteration() {
  QCOMPARE(timesOf({{100, block()}, {100, block()}, {100, iteration(1, 10, 20)}, {100, block()},
                    {100, iteration(2, 30, 40)}}),
           (Times{20, 20, 20, 40, 40}));
}

void TestEventTimes::aLookInTheMiddleOfAStepChangesNothing() {
  // the step ended at 40; the recorder looked at 45, between two of its records
  QCOMPARE(timesOf({{45, block()}, {60, block()}, {60, iteration(1, 30, 40)}, {60, arrived(1, 50)}}),
           (Times{40, 40, 40, 50}));
}

void TestEventTimes::whatArrivedDuringAStepDoesNotPullTheStepBack() {
  QCOMPARE(timesOf({{100, iteration(1, 10, 20)}, {100, iteration(2, 30, 40)}, {100, arrived(7, 15)},
                    {100, iteration(3, 50, 60)}}),
           (Times{20, 40, 40, 60}));
}

// Requests end while a step's results are told: later than its end, before its record.
void TestEventTimes::whatEndedWithAStepShowsWithIt() {
  QCOMPARE(timesOf({{100, iteration(1, 10, 20)}, {100, arrived(7, 33)}, {100, arrived(8, 43)},
                    {100, block()}, {100, iteration(2, 30, 40)}, {100, arrived(9, 41)}}),
           (Times{20, 33, 40, 40, 40, 41}));
}

void TestEventTimes::whatNothingFollowsShowsWhenItWasTaken() {
  QCOMPARE(timesOf({{25, iteration(1, 10, 20)}, {25, block()}}), (Times{20, 25}));
  QCOMPARE(timesOf({}), Times{});
}

void TestEventTimes::noTimeIsLaterThanTheTaking() {
  QCOMPARE(timesOf({{25, iteration(1, 10, 90)}, {30, iteration(2, 10, 28)}}), (Times{25, 28}));
}

void TestEventTimes::messagesShowNoLaterThanWhatFollows() {
  RequestFinished finished;
  finished.times.finishedNs = 40;
  const std::vector<EngineMessage> messages = {RequestStarted{}, TextDelta{}, finished, Notice{}};
  QCOMPARE(showTimes(messages, 50), (Times{40, 40, 40, 50}));
}

// A request that was sent before a snapshot but learnt of after it is not in it, and a step that
// is in it is not counted twice.
void TestEventTimes::aSnapshotHoldsWhatWasToldBeforeItAndNothingElse() {
  QTemporaryDir folder;
  const std::string path = folder.filePath("made.trace").toStdString();
  {
    auto writer = std::move(TraceWriter::create(path)).value();
    writer->writeHeader({"test", 0, {}, nullptr});
    writer->writeEvents(45, std::vector{iteration(1, 10, 20), block()});
    auto snapshot = std::make_shared<EngineSnapshot>();
    snapshot->version = 1;
    snapshot->timeNs = 44;
    snapshot->numEvents = 3;  // the second step's end is one of them, taken later
    snapshot->counters.steps = 2;
    writer->writeSnapshot(snapshot);
    writer->writeEvents(60, std::vector{iteration(2, 30, 40), arrived(7, 35), iteration(3, 50, 55)});
  }
  auto trace = readTrace(path);
  QVERIFY(trace.isOk() && trace->cutSentence.empty());
  const std::int64_t beganNs = trace->beginNs();
  TraceReplay replay(std::move(trace).value(), std::make_shared<ManualClock>());
  replay.submit(Pause{});
  const auto at = [&](std::int64_t ns) {
    replay.seekNs(ns - beganNs);
    return replay.latestSnapshot();
  };
  QCOMPARE(at(20)->counters.steps, std::uint64_t{1});
  QCOMPARE(at(40)->counters.steps, std::uint64_t{2});
  QCOMPARE(at(44)->counters.steps, std::uint64_t{2});
  QCOMPARE(at(44)->requests.size(), std::size_t{1});
  QCOMPARE(at(44)->requests[0].id.value, std::uint64_t{7});
  QCOMPARE(at(60)->counters.steps, std::uint64_t{3});
}

QTEST_GUILESS_MAIN(TestEventTimes)
#include "tst_event_times.moc"
