#include "engine/sched/batch_door.h"

#include <QtTest>

using namespace engine;
using namespace engine::sched;

namespace {

DoorFacts factsOf(BatchingKind batching, std::int64_t running, std::int64_t waiting) {
  DoorFacts facts;
  facts.batching = batching;
  facts.running = running;
  facts.waiting = waiting;
  facts.maxBatch = 4;
  facts.oldestArrivalNs = 1000;
  facts.queueDelayNs = 500;
  facts.nowNs = 1200;
  return facts;
}

}  // namespace

class BatchDoorTest : public QObject {
  Q_OBJECT

 private slots:
  void continuousBatchingHasNoDoor();
  void aBatchThatRunsKeepsTheOthersOut();
  void aStaticBatchBeginsWithWhatIsThere();
  void aDynamicBatchWaitsUntilItIsFullOrTheFirstHasWaited();
};

void BatchDoorTest::continuousBatchingHasNoDoor() {
  QCOMPARE(judgeDoor(factsOf(BatchingKind::Continuous, 3, 1)).reason, Reason::None);
}

void BatchDoorTest::aBatchThatRunsKeepsTheOthersOut() {
  QCOMPARE(judgeDoor(factsOf(BatchingKind::Static, 1, 9)).reason, Reason::WaitsBatchEnd);
  QCOMPARE(judgeDoor(factsOf(BatchingKind::Dynamic, 1, 9)).reason, Reason::WaitsBatchEnd);
}

void BatchDoorTest::aStaticBatchBeginsWithWhatIsThere() {
  QCOMPARE(judgeDoor(factsOf(BatchingKind::Static, 0, 1)).reason, Reason::None);
}

void BatchDoorTest::aDynamicBatchWaitsUntilItIsFullOrTheFirstHasWaited() {
  DoorFacts facts = factsOf(BatchingKind::Dynamic, 0, 3);
  QCOMPARE(judgeDoor(facts).reason, Reason::WaitsQueueDelay);
  QCOMPARE(judgeDoor(facts).wakeAtNs, std::int64_t{1500});
  facts.nowNs = 1500;
  QCOMPARE(judgeDoor(facts).reason, Reason::None);
  facts.nowNs = 1200;
  facts.waiting = 4;
  QCOMPARE(judgeDoor(facts).reason, Reason::None);
}

QTEST_GUILESS_MAIN(BatchDoorTest)
#include "tst_batch_door.moc"
