#include "engine/sched/scheduler.h"

#include <QtTest>

#include "engine/sched/sched_snapshot.h"
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

class SchedulerTest : public QObject {
  Q_OBJECT

 private slots:
  void aPromptIsComputedThenOneTokenAStep();
  void aLongPromptIsCutIntoBudgetSizedChunks();
  void decodesGoFirstAndThePrefillTakesTheRest();
  void aChunkThatIsNotTheLastSamplesNothing();
  void nobodyWaitsForALongPrefillToEnd();
  void theLongPrefillThresholdLetsOthersIn();
  void aSmallBudgetGoesRound();
  void sequencesBeyondTheMaximumWait();
  void whatCanNeverFitIsRefusedWithBothNumbers();
  void badInputIsRefused();
  void aRequestEndsAtItsLengthAndAtTheContext();
  void blocksAreTakenOnlyAsNeeded();
  void theLastAdmittedIsPreemptedAndComesBack();
  void nobodyIsAdmittedInAStepThatPreempted();
  void aPreemptedRequestGivesTheSameTokens();
  void thereIsNoLoopOfAdmissionAndPreemption();
  void theWorstPriorityIsPreempted();
  void aPreemptedRowGivesItsBudgetBack();
  void aSecondPromptReusesTheFirst();
  void requestsThatMustComputeEverythingDoNotReadTheCache();
  void withoutThePrefixCacheNothingIsReused();
  void aCancelledRequestGivesAllBackWhereverItIs();
  void aFailedRowEndsOneRequestAndIsNeverFound();
  void anAbandonedStepLeavesNoTrace();
  void aDeadStepIsPlannedAgainAndGivesTheSame();
  void acceptedDraftsAdvanceAndRejectedOnesDoNot();
  void draftsNeverGoBeyondALimit();
  void forksShareAndCopy();
  void aForkOfTheContiguousAllocatorIsRefused();
  void theContiguousAllocatorReservesAndRefuses();
  void everyDecisionHasItsReason();
  void limitsActFromTheNextStep();
};

void SchedulerTest::aPromptIsComputedThenOneTokenAStep() {
  SchedRig rig(16, 4, limitsOf(4, 64));
  QVERIFY(rig.submit(1, 10, 3));
  rig.step();
  QCOMPARE(rig.plan.rows.size(), std::size_t{1});
  QCOMPARE(rig.plan.rows[0].numTokens, 10);
  QCOMPARE(rig.plan.rows[0].phase, SlicePhase::Prefill);
  QCOMPARE(rig.plan.rows[0].entry, RowEntry::Admitted);
  QVERIFY(rig.plan.rows[0].samples);
  QCOMPARE(rig.at(1).progress.state, RequestState::Decoding);
  rig.step();
  QCOMPARE(rig.plan.rows[0].numTokens, 1);
  QCOMPARE(rig.plan.rows[0].firstPosition, std::int64_t{10});
  QCOMPARE(rig.plan.rows[0].phase, SlicePhase::Decode);
  rig.step();
  // 3 outputs need 3 passes: the prompt's gives the first
  QVERIFY(!rig.scheduler.hasWork());
  QCOMPARE(rig.ended[1].finish, FinishReason::Length);
  QCOMPARE(rig.ended[1].usage.completionTokens, std::int64_t{3});
  QCOMPARE(rig.cache.pool().numUsed(), std::int64_t{0});
}

void SchedulerTest::aLongPromptIsCutIntoBudgetSizedChunks() {
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

void SchedulerTest::decodesGoFirstAndThePrefillTakesTheRest() {
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

void SchedulerTest::aChunkThatIsNotTheLastSamplesNothing() {
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

void SchedulerTest::nobodyWaitsForALongPrefillToEnd() {
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

void SchedulerTest::theLongPrefillThresholdLetsOthersIn() {
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

void SchedulerTest::aSmallBudgetGoesRound() {
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

void SchedulerTest::sequencesBeyondTheMaximumWait() {
  SchedRig rig(64, 4, limitsOf(2, 64));
  for (std::uint64_t id = 1; id <= 4; ++id) QVERIFY(rig.submit(id, 3, 2));
  rig.step();
  QCOMPARE(rig.plan.rows.size(), std::size_t{2});
  QCOMPARE(rig.plan.limit, Reason::LimitSequences);
  QCOMPARE(rig.decision(4).reason, Reason::WaitsSequences);
  QCOMPARE(rig.decision(4).a, std::int64_t{2});
  QCOMPARE(rig.decision(4).b, std::int64_t{2});
}

void SchedulerTest::whatCanNeverFitIsRefusedWithBothNumbers() {
  kv::KvCacheConfig config = support::pagedConfig(4, 4);
  config.maxContext = 100;
  SchedRig rig(config, limitsOf(4, 64));
  QVERIFY(rig.submit(1, 10, 6));
  const auto refusal = rig.scheduler.submit(SchedRig::spec(2, countingTokens(10), 7));
  QVERIFY(refusal.has_value());
  QCOMPARE(refusal->reason, Reason::RefusedPoolTooSmall);
  QCOMPARE(refusal->a, std::int64_t{5});
  QCOMPARE(refusal->b, std::int64_t{4});
  const auto tooLong = rig.scheduler.submit(SchedRig::spec(3, countingTokens(100), 1));
  QCOMPARE(tooLong->reason, Reason::RefusedTooLong);
  QCOMPARE(tooLong->a, std::int64_t{101});
  QCOMPARE(tooLong->b, std::int64_t{100});
  QVERIFY(rig.scheduler.find(RequestId(2)) == nullptr);
  rig.runToEnd();
}

void SchedulerTest::badInputIsRefused() {
  SchedRig rig(4, 4, limitsOf(4, 64));
  QCOMPARE(rig.scheduler.submit(SchedRig::spec(1, {}, 1))->reason, Reason::RefusedBadInput);
  QCOMPARE(rig.scheduler.submit(SchedRig::spec(1, {5}, 0))->reason, Reason::RefusedBadInput);
  QVERIFY(!rig.scheduler.finish(RequestId(77), FinishReason::Cancelled).has_value());
  QVERIFY(!rig.scheduler.hasWork());
}

void SchedulerTest::aRequestEndsAtItsLengthAndAtTheContext() {
  kv::KvCacheConfig config = support::pagedConfig(16, 4);
  config.maxContext = 20;
  SchedRig rig(config, limitsOf(4, 64));
  QVERIFY(rig.submit(1, 15, 1000));
  QVERIFY(rig.submit(2, 15, 4));
  QVERIFY(rig.submit(3, 19, 1000));
  rig.runToEnd();
  QCOMPARE(rig.ended[1].reason, Reason::FinishedContextFull);
  QCOMPARE(rig.ended[1].a, std::int64_t{20});
  QCOMPARE(rig.ended[1].finish, FinishReason::Length);
  QCOMPARE(rig.outputs[1].size(), std::size_t{5});
  QCOMPARE(rig.ended[2].reason, Reason::FinishedLength);
  QCOMPARE(rig.outputs[2].size(), std::size_t{4});
  QCOMPARE(rig.outputs[3].size(), std::size_t{1});
}

void SchedulerTest::blocksAreTakenOnlyAsNeeded() {
  SchedulerLimits limits = limitsOf(4, 64);
  limits.prefillChunk = 4;
  SchedRig rig(16, 4, limits);
  QVERIFY(rig.submit(1, 10, 20));
  for (const std::int64_t blocks : {1, 2, 3, 3, 3, 4}) {
    rig.step();
    QCOMPARE(rig.at(1).table.size(), blocks);
  }
}

void SchedulerTest::theLastAdmittedIsPreemptedAndComesBack() {
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

void SchedulerTest::nobodyIsAdmittedInAStepThatPreempted() {
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
  for (const Decision& one : rig.plan.decisions)
    waits = waits || one.reason == Reason::WaitsPreemptionStep;
  QVERIFY(waits);
  rig.runToEnd();
}

void SchedulerTest::aPreemptedRequestGivesTheSameTokens() {
  // a pool for three requests of 200 tokens; eight come, each to grow by 150
  SchedRig tight(38, 16, limitsOf(16, 64)), ample(1000, 16, limitsOf(16, 64));
  for (SchedRig* rig : {&tight, &ample}) {
    for (std::uint64_t id = 1; id <= 8; ++id) QVERIFY(rig->submit(id, 50, 150));
    rig->runToEnd();
  }
  QVERIFY(tight.scheduler.counters().preemptions > 0);
  QCOMPARE(ample.scheduler.counters().preemptions, std::uint64_t{0});
  QCOMPARE(tight.outputs, ample.outputs);
  for (std::uint64_t id = 1; id <= 8; ++id) {
    QCOMPARE(tight.ended[id].usage.completionTokens, std::int64_t{150});
  }
  QCOMPARE(tight.cache.pool().numUsed(), std::int64_t{0});
}

void SchedulerTest::thereIsNoLoopOfAdmissionAndPreemption() {
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

void SchedulerTest::theWorstPriorityIsPreempted() {
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

void SchedulerTest::aPreemptedRowGivesItsBudgetBack() {
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

void SchedulerTest::aSecondPromptReusesTheFirst() {
  SchedRig rig(32, 4, limitsOf(4, 64));
  QVERIFY(!rig.scheduler.submit(SchedRig::spec(1, countingTokens(18), 2)));
  rig.runToEnd();
  QVERIFY(!rig.scheduler.submit(SchedRig::spec(2, countingTokens(16), 2)));  // a full hit
  rig.step();
  QCOMPARE(rig.plan.rows[0].firstPosition, std::int64_t{12});
  QCOMPARE(rig.plan.rows[0].numTokens, 4);  // counted after the match
  QCOMPARE(rig.plan.rows[0].cachedTokens, std::int64_t{12});
  rig.runToEnd();
  QCOMPARE(rig.ended[2].usage.cachedTokens, std::int64_t{12});
  QCOMPARE(rig.scheduler.counters().prefixHits, std::uint64_t{12});
  // the same prompt on a cold cache gives the same
  SchedRig cold(32, 4, limitsOf(4, 64));
  QVERIFY(!cold.scheduler.submit(SchedRig::spec(2, countingTokens(16), 2)));
  cold.runToEnd();
  QCOMPARE(rig.outputs[2], cold.outputs[2]);
}

void SchedulerTest::requestsThatMustComputeEverythingDoNotReadTheCache() {
  SchedRig rig(32, 4, limitsOf(4, 64));
  QVERIFY(!rig.scheduler.submit(SchedRig::spec(1, countingTokens(18), 2)));
  rig.runToEnd();
  SequenceSpec spec = SchedRig::spec(2, countingTokens(18), 2);
  spec.readsPrefixCache = false;
  QVERIFY(!rig.scheduler.submit(std::move(spec)));
  rig.step();
  QCOMPARE(rig.plan.rows[0].numTokens, 18);
  rig.runToEnd();
}

void SchedulerTest::withoutThePrefixCacheNothingIsReused() {
  SchedulerLimits limits = limitsOf(4, 64);
  limits.prefixCache = false;
  SchedRig rig(32, 4, limits);
  for (std::uint64_t id = 1; id <= 2; ++id) {
    QVERIFY(!rig.scheduler.submit(SchedRig::spec(id, countingTokens(18), 2)));
    rig.runToEnd();
    QCOMPARE(rig.cache.pool().numCached(), std::int64_t{0});
    QCOMPARE(rig.ended[id].usage.cachedTokens, std::int64_t{0});
  }
}

void SchedulerTest::aCancelledRequestGivesAllBackWhereverItIs() {
  SchedulerLimits limits = limitsOf(2, 64);
  limits.prefillChunk = 8;
  SchedRig rig(32, 4, limits);
  QVERIFY(rig.submit(1, 4, 50));  // decodes
  QVERIFY(rig.submit(2, 30, 5));  // prefills
  QVERIFY(rig.submit(3, 4, 5));   // waits
  rig.step();
  rig.step();
  for (const std::uint64_t id : {2, 3, 1}) {
    const auto ended = rig.scheduler.finish(RequestId(id), FinishReason::Cancelled);
    QVERIFY(ended.has_value());
    QCOMPARE(ended->reason, Reason::CancelledByUser);
    QVERIFY(findViolations(rig.scheduler).empty());
  }
  QCOMPARE(rig.cache.pool().numUsed(), std::int64_t{0});
  QVERIFY(!rig.scheduler.hasWork());
}

void SchedulerTest::aFailedRowEndsOneRequestAndIsNeverFound() {
  SchedRig rig(32, 4, limitsOf(4, 64));
  QVERIFY(rig.submit(1, 9, 5));
  QVERIFY(rig.submit(2, 9, 5));
  const StepPlan& plan = rig.scheduler.plan(0);
  QCOMPARE(plan.rows.size(), std::size_t{2});
  std::vector<RowResult> results(2);
  const TokenId token = 3;
  results[0].finish = FinishReason::Failed;
  results[1].tokens = std::span(&token, 1);
  const auto ended = rig.scheduler.commitStep(results);
  QCOMPARE(ended.size(), std::size_t{1});
  QCOMPARE(ended[0].request, RequestId(1));
  QCOMPARE(ended[0].reason, Reason::FailedStep);
  QVERIFY(findViolations(rig.scheduler).empty());
  QCOMPARE(rig.scheduler.numRunning(), std::size_t{1});
  QCOMPARE(rig.cache.pool().numCached(), std::int64_t{0});  // nothing of it stays
}

void SchedulerTest::anAbandonedStepLeavesNoTrace() {
  SchedRig rig(8, 4, limitsOf(4, 64));
  for (std::uint64_t id = 1; id <= 2; ++id) QVERIFY(rig.submit(id, 8, 20));
  rig.step();
  QVERIFY(rig.submit(3, 3, 3));
  for (int i = 0; i < 12; ++i) {
    const auto requests = snapshotRequests(rig.scheduler);
    const auto free = rig.cache.pool().freeOrder();
    const std::size_t events = rig.events.size();
    rig.scheduler.plan(0);
    rig.scheduler.abandonStep(StepProgress::NotExecuted);
    QVERIFY(findViolations(rig.scheduler).empty());
    QCOMPARE(rig.cache.pool().freeOrder(), free);
    QCOMPARE(rig.events.size(), events);
    const auto after = snapshotRequests(rig.scheduler);
    QCOMPARE(after.size(), requests.size());
    for (std::size_t r = 0; r < after.size(); ++r) {
      QCOMPARE(after[r].id, requests[r].id);
      QCOMPARE(after[r].blocks, requests[r].blocks);
      QCOMPARE(after[r].computedTokens, requests[r].computedTokens);
    }
    rig.step();
  }
}

void SchedulerTest::aDeadStepIsPlannedAgainAndGivesTheSame() {
  SchedRig dying(9, 4, limitsOf(4, 64)), quiet(9, 4, limitsOf(4, 64));
  for (SchedRig* rig : {&dying, &quiet}) {
    for (std::uint64_t id = 1; id <= 3; ++id) QVERIFY(rig->submit(id, 8, 20));
  }
  while (dying.scheduler.hasWork()) {
    const StepPlan& plan = dying.scheduler.plan(0);
    dying.toy.spoil(plan);
    dying.scheduler.abandonStep(StepProgress::MayHaveWritten);
    QVERIFY(findViolations(dying.scheduler).empty());
    dying.step();
  }
  quiet.runToEnd();
  QVERIFY(dying.scheduler.counters().preemptions > 0);
  QCOMPARE(dying.outputs, quiet.outputs);
}

void SchedulerTest::acceptedDraftsAdvanceAndRejectedOnesDoNot() {
  SchedRig rig(32, 4, limitsOf(4, 64)), plain(32, 4, limitsOf(4, 64));
  for (SchedRig* one : {&rig, &plain}) QVERIFY(one->submit(1, 7, 12));
  plain.runToEnd();
  rig.step();
  std::vector<TokenId> all = rig.at(1).tokens, drafts;
  for (int i = 0; i < 4; ++i) {
    drafts.push_back(i == 2 ? 999999 : rig.toy.nextOf(all));  // the third is wrong
    all.push_back(drafts.back());
  }
  rig.scheduler.setDrafts(RequestId(1), drafts);
  rig.step();
  QCOMPARE(rig.plan.rows[0].phase, SlicePhase::Verify);
  QCOMPARE(rig.plan.rows[0].numTokens, 5);
  QCOMPARE(rig.plan.rows[0].numDrafts, 4);
  QCOMPARE(rig.plan.numSampledRows, 5);
  QCOMPARE(rig.plan.draftTokens, 4);
  QCOMPARE(rig.at(1).numOutput(), std::int64_t{1 + 3});  // two accepted and one sampled
  QCOMPARE(rig.at(1).progress.numComputed, std::int64_t{7 + 3});
  rig.step();
  QCOMPARE(rig.plan.rows[0].numDrafts, 0);  // used once
  rig.runToEnd();
  QCOMPARE(rig.outputs, plain.outputs);
}

void SchedulerTest::draftsNeverGoBeyondALimit() {
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

void SchedulerTest::forksShareAndCopy() {
  SchedRig rig(200, 16, limitsOf(8, 512));
  QVERIFY(rig.submit(1, 300, 100));
  rig.step();
  for (std::uint64_t id = 2; id <= 4; ++id) {
    QVERIFY(rig.scheduler.fork(RequestId(1), RequestId(id), static_cast<TokenId>(id)).isOk());
    rig.outputs[id] = {static_cast<TokenId>(id)};
  }
  QVERIFY(findViolations(rig.scheduler).empty());
  QCOMPARE(rig.cache.pool().numUsed(), std::int64_t{19});
  rig.step();
  QCOMPARE(rig.plan.copies.size(), std::size_t{3});
  while (rig.at(1).numTokens() < 399) rig.step();
  QCOMPARE(rig.cache.pool().counters().cowCopies, std::uint64_t{3});
  rig.runToEnd();
  for (std::uint64_t id = 2; id <= 4; ++id) {
    QVERIFY(rig.outputs[id] != rig.outputs[1]);
    QCOMPARE(rig.outputs[id].size(), std::size_t{100});
  }
  QCOMPARE(rig.cache.pool().numUsed(), std::int64_t{0});
}

void SchedulerTest::aForkOfTheContiguousAllocatorIsRefused() {
  kv::KvCacheConfig config = support::pagedConfig(32, 4);
  config.allocator = AllocatorKind::Contiguous;
  config.maxContext = 32;
  SchedRig rig(config, limitsOf(4, 64));
  QVERIFY(rig.submit(1, 5, 5));
  rig.step();
  const Result<void> forked = rig.scheduler.fork(RequestId(1), RequestId(2), 7);
  QVERIFY(!forked.isOk());
  QCOMPARE(forked.error().code, ErrorCode::Unsupported);
  rig.runToEnd();
}

void SchedulerTest::theContiguousAllocatorReservesAndRefuses() {
  kv::KvCacheConfig config = support::pagedConfig(20, 4);
  config.allocator = AllocatorKind::Contiguous;
  config.maxContext = 32;  // 8 blocks each: two fit, four blocks are left over
  SchedRig rig(config, limitsOf(8, 64));
  for (std::uint64_t id = 1; id <= 4; ++id) QVERIFY(rig.submit(id, 5, 5));
  rig.step();
  QCOMPARE(rig.scheduler.numRunning(), std::size_t{2});
  QCOMPARE(rig.decision(3).reason, Reason::WaitsBlocks);
  QCOMPARE(rig.decision(3).a, std::int64_t{8});
  QCOMPARE(rig.decision(3).b, std::int64_t{4});
  QCOMPARE(rig.decision(4).reason, Reason::WaitsTurn);
  rig.runToEnd();
  QCOMPARE(rig.scheduler.counters().preemptions, std::uint64_t{0});
  SchedRig paged(20, 4, limitsOf(8, 64));
  for (std::uint64_t id = 1; id <= 4; ++id) QVERIFY(paged.submit(id, 5, 5));
  paged.runToEnd();
  QCOMPARE(rig.outputs, paged.outputs);
  config.numBlocks = 7;
  SchedRig small(config, limitsOf(8, 64));
  const auto refusal = small.scheduler.submit(SchedRig::spec(1, countingTokens(5), 5));
  QCOMPARE(refusal->reason, Reason::RefusedPoolTooSmall);
  QCOMPARE(refusal->a, std::int64_t{8});
  QCOMPARE(refusal->b, std::int64_t{7});
}

void SchedulerTest::everyDecisionHasItsReason() {
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

void SchedulerTest::limitsActFromTheNextStep() {
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

QTEST_GUILESS_MAIN(SchedulerTest)
#include "tst_scheduler.moc"
