// Events arrive in order; what the ring cannot take is counted, never waited for.
// labels: pure
#include <cstring>
#include <string>

#include <QtTest>

#include "engine/trace/trace_recorder.h"

using namespace engine;
using engine::trace::TraceRecorder;

class TestTraceRecorder : public QObject {
  Q_OBJECT

 private slots:

  void recordsComeOutInOrderWithTheirKind() {
    TraceRecorder recorder(8);
    recorder.record(SliceRecord{1, 2, 3, 4, 0, 0, SlicePhase::Decode});
    recorder.record(TokenRecord{2, 10, 77, 5, -0.5f, TokenSource::Target});
    std::vector<TraceEvent> events;
    recorder.drain(events);
    QCOMPARE(events.size(), std::size_t{2});
    QVERIFY(events[0].kind == TraceKind::Slice && events[1].kind == TraceKind::Token);
    QCOMPARE(events[0].slice.kvLength, 4u);
    QCOMPARE(events[1].token.id, 77);
  }

  void whatDoesNotFitIsCounted() {
    TraceRecorder recorder(4);
    for (std::uint64_t i = 0; i < 10; ++i)
      recorder.record(SliceRecord{i, 0, 0, 0, 0, 0, SlicePhase::Decode});
    QCOMPARE(recorder.numLost(), std::uint64_t{6});
    std::vector<TraceEvent> events;
    recorder.drain(events);
    QCOMPARE(events.size(), std::size_t{4});
    QCOMPARE(events[3].slice.iteration, std::uint64_t{3});
    recorder.record(SliceRecord{11, 0, 0, 0, 0, 0, SlicePhase::Decode});
    recorder.drain(events);
    QCOMPARE(events.size(), std::size_t{5});
  }

  void knobNamesEndInsideTheRecord() {
    TraceRecorder recorder(4);
    recorder.recordKnob(7, "max-batched-tokens", 512, 64);
    recorder.recordKnob(8, std::string(100, 'x'), 0, 1);
    std::vector<TraceEvent> events;
    recorder.drain(events);
    QCOMPARE(std::string(events[0].knob.key), std::string("max-batched-tokens"));
    QCOMPARE(events[0].knob.oldValue, 512.0);
    QCOMPARE(std::strlen(events[1].knob.key), std::size_t{31});
  }
};

QTEST_GUILESS_MAIN(TestTraceRecorder)
#include "tst_trace_recorder.moc"
