#include "engine/sched/admission.h"

#include <QtTest>

using namespace engine;
using namespace engine::sched;

namespace {

// Everything is free: the request may enter.
AdmissionFacts openFacts() {
  AdmissionFacts facts;
  facts.budget = 512;
  facts.maxSeqs = 4;
  facts.blocksNeeded = 10;
  facts.blocksAvailable = 20;
  return facts;
}

}  // namespace

class AdmissionTest : public QObject {
  Q_OBJECT

 private slots:
  void aPromptMustLeaveRoomForOneToken();
  void theFinalLengthIsCappedByTheContext();
  void whatThePoolCanNeverHoldIsRefusedWithBothNumbers();
  void aRequestEntersWhenAllIsThere();
  void nobodyEntersInAStepThatPreempted();
  void sequencesBudgetAndBlocksEachKeepItOut();
  void promisedBlocksAreNotGivenTwice();
  void aWaitReasonNamesTheLimitOfTheStep();
};

void AdmissionTest::aPromptMustLeaveRoomForOneToken() {
  QVERIFY(judgeLength(99, 100).isYes());
  QCOMPARE(judgeLength(100, 100).reason, Reason::RefusedTooLong);
  QCOMPARE(judgeLength(100, 100).a, std::int64_t{101});
  QCOMPARE(judgeLength(100, 100).b, std::int64_t{100});
  QCOMPARE(judgeLength(0, 100).reason, Reason::RefusedBadInput);
}

void AdmissionTest::theFinalLengthIsCappedByTheContext() {
  QCOMPARE(finalLength(10, 20, 100), std::int64_t{30});
  QCOMPARE(finalLength(10, 90, 100), std::int64_t{100});
  QCOMPARE(finalLength(10, 91, 100), std::int64_t{100});
  QCOMPARE(finalLength(10, INT64_MAX, 100), std::int64_t{100});
}

void AdmissionTest::whatThePoolCanNeverHoldIsRefusedWithBothNumbers() {
  QVERIFY(judgeSize(7, 7).isYes());
  const Verdict verdict = judgeSize(8, 7);
  QCOMPARE(verdict.reason, Reason::RefusedPoolTooSmall);
  QCOMPARE(verdict.a, std::int64_t{8});
  QCOMPARE(verdict.b, std::int64_t{7});
}

void AdmissionTest::aRequestEntersWhenAllIsThere() {
  AdmissionFacts facts = openFacts();
  QVERIFY(judgeAdmission(facts).isYes());
  facts.blocksNeeded = 20;
  facts.running = 3;
  facts.budgetUsed = 511;
  QVERIFY(judgeAdmission(facts).isYes());
}

void AdmissionTest::nobodyEntersInAStepThatPreempted() {
  AdmissionFacts facts = openFacts();
  facts.hasPreempted = true;
  QCOMPARE(judgeAdmission(facts).reason, Reason::WaitsPreemptionStep);
}

void AdmissionTest::sequencesBudgetAndBlocksEachKeepItOut() {
  AdmissionFacts facts = openFacts();
  facts.running = 4;
  QCOMPARE(judgeAdmission(facts).reason, Reason::WaitsSequences);
  QCOMPARE(judgeAdmission(facts).a, std::int64_t{4});
  facts = openFacts();
  facts.budgetUsed = 512;
  QCOMPARE(judgeAdmission(facts).reason, Reason::WaitsTokenBudget);
  facts = openFacts();
  facts.blocksNeeded = 21;
  const Verdict verdict = judgeAdmission(facts);
  QCOMPARE(verdict.reason, Reason::WaitsBlocks);
  QCOMPARE(verdict.a, std::int64_t{21});
  QCOMPARE(verdict.b, std::int64_t{20});
}

void AdmissionTest::promisedBlocksAreNotGivenTwice() {
  AdmissionFacts facts = openFacts();
  facts.blocksPromised = 11;
  const Verdict verdict = judgeAdmission(facts);
  QCOMPARE(verdict.reason, Reason::WaitsBlocks);
  QCOMPARE(verdict.b, std::int64_t{9});
  facts.blocksPromised = 30;  // more than there is: still no negative number
  QCOMPARE(judgeAdmission(facts).b, std::int64_t{0});
}

void AdmissionTest::aWaitReasonNamesTheLimitOfTheStep() {
  QCOMPARE(limitOf(Reason::WaitsSequences), Reason::LimitSequences);
  QCOMPARE(limitOf(Reason::WaitsTokenBudget), Reason::LimitTokenBudget);
  QCOMPARE(limitOf(Reason::WaitsBlocks), Reason::LimitBlocks);
  QCOMPARE(limitOf(Reason::WaitsPreemptionStep), Reason::LimitBlocks);
  QCOMPARE(limitOf(Reason::WaitsBatchEnd), Reason::LimitBatchPolicy);
}

QTEST_GUILESS_MAIN(AdmissionTest)
#include "tst_admission.moc"
