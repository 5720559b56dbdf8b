#include "engine/sched/sched_snapshot.h"

#include <QtTest>

#include "tests/support/sched_rig.h"

using namespace engine;
using namespace engine::sched;
using support::SchedRig;

class SchedSnapshotTest : public QObject {
  Q_OBJECT

 private slots:
  void requestsSayWhatTheyDoAndWhy();
  void aSharedBlockNamesARequestThatStillHoldsIt();
  void countersComeFromSchedulerAndPool();
  void theStepSummaryIsThePlan();
};

void SchedSnapshotTest::requestsSayWhatTheyDoAndWhy() {
  SchedulerLimits limits;
  limits.maxSeqs = 1;
  SchedRig rig(16, 4, limits);
  QVERIFY(rig.submit(7, 6, 5));
  QVERIFY(rig.submit(8, 6, 5));
  rig.step();
  rig.step();
  const std::vector<RequestSnapshot> requests = snapshotRequests(rig.scheduler);
  QCOMPARE(requests.size(), std::size_t{2});
  QCOMPARE(requests[0].id, RequestId(7));
  QCOMPARE(requests[0].state, RequestState::Decoding);
  QCOMPARE(requests[0].reason, Reason::DecodeNext);
  QCOMPARE(requests[0].promptTokens, std::int64_t{6});
  QCOMPARE(requests[0].outputTokens, std::int64_t{2});
  QCOMPARE(requests[0].totalTokens, std::int64_t{8});
  QCOMPARE(requests[0].computedTokens, std::int64_t{7});
  QCOMPARE(requests[0].blocks.size(), std::size_t{2});
  QCOMPARE(requests[1].state, RequestState::Waiting);
  QCOMPARE(requests[1].reason, Reason::WaitsSequences);
  QCOMPARE(requests[1].reasonB, std::int64_t{1});
  QVERIFY(requests[1].blocks.empty());
}

void SchedSnapshotTest::aSharedBlockNamesARequestThatStillHoldsIt() {
  SchedRig rig(16, 4, {});
  QVERIFY(rig.submit(1, 9, 20));
  rig.step();
  QVERIFY(rig.scheduler.fork(RequestId(1), RequestId(2), 5).isOk());
  const BlockId shared = rig.at(2).table.at(0);
  QCOMPARE(snapshotBlocks(rig.scheduler)[static_cast<std::size_t>(shared.value)].owner,
           RequestId(1));
  QVERIFY(rig.scheduler.finish(RequestId(1), FinishReason::Cancelled).has_value());
  const BlockSnapshot block = snapshotBlocks(rig.scheduler)[static_cast<std::size_t>(shared.value)];
  QCOMPARE(block.owner, RequestId(2));
  QCOMPARE(block.refCount, std::uint16_t{1});
}

void SchedSnapshotTest::countersComeFromSchedulerAndPool() {
  SchedRig rig(6, 4, {});
  for (std::uint64_t id = 1; id <= 2; ++id) QVERIFY(rig.submit(id, 8, 16));
  rig.runToEnd();
  const EngineCounters counters = snapshotCounters(rig.scheduler);
  QCOMPARE(counters.steps, rig.scheduler.counters().steps);
  QVERIFY(counters.preemptions > 0);
  QVERIFY(counters.evictions > 0);
  QCOMPARE(counters.generatedTokens, std::uint64_t{32});
  QCOMPARE(counters.peakBlocks, std::int64_t{6});
  QCOMPARE(counters.leakedBlocks, std::int64_t{0});
}

void SchedSnapshotTest::theStepSummaryIsThePlan() {
  SchedRig rig(16, 4, {});
  QVERIFY(rig.submit(1, 6, 5));
  const StepSummary summary = summariseStep(rig.step());
  QCOMPARE(summary.id, StepId(1));
  QCOMPARE(summary.prefillTokens, 6);
  QCOMPARE(summary.budget, 512);
  QCOMPARE(summary.limit, Reason::LimitQueueEmpty);
  QCOMPARE(summary.decisions.size(), std::size_t{1});
}

QTEST_GUILESS_MAIN(SchedSnapshotTest)
#include "tst_sched_snapshot.moc"
