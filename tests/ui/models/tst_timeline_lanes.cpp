// labels: pure
#include "ui/models/timeline_lanes.h"

#include <QTest>
#include <cmath>

#include "tests/support/processor_timer.h"

using engine::RequestEvent;
using engine::SlicePhase;
using engine::TraceEvent;
using ui::models::foldLane;
using ui::models::Lane;
using ui::models::SpanKind;
using ui::models::TimelineLanes;

namespace {

TraceEvent request(std::uint64_t id, RequestEvent event, std::int64_t tNs) {
  return TraceEvent(engine::RequestRecord{id, tNs, 0, 0, event, engine::Reason::None});
}

TraceEvent slice(std::uint64_t step, std::uint64_t id, SlicePhase phase, std::uint32_t tokens = 1) {
  engine::SliceRecord record{};
  record.iteration = step;
  record.request = id;
  record.tokens = tokens;
  record.phase = phase;
  return TraceEvent(record);
}

TraceEvent step(std::uint64_t id, std::int64_t t0Ns, std::int64_t t1Ns) {
  engine::IterationRecord record{};
  record.id = id;
  record.t0Ns = t0Ns;
  record.t1Ns = t1Ns;
  return TraceEvent(record);
}

// One request that decodes `count` steps of 90 ns, 10 ns apart.
TimelineLanes decoding(int count) {
  TimelineLanes lanes;
  std::vector<TraceEvent> events{request(1, RequestEvent::Arrived, 0), request(1, RequestEvent::Admitted, 0)};
  for (int i = 0; i < count; ++i) {
    const auto id = static_cast<std::uint64_t>(i);
    events.push_back(slice(id, 1, i % 2 == 0 ? SlicePhase::Prefill : SlicePhase::Decode));
    events.push_back(step(id, i * 100, i * 100 + 90));
  }
  lanes.add(events);
  return lanes;
}

}  // namespace

class TimelineLanesTest : public QObject {
  Q_OBJECT

 private slots:
  void aRequestsLifeBecomesSpans() {
    TimelineLanes lanes;
    lanes.add({request(4, RequestEvent::Arrived, 10), request(4, RequestEvent::Queued, 12),
               request(4, RequestEvent::Admitted, 20), slice(1, 4, SlicePhase::Prefill, 30), step(1, 20, 50),
               slice(2, 4, SlicePhase::Decode), request(4, RequestEvent::FirstToken, 60), step(2, 51, 60),
               request(4, RequestEvent::Finished, 61), request(4, RequestEvent::Published, 62)});
    const Lane* lane = lanes.find(engine::RequestId(4));
    QVERIFY(lane);
    QCOMPARE(lane->arrivalNs, std::int64_t{10});
    QCOMPARE(lane->admittedNs, std::int64_t{20});
    QCOMPARE(lane->firstTokenNs, std::int64_t{60});
    QCOMPARE(lane->endNs, std::int64_t{61});
    QVERIFY(!lane->wasCutShort);
    QCOMPARE(lane->spans.size(), std::size_t{2});
    QCOMPARE(lane->spans[0].kind, SpanKind::Prefill);
    QCOMPARE(lane->spans[0].tokens, 30u);
    QCOMPARE(lane->spans[1].kind, SpanKind::Decode);
    QCOMPARE(lane->spanAt(20), 0);
    QCOMPARE(lane->spanAt(50), -1);  // between two steps
    QCOMPARE(lane->spanAt(59), 1);
    QCOMPARE(lane->spanOf(2), 1);
    QCOMPARE(lane->spanOf(3), -1);
    QCOMPARE(lanes.step(engine::StepId(2))->t0Ns, std::int64_t{51});
    QVERIFY(!lanes.step(engine::StepId(3)));
  }

  void aRunningRequestWithoutARowIsStalled() {
    TimelineLanes lanes;
    lanes.add({request(1, RequestEvent::Arrived, 0), request(1, RequestEvent::Admitted, 0),
               slice(1, 1, SlicePhase::Prefill), step(1, 0, 10), request(2, RequestEvent::Arrived, 5),
               request(2, RequestEvent::Admitted, 10), slice(2, 2, SlicePhase::Prefill), step(2, 10, 20),
               request(3, RequestEvent::Arrived, 15), slice(3, 1, SlicePhase::Decode), slice(3, 2, SlicePhase::Decode),
               step(3, 20, 30)});
    const Lane* first = lanes.find(engine::RequestId(1));
    QCOMPARE(first->spans.size(), std::size_t{3});
    QCOMPARE(first->spans[1].kind, SpanKind::Stalled);
    QCOMPARE(first->spans[1].t0Ns, std::int64_t{10});
    QCOMPARE(lanes.find(engine::RequestId(2))->spans.size(), std::size_t{2});
    QVERIFY(lanes.find(engine::RequestId(3))->spans.empty());  // queued is not stalled
  }

  void preemptionLeavesAGapUntilTheRequestComesBack() {
    TimelineLanes lanes;
    lanes.add({request(1, RequestEvent::Admitted, 0), slice(1, 1, SlicePhase::Decode), step(1, 0, 10),
               request(1, RequestEvent::Preempted, 21), step(2, 10, 20)});
    const Lane* lane = lanes.find(engine::RequestId(1));
    QCOMPARE(lane->spans.size(), std::size_t{1});
    QCOMPARE(lane->gaps.size(), std::size_t{1});
    QCOMPARE(lane->gaps[0].t0Ns, std::int64_t{10});
    QCOMPARE(lane->gaps[0].t1Ns, std::int64_t{-1});
    lanes.add({request(1, RequestEvent::Resumed, 40), slice(3, 1, SlicePhase::Prefill), step(3, 40, 50)});
    QCOMPARE(lane->gaps[0].t1Ns, std::int64_t{40});
    QCOMPARE(lane->spans.size(), std::size_t{2});
    lanes.add({request(1, RequestEvent::Preempted, 51), request(1, RequestEvent::Cancelled, 60)});
    QCOMPARE(lane->gaps[1].t1Ns, std::int64_t{60});
    QVERIFY(lane->wasCutShort);
  }

  void aLossIsMarkedAndNothingIsInventedAcrossIt() {
    TimelineLanes lanes;
    lanes.add({request(1, RequestEvent::Arrived, 0), request(1, RequestEvent::Admitted, 0),
               slice(1, 1, SlicePhase::Decode), step(1, 0, 10), slice(2, 1, SlicePhase::Decode)});
    lanes.markLoss();
    lanes.add({slice(9, 2, SlicePhase::Decode), step(9, 80, 90)});
    QCOMPARE(lanes.losses().size(), std::size_t{1});
    QCOMPARE(lanes.losses()[0].t0Ns, std::int64_t{10});
    QCOMPARE(lanes.losses()[0].t1Ns, std::int64_t{80});
    QCOMPARE(lanes.find(engine::RequestId(1))->spans.size(), std::size_t{1});  // not "stalled" in step 9
    QCOMPARE(lanes.find(engine::RequestId(2))->arrivalNs, std::int64_t{-1});
    engine::EngineSnapshot snapshot;
    snapshot.timeNs = 100;
    engine::RequestSnapshot second;
    second.id = engine::RequestId(2);
    second.label = "chat 2";
    second.state = engine::RequestState::Decoding;
    second.times.arrivalNs = 33;
    snapshot.requests.push_back(second);
    lanes.reconcile(snapshot);
    QCOMPARE(lanes.find(engine::RequestId(1))->endNs, std::int64_t{10});  // forgotten by the engine: it ended
    QCOMPARE(lanes.find(engine::RequestId(2))->endNs, std::int64_t{-1});
    QCOMPARE(lanes.find(engine::RequestId(2))->arrivalNs, std::int64_t{33});
    QCOMPARE(lanes.find(engine::RequestId(2))->label, std::string("chat 2"));
  }

  void wideSpansStayAloneAndNarrowOnesAreMixed() {
    const TimelineLanes lanes = decoding(1000);
    const Lane& lane = *lanes.lanes().front();
    const auto single = foldLane(lane, 0, 100'000, 50);
    QCOMPARE(single.size(), std::size_t{1000});
    QCOMPARE(single[3].numSpans, 1);
    QCOMPARE(single[3].share[static_cast<std::size_t>(SpanKind::Decode)], 1.0);
    const auto folded = foldLane(lane, 0, 100'000, 2000);
    QCOMPARE(folded.size(), std::size_t{50});
    int spans = 0;
    for (const auto& item : folded) {
      spans += item.numSpans;
      QVERIFY(item.t1Ns - item.t0Ns <= 2000);
      // half of the busy time each; 19 gaps of 10 ns in 1990 are idle
      QVERIFY(std::abs(item.share[static_cast<std::size_t>(SpanKind::Prefill)] - 900.0 / 1990) < 1e-9);
      QVERIFY(std::abs(item.share[static_cast<std::size_t>(SpanKind::Decode)] - 900.0 / 1990) < 1e-9);
    }
    QCOMPARE(spans, 1000);
  }

  void onlyWhatIsVisibleIsFolded() {
    const TimelineLanes lanes = decoding(100);
    const auto items = foldLane(*lanes.lanes().front(), 1000, 2000, 1);
    QCOMPARE(items.size(), std::size_t{10});
    QCOMPARE(items.front().t0Ns, std::int64_t{1000});
    QVERIFY(foldLane(*lanes.lanes().front(), 50'000, 60'000, 1).empty());
  }

  void foldingHalfAMillionSpansCostsLittle() {
    const TimelineLanes lanes = decoding(500'000);
    test_support::ProcessorTimer clock;
    double best = 1e9;
    std::size_t numItems = 0;
    for (int attempt = 0; attempt < 5; ++attempt) {
      clock.start();
      numItems = foldLane(*lanes.lanes().front(), 0, 50'000'000, 50'000'000 / 500).size();
      best = std::min(best, clock.elapsedUs() / 1000.0);
    }
    QVERIFY(numItems <= 1001);
    QVERIFY2(best < 4.0, qPrintable(QString::number(best)));
  }

  void memoryIsBounded() {
    TimelineLanes lanes;
    std::uint64_t id = 0;
    for (std::uint64_t requestId = 0; requestId < 3; ++requestId) {
      std::vector<TraceEvent> events{request(requestId, RequestEvent::Admitted, static_cast<std::int64_t>(id) * 10)};
      for (int i = 0; i < 250'000; ++i, ++id) {
        events.push_back(slice(id, requestId, SlicePhase::Decode));
        events.push_back(step(id, static_cast<std::int64_t>(id) * 10, static_cast<std::int64_t>(id) * 10 + 9));
      }
      events.push_back(request(requestId, RequestEvent::Finished, static_cast<std::int64_t>(id) * 10));
      lanes.add(events);
    }
    QVERIFY(lanes.numSpans() <= TimelineLanes::kMaxSpans);
    QVERIFY(!lanes.find(engine::RequestId(0)));  // the oldest left
    QVERIFY(lanes.find(engine::RequestId(2)));
    QCOMPARE(lanes.find(engine::RequestId(2))->spans.size(), std::size_t{250'000});
  }
};

QTEST_GUILESS_MAIN(TimelineLanesTest)
#include "tst_timeline_lanes.moc"
