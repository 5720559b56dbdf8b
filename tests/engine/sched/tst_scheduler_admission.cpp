// Who enters and when: batches with a door, the slo policy, what comes back from host memory.
#include <QtTest>
#include <algorithm>
#include <set>

#include "engine/sched/sched_snapshot.h"
#include "engine/sched/scheduler.h"
#include "tests/support/sched_rig.h"

using namespace engine;
using namespace engine::sched;
using support::countingTokens;
using support::SchedRig;

namespace {

constexpr std::int64_t kMs = 1'000'000;

SchedulerLimits batched(BatchingKind kind, int maxBatch) {
  SchedulerLimits limits;
  limits.batching = kind;
  limits.maxBatch = maxBatch;
  return limits;
}

SchedulerLimits swapping() {
  SchedulerLimits limits;
  limits.preemption = PreemptionKind::Swap;
  return limits;
}

kv::KvCacheConfig withSwap(std::int64_t numBlocks, int blockSize, std::int64_t swapBlocks) {
  kv::KvCacheConfig config = support::pagedConfig(numBlocks, blockSize);
  config.swapBlocks = swapBlocks;
  return config;
}

SequenceSpec withSlo(std::uint64_t id, std::int64_t arrivalNs, std::optional<double> ttftMs) {
  SequenceSpec spec = SchedRig::spec(id, countingTokens(20, static_cast<TokenId>(id) * 100), 5);
  spec.arrivalNs = arrivalNs;
  spec.slo.ttftMs = ttftMs;
  return spec;
}

std::set<std::uint64_t> admitted(const StepPlan& plan) {
  std::set<std::uint64_t> ids;
  for (const PlanRow& row : plan.rows) {
    if (row.entry != RowEntry::Continues) ids.insert(row.request.value);
  }
  return ids;
}

}  // namespace

class SchedulerAdmissionTest : public QObject {
  Q_OBJECT

 private slots:
  void aStaticBatchKeepsItsAnswersUntilTheLastIsDone();
  void aStaticBatchCountsWhatItWastes();
  void aBatchLargerThanTheBudgetPrefillsInSeveralSteps();
  void aDynamicBatchBeginsWhenItIsFullOrTheDelayIsOver();
  void aCancelEndsABatchToo();
  void switchingBatchingOffLetsTheHeldGo();
  void aBatchReservesWholeLengths();
  void theSloPolicyServesWhoIsDueFirst();
  void theSloPolicyRefusesWhatIsLate();
  void theSloPolicyStarvesNobody();
  void aSwappedRequestComesBackWithoutComputingAgain();
  void fullHostMemoryMeansRecomputing();
  void aCancelledSwappedRequestGivesItsHostMemoryBack();
  void anAbandonedSwapLeavesNoTrace();
  void withoutACacheEveryTokenComputesAllBeforeIt();
  void everyWaitingRequestGetsATokenWithin32Steps_data();
  void everyWaitingRequestGetsATokenWithin32Steps();
  void decodesDoNotStarvePrompts();
  void tenThousandRequestsAtOnceAllEnd();
  void fragmentationIsMeasuredForBothAllocators();
};

void SchedulerAdmissionTest::aStaticBatchKeepsItsAnswersUntilTheLastIsDone() {
  SchedRig rig(256, 4, batched(BatchingKind::Static, 3));
  const std::int64_t lengths[] = {2, 9, 5, 3};
  for (std::uint64_t id = 0; id < 4; ++id) QVERIFY(rig.submit(id, 6, lengths[id]));
  rig.step();
  QVERIFY(rig.plan.holdsResults);
  QCOMPARE(admitted(rig.plan), (std::set<std::uint64_t>{0, 1, 2}));
  QCOMPARE(rig.decision(3).reason, Reason::WaitsBatchEnd);
  QCOMPARE(rig.plan.limit, Reason::LimitBatchPolicy);
  for (int step = 2; step <= 8; ++step) {
    rig.step();
    QVERIFY(rig.ended.empty());
  }
  QCOMPARE(rig.decision(0).reason, Reason::HeldForBatch);
  QCOMPARE(rig.at(0).numOutput(), std::int64_t{2});
  QVERIFY(rig.at(0).table.size() > 0);
  rig.step();
  QCOMPARE(rig.ended.size(), std::size_t{3});
  QCOMPARE(rig.cache.pool().numUsed(), std::int64_t{0});
  rig.runToEnd();
  QCOMPARE(rig.ended.size(), std::size_t{4});
  for (std::uint64_t id = 0; id < 4; ++id) {
    QCOMPARE(rig.ended[id].usage.completionTokens, lengths[id]);
    QCOMPARE(rig.ended[id].reason, Reason::FinishedLength);
  }
}

void SchedulerAdmissionTest::aStaticBatchCountsWhatItWastes() {
  SchedRig rig(256, 4, batched(BatchingKind::Static, 3));
  QVERIFY(rig.submit(1, 10, 2));
  QVERIFY(rig.submit(2, 25, 9));
  QVERIFY(rig.submit(3, 7, 5));
  rig.runToEnd();
  QCOMPARE(rig.scheduler.counters().paddedTokens, std::int64_t{15 + 0 + 18});
  QCOMPARE(rig.scheduler.counters().idleSlotSteps, std::int64_t{7 + 0 + 4});
  SchedRig continuous(256, 4, SchedulerLimits{});
  QVERIFY(continuous.submit(1, 10, 2));
  QVERIFY(continuous.submit(2, 25, 9));
  continuous.runToEnd();
  QCOMPARE(continuous.scheduler.counters().paddedTokens, std::int64_t{0});
  QCOMPARE(continuous.scheduler.counters().idleSlotSteps, std::int64_t{0});
}

void SchedulerAdmissionTest::aBatchLargerThanTheBudgetPrefillsInSeveralSteps() {
  SchedulerLimits limits = batched(BatchingKind::Static, 4);
  limits.maxBatchedTokens = 16;
  SchedRig rig(256, 4, limits);
  for (std::uint64_t id = 0; id < 4; ++id) QVERIFY(rig.submit(id, 30, 4));
  std::set<std::uint64_t> entered;
  while (rig.scheduler.hasWork()) {
    rig.step();
    for (const std::uint64_t id : admitted(rig.plan)) QVERIFY(entered.insert(id).second);
    QVERIFY(rig.plan.decodeTokens == 0 || rig.plan.prefillTokens == 0);
    if (rig.plan.id.value == 1) QCOMPARE(rig.scheduler.numRunning(), std::size_t{4});
  }
  QCOMPARE(entered.size(), std::size_t{4});
  QCOMPARE(rig.ended.size(), std::size_t{4});
  QCOMPARE(rig.scheduler.counters().idleSlotSteps, std::int64_t{0});
}

void SchedulerAdmissionTest::aDynamicBatchBeginsWhenItIsFullOrTheDelayIsOver() {
  SchedulerLimits limits = batched(BatchingKind::Dynamic, 3);
  limits.queueDelayMs = 10;
  SchedRig rig(256, 4, limits);
  const auto arrive = [&](std::uint64_t id, std::int64_t ns) {
    SequenceSpec spec = withSlo(id, ns, std::nullopt);
    QVERIFY(!rig.scheduler.submit(std::move(spec)));
  };
  rig.nowNs = 100 * kMs;
  arrive(1, 100 * kMs);
  arrive(2, 104 * kMs);
  rig.nowNs = 105 * kMs;
  rig.step();
  QVERIFY(rig.plan.isEmpty());
  QCOMPARE(rig.plan.wakeAtNs, 110 * kMs);
  QCOMPARE(rig.decision(1).reason, Reason::WaitsQueueDelay);
  QCOMPARE(rig.decision(1).a, std::int64_t{2});
  QCOMPARE(rig.scheduler.counters().steps, std::uint64_t{0});  // nothing was computed
  rig.nowNs = 110 * kMs;
  rig.step();
  QCOMPARE(admitted(rig.plan), (std::set<std::uint64_t>{1, 2}));
  rig.runToEnd();
  for (std::uint64_t id = 3; id < 7; ++id) arrive(id, 200 * kMs);
  rig.nowNs = 200 * kMs;
  rig.step();  // full at once
  QCOMPARE(admitted(rig.plan), (std::set<std::uint64_t>{3, 4, 5}));
}

void SchedulerAdmissionTest::aCancelEndsABatchToo() {
  SchedRig rig(256, 4, batched(BatchingKind::Static, 2));
  QVERIFY(rig.submit(1, 6, 2));
  QVERIFY(rig.submit(2, 6, 50));
  QVERIFY(rig.submit(3, 6, 2));
  for (int i = 0; i < 4; ++i) rig.step();
  QVERIFY(rig.at(1).isParked());
  QVERIFY(rig.scheduler.finish(RequestId(2), FinishReason::Cancelled));
  rig.step();
  QVERIFY(rig.plan.isEmpty());
  QCOMPARE(rig.ended[1].usage.completionTokens, std::int64_t{2});
  rig.step();
  QCOMPARE(admitted(rig.plan), (std::set<std::uint64_t>{3}));
  rig.runToEnd();
  QCOMPARE(rig.cache.pool().numUsed(), std::int64_t{0});
}

void SchedulerAdmissionTest::switchingBatchingOffLetsTheHeldGo() {
  SchedRig rig(256, 4, batched(BatchingKind::Static, 2));
  QVERIFY(rig.submit(1, 6, 2));
  QVERIFY(rig.submit(2, 6, 50));
  for (int i = 0; i < 4; ++i) rig.step();
  QVERIFY(rig.ended.empty());
  rig.scheduler.setLimits(SchedulerLimits{});
  rig.step();
  QVERIFY(rig.ended.contains(1));
  QVERIFY(!rig.ended.contains(2));
}

void SchedulerAdmissionTest::aBatchReservesWholeLengths() {
  SchedRig rig(12, 4, batched(BatchingKind::Static, 3));
  for (std::uint64_t id = 1; id <= 3; ++id) QVERIFY(rig.submit(id, 8, 16));  // 6 blocks each
  rig.step();
  QCOMPARE(admitted(rig.plan), (std::set<std::uint64_t>{1, 2}));
  rig.runToEnd();
  QCOMPARE(rig.scheduler.counters().preemptions, std::uint64_t{0});
  QCOMPARE(rig.ended.size(), std::size_t{3});
}

void SchedulerAdmissionTest::theSloPolicyServesWhoIsDueFirst() {
  SchedulerLimits limits;
  limits.policy = PolicyKind::Slo;
  limits.maxSeqs = 1;
  SchedRig rig(64, 4, limits);
  QVERIFY(!rig.scheduler.submit(withSlo(1, 0, std::nullopt)));
  QVERIFY(!rig.scheduler.submit(withSlo(2, 1 * kMs, 500.0)));
  QVERIFY(!rig.scheduler.submit(withSlo(3, 2 * kMs, 300.0)));
  std::vector<std::uint64_t> order;
  rig.nowNs = 3 * kMs;
  while (rig.scheduler.hasWork()) {
    rig.step();
    for (const std::uint64_t id : admitted(rig.plan)) order.push_back(id);
  }
  QCOMPARE(order, (std::vector<std::uint64_t>{3, 2, 1}));
}

void SchedulerAdmissionTest::theSloPolicyRefusesWhatIsLate() {
  SchedulerLimits limits;
  limits.policy = PolicyKind::Slo;
  limits.maxSeqs = 1;
  SchedRig rig(64, 4, limits);
  QVERIFY(!rig.scheduler.submit(withSlo(1, 0, 100.0)));
  rig.step();
  QVERIFY(!rig.scheduler.submit(withSlo(2, 0, 50.0)));
  QVERIFY(!rig.scheduler.submit(withSlo(3, 0, std::nullopt)));
  rig.nowNs = 51 * kMs;
  rig.step();
  QCOMPARE(rig.plan.rejected.size(), std::size_t{1});
  QCOMPARE(rig.ended[2].finish, FinishReason::Refused);
  QCOMPARE(rig.ended[2].reason, Reason::RefusedTtft);
  QCOMPARE(rig.ended[2].a, std::int64_t{51'000});
  QCOMPARE(rig.ended[2].b, std::int64_t{50'000});
  rig.runToEnd();
  QCOMPARE(rig.ended[1].finish, FinishReason::Length);
  QCOMPARE(rig.ended[3].finish, FinishReason::Length);
  QVERIFY(rig.scheduler.find(RequestId(2)) == nullptr);
}

void SchedulerAdmissionTest::theSloPolicyStarvesNobody() {
  SchedulerLimits limits;
  limits.policy = PolicyKind::Slo;
  limits.maxSeqs = 1;
  SchedRig rig(64, 4, limits);
  QVERIFY(!rig.scheduler.submit(withSlo(1, 0, std::nullopt)));
  std::uint64_t next = 2;
  while (!rig.ended.contains(1) && rig.nowNs < 60'000 * kMs) {
    // one always waits that is due earlier than anybody who asks for nothing
    while (rig.scheduler.numWaiting() < 3) {
      QVERIFY(!rig.scheduler.submit(withSlo(next++, rig.nowNs, 400.0)));
    }
    rig.step();
    rig.nowNs += 20 * kMs;
  }
  QVERIFY(rig.ended.contains(1));
  QVERIFY(rig.nowNs < kPatienceNs + 2000 * kMs);
}

void SchedulerAdmissionTest::aSwappedRequestComesBackWithoutComputingAgain() {
  SchedulerLimits limits = swapping();
  limits.prefixCache = false;
  SchedRig rig(withSwap(12, 4, 100), limits);
  for (std::uint64_t id = 1; id <= 2; ++id) QVERIFY(rig.submit(id, 20, 24));
  std::int64_t restored = 0;
  while (rig.scheduler.hasWork()) {
    rig.step();
    for (const PlanRow& row : rig.plan.rows) {
      if (row.entry != RowEntry::Resumed) continue;
      QCOMPARE(row.reason, Reason::ResumedFromSwap);
      QCOMPARE(row.numTokens, 1);  // only its newest token
      restored += row.a;
    }
  }
  QVERIFY(restored > 0);
  const SchedulerCounters& counters = rig.scheduler.counters();
  QVERIFY(counters.swaps > 0);
  QCOMPARE(counters.swaps, counters.preemptions);
  QCOMPARE(counters.promptTokens, std::uint64_t{40});
  QCOMPARE(rig.cache.swapSpace().numUsed(), std::int64_t{0});
  const auto count = [&](BlockOp op) {
    return std::ranges::count(rig.events, op, &BlockRecord::op);
  };
  QVERIFY(count(BlockOp::SwapOut) > 0);
  QCOMPARE(count(BlockOp::SwapOut), count(BlockOp::SwapIn));
  for (std::uint64_t id = 1; id <= 2; ++id) {
    SchedRig alone(256, 4, SchedulerLimits{});
    QVERIFY(alone.submit(id, 20, 24));
    alone.runToEnd();
    QCOMPARE(rig.outputs[id], alone.outputs[id]);
  }
}

void SchedulerAdmissionTest::fullHostMemoryMeansRecomputing() {
  SchedRig rig(withSwap(12, 4, 3), swapping());
  for (std::uint64_t id = 1; id <= 2; ++id) QVERIFY(rig.submit(id, 20, 24));
  bool wasFull = false;
  while (rig.scheduler.hasWork()) {
    rig.step();
    for (const Preemption& one : rig.plan.preempted) {
      QCOMPARE(one.reason, Reason::PreemptedSwapFull);
      QCOMPARE(one.b, std::int64_t{3});
      wasFull = true;
    }
  }
  QVERIFY(wasFull);
  QCOMPARE(rig.scheduler.counters().swaps, std::uint64_t{0});
  QCOMPARE(rig.ended.size(), std::size_t{2});
}

void SchedulerAdmissionTest::aCancelledSwappedRequestGivesItsHostMemoryBack() {
  SchedRig rig(withSwap(12, 4, 100), swapping());
  for (std::uint64_t id = 1; id <= 2; ++id) QVERIFY(rig.submit(id, 20, 24));
  while (rig.cache.swapSpace().numUsed() == 0) rig.step();
  QVERIFY(rig.at(2).progress.swappedTokens > 0);
  QVERIFY(rig.scheduler.finish(RequestId(2), FinishReason::Cancelled));
  QCOMPARE(rig.cache.swapSpace().numUsed(), std::int64_t{0});
  rig.runToEnd();
}

void SchedulerAdmissionTest::anAbandonedSwapLeavesNoTrace() {
  SchedRig rig(withSwap(12, 4, 100), swapping());
  for (std::uint64_t id = 1; id <= 2; ++id) QVERIFY(rig.submit(id, 20, 24));
  while (true) {
    const StepPlan& plan = rig.scheduler.plan(0);
    const bool swaps = !plan.swapOuts.empty();
    rig.scheduler.abandonStep(StepProgress::NotExecuted);
    QCOMPARE(rig.cache.swapSpace().numUsed(), std::int64_t{0});
    SchedRig::require(findViolations(rig.scheduler));
    if (swaps) break;
    rig.step();
  }
  QCOMPARE(rig.at(2).progress.state, RequestState::Decoding);
  rig.step();
  QVERIFY(rig.cache.swapSpace().numUsed() > 0);
  while (true) {  // and the way back
    const bool returns = !rig.scheduler.plan(0).swapIns.empty();
    rig.scheduler.abandonStep(StepProgress::MayHaveWritten);
    SchedRig::require(findViolations(rig.scheduler));
    rig.step();
    if (returns) break;
  }
  QCOMPARE(rig.cache.swapSpace().numUsed(), std::int64_t{0});
  rig.runToEnd();
}

void SchedulerAdmissionTest::withoutACacheEveryTokenComputesAllBeforeIt() {
  kv::KvCacheConfig config = support::pagedConfig(64, 4);
  config.isKept = false;
  SchedRig rig(config, SchedulerLimits{});
  QVERIFY(rig.submit(1, 10, 5));
  for (int step = 0; step < 5; ++step) {
    rig.step();
    QCOMPARE(rig.tokensOf(1), 10 + step);
    QCOMPARE(rig.plan.rows[0].reason,
             step == 0 ? Reason::PrefillChunk : Reason::RecomputesPrefix);
    QCOMPARE(rig.cache.pool().numUsed(), std::int64_t{0});  // nothing is kept
  }
  SchedRig cached(64, 4, SchedulerLimits{});
  QVERIFY(cached.submit(1, 10, 5));
  cached.runToEnd();
  QCOMPARE(rig.outputs[1], cached.outputs[1]);
}

void SchedulerAdmissionTest::everyWaitingRequestGetsATokenWithin32Steps_data() {
  QTest::addColumn<int>("policy");
  QTest::addColumn<int>("budget");
  for (const int policy : {0, 1, 2}) {
    for (const int budget : {16, 64, 512}) {
      QTest::addRow("policy %d budget %d", policy, budget) << policy << budget;
    }
  }
}

// Giant prompts before it and among it; everybody who has room to run gets budget within 32 steps.
void SchedulerAdmissionTest::everyWaitingRequestGetsATokenWithin32Steps() {
  QFETCH(int, policy);
  QFETCH(int, budget);
  SchedulerLimits limits;
  limits.policy = static_cast<PolicyKind>(policy);
  limits.maxBatchedTokens = budget;
  SchedRig rig(20000, 16, limits);
  for (std::uint64_t id = 1; id <= 2; ++id) QVERIFY(rig.submit(id, 60'000, 2));
  rig.step();
  for (std::uint64_t id = 3; id <= 10; ++id) QVERIFY(rig.submit(id, 40, 3));
  std::map<std::uint64_t, int> lastStep;
  for (std::uint64_t id = 1; id <= 10; ++id) lastStep[id] = 0;
  for (int step = 1; step <= 200 && rig.ended.size() < 8; ++step) {
    rig.step();
    rig.nowNs += kMs;
    for (const PlanRow& row : rig.plan.rows) lastStep[row.request.value] = step;
    for (const auto& [id, last] : lastStep) {
      if (rig.ended.contains(id)) continue;
      QVERIFY2(step - last <= 32, qPrintable(QString("request %1 at step %2").arg(id).arg(step)));
    }
  }
}

void SchedulerAdmissionTest::decodesDoNotStarvePrompts() {
  SchedulerLimits limits;
  limits.maxBatchedTokens = 12;
  SchedRig rig(4096, 16, limits);
  for (std::uint64_t id = 1; id <= 16; ++id) QVERIFY(rig.submit(id, 2, 400));
  for (int i = 0; i < 60; ++i) rig.step();
  QVERIFY(rig.plan.decodeTokens == 12);  // more decodes than budget
  QVERIFY(rig.submit(17, 20, 3));
  int steps = 0;
  while (rig.at(17).progress.numComputed == 0) {
    rig.step();
    ++steps;
  }
  QVERIFY(steps <= 32);
  while (!rig.ended.contains(17)) rig.step();
  for (std::uint64_t id = 1; id <= 16; ++id) QVERIFY(rig.outputs[id].size() > 40);
}

void SchedulerAdmissionTest::tenThousandRequestsAtOnceAllEnd() {
  SchedulerLimits limits;
  limits.maxBatchedTokens = 2048;
  limits.maxSeqs = 256;
  kv::KvCacheConfig config = support::pagedConfig(4096, 16);
  config.maxContext = 4096;
  kv::KvCache cache(config);
  Scheduler scheduler(cache, config.maxContext, limits);
  for (std::uint64_t id = 0; id < 10'000; ++id) {
    const auto salt = static_cast<TokenId>(id);
    QVERIFY(
        !scheduler.submit(SchedRig::spec(id, countingTokens(5 + salt % 40, salt), 1 + salt % 5)));
  }
  std::size_t ended = 0;
  const TokenId token = 7;
  while (scheduler.hasWork()) {
    const StepPlan& plan = scheduler.plan(0);
    std::vector<RowResult> results(plan.rows.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (plan.rows[i].samples) results[i].tokens = std::span(&token, 1);
    }
    ended += scheduler.commitStep(results).size();
  }
  QCOMPARE(ended, std::size_t{10'000});
  QCOMPARE(cache.pool().numUsed(), std::int64_t{0});
}

void SchedulerAdmissionTest::fragmentationIsMeasuredForBothAllocators() {
  kv::KvCacheConfig contiguous = support::pagedConfig(40, 4);
  contiguous.allocator = AllocatorKind::Contiguous;
  contiguous.maxContext = 40;  // 10 blocks a request
  for (const bool isPaged : {true, false}) {
    SchedRig rig(isPaged ? support::pagedConfig(40, 4) : contiguous, SchedulerLimits{});
    for (std::uint64_t id = 1; id <= 3; ++id) QVERIFY(rig.submit(id, 9, id == 2 ? 2 : 12));
    rig.runToEnd();
    const EngineCounters counters = snapshotCounters(rig.scheduler);
    QVERIFY(counters.usedSlotSteps > 0);
    const double internal =
        static_cast<double>(counters.emptySlotSteps) / static_cast<double>(counters.usedSlotSteps);
    QVERIFY(isPaged ? internal < 0.25 : internal > 0.5);
    // the second ends first: its hole and the end of the pool are two runs of free blocks
    QCOMPARE(counters.strandedBlockSteps > 0, !isPaged);
    QVERIFY(counters.strandedBlockSteps <= counters.freeBlockSteps);
  }
}

QTEST_GUILESS_MAIN(SchedulerAdmissionTest)
#include "tst_scheduler_admission.moc"
