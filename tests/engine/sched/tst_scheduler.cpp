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
  void whatCanNeverFitIsRefusedWithBothNumbers();
  void badInputIsRefused();
  void aRequestEndsAtItsLengthAndAtTheContext();
  void blocksAreTakenOnlyAsNeeded();
  void aPreemptedRequestGivesTheSameTokens();
  void aSecondPromptReusesTheFirst();
  void requestsThatMustComputeEverythingDoNotReadTheCache();
  void withoutThePrefixCacheNothingIsReused();
  void aCancelledRequestGivesAllBackWhereverItIs();
  void aFailedRowEndsOneRequestAndIsNeverFound();
  void anAbandonedStepLeavesNoTrace();
  void aDeadStepIsPlannedAgainAndGivesTheSame();
  void acceptedDraftsAdvanceAndRejectedOnesDoNot();
  void forksShareAndCopy();
  void aForkOfTheContiguousAllocatorComputesAnew();
  void theContiguousAllocatorReservesAndRefuses();
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

void SchedulerTest::aForkOfTheContiguousAllocatorComputesAnew() {
  kv::KvCacheConfig config = support::pagedConfig(32, 4);
  config.allocator = AllocatorKind::Contiguous;
  config.maxContext = 32;
  SchedRig rig(config, limitsOf(4, 64));
  QVERIFY(rig.submit(1, 5, 5));
  rig.step();
  QVERIFY(rig.scheduler.fork(RequestId(1), RequestId(2), 7).isOk());
  rig.outputs[2] = {7};
  QCOMPARE(rig.scheduler.numWaiting(), std::size_t{1});
  rig.runToEnd();
  QCOMPARE(rig.outputs[2].size(), std::size_t{5});
  QCOMPARE(rig.cache.pool().counters().cowCopies, std::uint64_t{0});
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

QTEST_GUILESS_MAIN(SchedulerTest)
#include "tst_scheduler.moc"
