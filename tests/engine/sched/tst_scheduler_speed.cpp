// Prints what scheduler and cache cost a step; no limit is asserted, the machine may be busy.
// The target is 50 us at 256 running requests, 200 us at 2,048, 1 ms to look up 32k tokens.
#include <fmt/format.h>

#include <QtTest>
#include <algorithm>
#include <chrono>

#include "engine/sched/scheduler.h"

using namespace engine;
using namespace engine::sched;

namespace {

double microsecondsOf(auto&& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
      .count();
}

std::vector<TokenId> makeTokens(std::int64_t count, TokenId salt) {
  std::vector<TokenId> tokens(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = static_cast<TokenId>((static_cast<TokenId>(i) * 7 + salt) % 50000);
  }
  return tokens;
}

}  // namespace

class SchedulerSpeed : public QObject {
  Q_OBJECT

 private slots:
  void decodingStepsCostThisMuch_data();
  void decodingStepsCostThisMuch();
  void lookingUpALongPromptCostsThisMuch();
};

void SchedulerSpeed::decodingStepsCostThisMuch_data() {
  QTest::addColumn<int>("running");
  QTest::addColumn<int>("waiting");
  QTest::newRow("256 running") << 256 << 0;
  QTest::newRow("256 running, 1,000 waiting") << 256 << 1000;
  QTest::newRow("2,048 running") << 2048 << 0;
}

void SchedulerSpeed::decodingStepsCostThisMuch() {
  QFETCH(int, running);
  QFETCH(int, waiting);
  kv::KvCacheConfig config;
  config.numBlocks = 64 * running;
  config.maxContext = 4096;
  std::int64_t numEvents = 0;
  kv::KvCache cache(config, [&](const BlockRecord&) { ++numEvents; });
  SchedulerLimits limits;
  limits.maxSeqs = running;
  limits.maxBatchedTokens = std::max(4096, 2 * running);
  Scheduler scheduler(cache, config.maxContext, limits);
  for (int i = 0; i < running + waiting; ++i) {
    SequenceSpec spec;
    spec.id = RequestId(static_cast<std::uint64_t>(i));
    spec.promptIds = makeTokens(200 + i % 100, i);
    spec.maxTokens = 700;
    QVERIFY(!scheduler.submit(std::move(spec)));
  }
  const TokenId token = 7;
  std::vector<RowResult> results;
  std::vector<double> times;
  for (int step = 0; step < 600; ++step) {
    const StepPlan* plan = nullptr;
    const double planTime = microsecondsOf([&] { plan = &scheduler.plan(0); });
    results.assign(plan->rows.size(), {});
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (plan->rows[i].samples) results[i].tokens = std::span(&token, 1);
    }
    const bool isSteady = plan->decodeTokens == running;
    const double commitTime = microsecondsOf([&] { scheduler.commitStep(results); });
    if (isSteady) times.push_back(planTime + commitTime);
  }
  QVERIFY(times.size() > 100);
  std::ranges::sort(times);
  qInfo("%s", fmt::format(
                  "plan + commit: median {:.1f} us, P95 {:.1f} us, over {} steps; {} events",
                  times[times.size() / 2], times[times.size() * 95 / 100], times.size(), numEvents)
                  .c_str());
}

void SchedulerSpeed::lookingUpALongPromptCostsThisMuch() {
  kv::KvCacheConfig config;
  config.numBlocks = 4096;
  config.maxContext = 40000;
  kv::KvCache cache(config);
  const std::vector<TokenId> tokens = makeTokens(32769, 0);
  kv::BlockTable table(RequestId(1), config.blockSize);
  kv::HashChain chain = cache.makeChain("");
  auto reservation = cache.openReservation();
  std::vector<kv::BlockCopy> copies;
  QVERIFY(reservation->tryGrow(table, 0, 32768, copies));
  reservation->commit();
  cache.markWritten(table, 0, 32768);
  cache.publish(table, {&chain, tokens}, 0, 32768);
  std::vector<double> times;
  for (int i = 0; i < 50; ++i) {
    kv::HashChain fresh = cache.makeChain("");  // hashes included
    kv::PrefixMatch match;
    times.push_back(microsecondsOf([&] { match = cache.findPrefix({&fresh, tokens}); }));
    QCOMPARE(match.numTokens, std::int64_t{32768});
  }
  std::ranges::sort(times);
  qInfo("%s", fmt::format("32,768 tokens hashed and found: median {:.1f} us", times[25]).c_str());
  cache.release(table);
}

QTEST_GUILESS_MAIN(SchedulerSpeed)
#include "tst_scheduler_speed.moc"
