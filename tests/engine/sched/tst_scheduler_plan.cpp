// Scheduler::plan(): who gets which part of a step, and why the others wait.
#include "engine/sched/scheduler.h"

#include <QtTest>

#include "tests/support/sched_rig.h"

using namespace engine;
using namespace engine::sched;
using support::countingTokens;
using support::SchedRig;

namespace {

SchedulerLimits limitsOf(int maxSeqs, int budget) {
  SchedulerLimits limits;
  limits.maxSeqs = maxSeqs;
  limits.maxBatchedTokens = budget;
  return limits;
}

}  // namespace

class SchedulerPlanTest : public QObject {
  Q_OBJECT

 private slots:
  void aLongPromptIsCutIntoBudgetSizedChunks();
  void decodesGoFirstAndThePrefillTakesTheRest();
  void aChunkThatIsNotTheLastSamplesNothing();
  void nobodyWaitsForALongPrefillToEnd();
  void theLongPrefillThresholdLetsOthersIn();
  void aSmallBudgetGoesRound();
  void sequencesBeyondTheMaximumWait();
  void theLastAdmittedIsPreemptedAndComesBack();
  void nobodyIsAdmittedInAStepThatPreempted();
  void thereIsNoLoopOfAdmissionAndPreemption();
  void theWorstPriorityIsPreempted();
  void aPreemptedRowGivesItsBudgetBack();
  void draftsNeverGoBeyondALimit();
  void everyDecisionHasItsReason();
  void limitsActFromTheNextStep();
};

void SchedulerPlanTest::aLongPromptIsCutIntoBudgetSizedChunks() {
  SchedRig rig(1024, 16, limitsOf(64, 512));
  QVERIFY(rig.submit(1, 8000, 1));
  std::vector<int> chunks;
  while (rig.scheduler.hasWork()) {
    rig.step();
    chunks.push_back(rig.tokensOf(1));
  }
  std::vector<int> expected(15, 512);
  expected.push_back(320);
  QCOMPARE(chunks, expected);
}

void SchedulerPlanTest::decodesGoFirstAndThePrefillTakesTheRest() {
  SchedRig rig(1024, 16, limitsOf(64, 512));
  for (std::uint64_t id = 1; id <= 8; ++id) QVERIFY(rig.submit(id, 4, 100));
  rig.step();
  QVERIFY(rig.submit(9, 8000, 1));
  std::vector<int> chunks;
  while (!rig.ended.contains(9)) {
    rig.step();
    QCOMPARE(rig.plan.decodeTokens, 8);
    chunks.push_back(rig.tokensOf(9));
  }
  std::vector<int> expected(15, 504);
  expected.push_back(440);
  QCOMPARE(chunks, expected);
}

void SchedulerPlanTest::aChunkThatIsNotTheLastSamplesNothing() {
  SchedulerLimits limits = limitsOf(4, 64);
  limits.prefillChunk = 4;
  SchedRig rig(16, 4, limits);
  QVERIFY(rig.submit(1, 9, 2));
  for (const bool samples : {false, false, true}) {
    rig.step();
    QCOMPARE(rig.plan.rows[0].samples, samples);
    QCOMPARE(rig.plan.numSampledRows, samples ? 1 : 0);
    QCOMPARE(rig.outputs[1].size(), samples ? std::size_t{1} : std::size_t{0});
    QCOMPARE(rig.at(1).progress.state, samples ? RequestState::Decoding : RequestState::Prefilling);
  }
}

void SchedulerPlanTest::nobodyWaitsForALongPrefillToEnd() {
  SchedRig rig(4096, 16, limitsOf(64, 512));
  QVERIFY(rig.submit(1, 40000, 1));  // 79 steps on its own
  rig.step();
  for (std::uint64_t id = 2; id <= 9; ++id) QVERIFY(rig.submit(id, 100, 5));
  std::map<std::uint64_t, int> firstStep;
  for (int step = 1; step <= 40; ++step) {
    rig.step();
    for (const PlanRow& row : rig.plan.rows) firstStep.try_emplace(row.request.value, step);
  }
  for (std::uint64_t id = 2; id <= 9; ++id) {
    QVERIFY2(firstStep.contains(id) && firstStep[id] <= 32, qPrintable(QString::number(id)));
  }
  QVERIFY(!rig.ended.contains(1));
}

void SchedulerPlanTest::theLongPrefillThresholdLetsOthersIn() {
  SchedulerLimits limits = limitsOf(64, 512);
  limits.longPrefillThreshold = 128;
  SchedRig rig(4096, 16, limits);
  QVERIFY(rig.submit(1, 8000, 1));
  rig.step();
  QCOMPARE(rig.tokensOf(1), 512);  // alone
  QVERIFY(rig.submit(2, 300, 1));
  rig.step();
  QCOMPARE(rig.tokensOf(1), 128);
  QCOMPARE(rig.tokensOf(2), 128);
}

void SchedulerPlanTest::aSmallBudgetGoesRound() {
  SchedRig rig(64, 4, limitsOf(10, 4));
  for (std::uint64_t id = 1; id <= 10; ++id) QVERIFY(rig.submit(id, 2, 12));
  rig.runToEnd();
  // all ran side by side: nobody was done long before another had begun to decode
  for (std::uint64_t id = 1; id <= 10; ++id) QCOMPARE(rig.outputs[id].size(), std::size_t{12});
  SchedRig fair(64, 4, limitsOf(10, 40));
  for (std::uint64_t id = 1; id <= 10; ++id) QVERIFY(fair.submit(id, 2, 30));
  fair.step();
  fair.scheduler.setLimits(limitsOf(10, 4));
  for (int i = 0; i < 15; ++i) fair.step();  // 60 tokens for 10 requests
  for (std::uint64_t id = 1; id <= 10; ++id) {
    const auto count = static_cast<int>(fair.outputs[id].size());
    QVERIFY2(count == 7, qPrintable(QString::number(count)));
  }
}

void SchedulerPlanTest::sequencesBeyondTheMaximumWait() {
  SchedRig rig(64, 4, limitsOf(2, 64));
  for (std::uint64_t id = 1; id <= 4; ++id) QVERIFY(rig.submit(id, 3, 2));
  rig.step();
  QCOMPARE(rig.plan.rows.size(), std::size_t{2});
  QCOMPARE(rig.plan.limit, Reason::LimitSequences);
  QCOMPARE(rig.decision(4).reason, Reason::WaitsSequences);
  QCOMPARE(rig.decision(4).a, std::int64_t{2});
  QCOMPARE(rig.decision(4).b, std::int64_t{2});
}

void SchedulerPlanTest::theLastAdmittedIsPreemptedAndComesBack() {
  SchedRig rig(6, 4, limitsOf(4, 64));
  for (std::uint64_t id = 1; id <= 2; ++id) QVERIFY(rig.submit(id, 8, 16));
  rig.step();
  QCOMPARE(rig.scheduler.numRunning(), std::size_t{2});
  while (rig.plan.preempted.empty()) rig.step();
  QCOMPARE(rig.plan.preempted.size(), std::size_t{1});
  QCOMPARE(rig.plan.preempted[0].request, RequestId(2));
  QCOMPARE(rig.plan.preempted[0].blocksReturned, std::int64_t{3});
  QCOMPARE(rig.plan.limit, Reason::LimitBlocks);
  QCOMPARE(rig.decision(2).reason, Reason::PreemptedForBlocks);
  QCOMPARE(rig.at(2).progress.state, RequestState::Preempted);
  QCOMPARE(rig.at(2).progress.numComputed, std::int64_t{0});
  QVERIFY(rig.at(2).numOutput() > 0);
  bool isResumed = false;
  while (rig.scheduler.hasWork()) {
    rig.step();
    for (const PlanRow& row : rig.plan.rows) {
      if (row.entry != RowEntry::Resumed) continue;
      isResumed = true;
      QCOMPARE(row.reason, Reason::ResumedAfterPreemption);
    }
  }
  QVERIFY(isResumed);
  QVERIFY(rig.ended[2].preemptions >= 1);
  QCOMPARE(rig.scheduler.counters().preemptions,
           static_cast<std::uint64_t>(rig.ended[2].preemptions));
  QCOMPARE(rig.ended[2].usage.completionTokens, std::int64_t{16});
  QCOMPARE(rig.cache.pool().numUsed(), std::int64_t{0});
}

void SchedulerPlanTest::nobodyIsAdmittedInAStepThatPreempted() {
  SchedRig rig(6, 4, limitsOf(4, 64));
  for (std::uint64_t id = 1; id <= 2; ++id) QVERIFY(rig.submit(id, 8, 16));
  rig.step();
  for (std::uint64_t id = 3; id <= 4; ++id) QVERIFY(rig.submit(id, 1, 1));
  while (rig.plan.preempted.empty()) {
    rig.step();
    if (rig.scheduler.numWaiting() == 0) QVERIFY(rig.submit(100 + rig.plan.id.value, 1, 1));
  }
  for (const PlanRow& row : rig.plan.rows) QCOMPARE(row.entry, RowEntry::Continues);
  bool waits = false;
  for (const Decision& one : rig.plan.rowless)
    waits = waits || one.reason == Reason::WaitsPreemptionStep;
  QVERIFY(waits);
  rig.runToEnd();
}

void SchedulerPlanTest::thereIsNoLoopOfAdmissionAndPreemption() {
  // a giant prompt under way has its blocks promised: a newcomer that would fit now must wait
  SchedulerLimits limits = limitsOf(4, 64);
  limits.prefillChunk = 16;
  SchedRig rig(40, 4, limits);
  QVERIFY(rig.submit(1, 140, 4));  // 35 blocks, then 36
  rig.step();
  QVERIFY(rig.submit(2, 40, 4));  // 10 blocks, and 36 are free
  int waited = 0;
  while (!rig.ended.contains(1)) {
    rig.step();
    if (rig.tokensOf(2) == 0) {
      QCOMPARE(rig.decision(2).reason, Reason::WaitsBlocks);
      ++waited;
    }
  }
  QVERIFY(waited > 3);
  rig.runToEnd();
  QCOMPARE(rig.scheduler.counters().preemptions, std::uint64_t{0});
}

void SchedulerPlanTest::theWorstPriorityIsPreempted() {
  SchedulerLimits limits = limitsOf(4, 64);
  limits.policy = PolicyKind::Priority;
  SchedRig rig(6, 4, limits);
  SequenceSpec worse = SchedRig::spec(1, countingTokens(8), 16);
  worse.priority = 5;
  QVERIFY(!rig.scheduler.submit(std::move(worse)));
  rig.step();
  QVERIFY(rig.submit(2, 8, 16));  // later, but better
  while (rig.plan.preempted.empty()) rig.step();
  QCOMPARE(rig.plan.preempted[0].request, RequestId(1));
  rig.runToEnd();
}

void SchedulerPlanTest::aPreemptedRowGivesItsBudgetBack() {
  SchedulerLimits limits = limitsOf(4, 64);
  limits.policy = PolicyKind::Priority;
  SchedRig rig(9, 4, limits);
  SequenceSpec worse = SchedRig::spec(1, countingTokens(5), 20);
  worse.priority = 5;
  QVERIFY(!rig.scheduler.submit(std::move(worse)));
  rig.step();
  for (std::uint64_t id = 2; id <= 3; ++id) QVERIFY(rig.submit(id, 6, 20));
  // the step in which request 1, planned first, has to go for another
  const auto preemptsNext = [&] {
    const bool does = !rig.scheduler.plan(0).preempted.empty();
    rig.scheduler.abandonStep(StepProgress::NotExecuted);
    return does;
  };
  while (!preemptsNext()) rig.step();
  limits.maxBatchedTokens = 2;
  rig.scheduler.setLimits(limits);
  rig.step();
  QCOMPARE(rig.plan.preempted.size(), std::size_t{1});
  QCOMPARE(rig.plan.preempted[0].request, RequestId(1));
  QCOMPARE(rig.tokensOf(2), 1);
  QCOMPARE(rig.tokensOf(3), 1);
  rig.scheduler.setLimits(limitsOf(4, 64));
  rig.runToEnd();
}

void SchedulerPlanTest::draftsNeverGoBeyondALimit() {
  SchedRig rig(32, 4, limitsOf(4, 8));
  QVERIFY(rig.submit(1, 4, 4));
  QVERIFY(rig.submit(2, 4, 40));
  rig.step();
  for (const std::uint64_t id : {1, 2}) {
    rig.scheduler.setDrafts(RequestId(id), std::vector<TokenId>(20, 1));
  }
  rig.step();
  // request 1 has three outputs left: one sampled, two drafts; one budget token is kept for 2
  QCOMPARE(rig.plan.rows[0].numDrafts, 2);
  QCOMPARE(rig.plan.rows[1].numTokens, 5);
  QVERIFY(rig.plan.numTokens() <= 8);
  rig.runToEnd();
  QCOMPARE(rig.outputs[1].size(), std::size_t{4});
}

void SchedulerPlanTest::everyDecisionHasItsReason() {
  SchedRig rig(12, 4, limitsOf(4, 20));
  QVERIFY(rig.submit(1, 4, 8));
  rig.step();
  QVERIFY(rig.submit(2, 30, 8));
  QVERIFY(rig.submit(3, 20, 8));
  rig.step();
  QCOMPARE(rig.decision(1).reason, Reason::DecodeNext);
  QCOMPARE(rig.decision(2).reason, Reason::PrefillChunk);
  QCOMPARE(rig.decision(2).tokens, std::int64_t{19});
  QCOMPARE(rig.decision(2).b, std::int64_t{30});
  QCOMPARE(rig.decision(3).reason, Reason::WaitsTokenBudget);
  QCOMPARE(rig.plan.limit, Reason::LimitTokenBudget);
  rig.step();
  QCOMPARE(rig.decision(3).reason, Reason::WaitsBlocks);
  QCOMPARE(rig.decision(3).a, std::int64_t{5});
  QCOMPARE(rig.plan.limit, Reason::LimitBlocks);
  rig.runToEnd();
}

void SchedulerPlanTest::limitsActFromTheNextStep() {
  SchedRig rig(64, 4, limitsOf(1, 64));
  for (std::uint64_t id = 1; id <= 3; ++id) QVERIFY(rig.submit(id, 3, 9));
  rig.step();
  QCOMPARE(rig.plan.rows.size(), std::size_t{1});
  rig.scheduler.setLimits(limitsOf(3, 64));
  rig.step();
  QCOMPARE(rig.plan.rows.size(), std::size_t{3});
  rig.scheduler.setLimits(limitsOf(1, 64));
  rig.step();
  QCOMPARE(rig.plan.rows.size(), std::size_t{3});  // nobody is thrown out
}

QTEST_GUILESS_MAIN(SchedulerPlanTest)
#include "tst_scheduler_plan.moc"
