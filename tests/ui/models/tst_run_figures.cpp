// labels: pure
#include "ui/models/run_figures.h"

#include <QTest>

using engine::RequestEvent;
using engine::TraceEvent;
using ui::models::LatencySamples;
using ui::models::RunFigures;

namespace {

constexpr std::int64_t kMs = 1'000'000;

TraceEvent request(std::uint64_t id, RequestEvent event, std::int64_t ms) {
  return TraceEvent(engine::RequestRecord{id, ms * kMs, 0, 0, event, engine::Reason::None});
}

TraceEvent token(std::uint64_t id, std::int64_t ms) {
  engine::TokenRecord record{};
  record.request = id;
  record.tNs = ms * kMs;
  return TraceEvent(record);
}

TraceEvent step(std::int64_t ms0, std::int64_t ms1, std::uint32_t prefill) {
  engine::IterationRecord record{};
  record.t0Ns = ms0 * kMs;
  record.t1Ns = ms1 * kMs;
  record.prefillTokens = prefill;
  record.running = 2;
  record.waiting = 5;
  record.freeBlocks = 60;
  record.cachedBlocks = 15;
  return TraceEvent(record);
}

constexpr std::int64_t kEver = std::int64_t{1} << 60;

}  // namespace

class RunFiguresTest : public QObject {
  Q_OBJECT

 private slots:
  void waitingTimesComeFromTheRequestsEvents() {
    RunFigures figures;
    figures.add({request(1, RequestEvent::Arrived, 10), token(1, 60), request(1, RequestEvent::FirstToken, 60),
                 token(1, 80), token(1, 120), request(1, RequestEvent::Finished, 121)});
    QCOMPARE(figures.timeToFirstToken().sorted(0, kEver), std::vector<double>{50.0});
    QCOMPARE(figures.timeBetweenTokens().sorted(0, kEver), (std::vector<double>{20.0, 40.0}));
    QCOMPARE(figures.timePerOutputToken().sorted(0, kEver), std::vector<double>{30.0});
    QCOMPARE(figures.timeBetweenTokens().sorted(100 * kMs, kEver), std::vector<double>{40.0});
  }

  void throughputQueueAndMemoryComeFromIterations() {
    RunFigures figures;
    figures.add({step(0, 100, 300)});
    QVERIFY(figures.kvUsed().points().empty());  // no pool known, no share
    figures.setPoolBlocks(100);
    figures.add({token(1, 200), token(2, 200), step(100, 200, 200), step(500, 600, 0)});
    QCOMPARE(figures.tokensIn().series().points().front().value, 1000.0);
    QCOMPARE(figures.tokensOut().series().points().front().value, 4.0);
    QCOMPARE(figures.waiting().points().back().value, 5.0);
    QCOMPARE(figures.running().points().size(), std::size_t{3});
    QCOMPARE(figures.kvUsed().points().back().value, 25.0);
    QCOMPARE(figures.latestNs(), 600 * kMs);
  }

  void nothingIsMeasuredAcrossALoss() {
    RunFigures figures;
    figures.add({request(1, RequestEvent::Arrived, 0), token(1, 10), token(1, 20)});
    figures.markLoss();
    figures.add({token(1, 500), token(1, 510), request(1, RequestEvent::Finished, 511), token(2, 520),
                 request(2, RequestEvent::FirstToken, 520), token(2, 530), request(2, RequestEvent::Finished, 531)});
    QCOMPARE(figures.timeBetweenTokens().sorted(0, kEver), (std::vector<double>{10.0, 10.0, 10.0}));
    QCOMPARE(figures.timePerOutputToken().size(), std::size_t{0});
    QCOMPARE(figures.timeToFirstToken().size(), std::size_t{0});  // when request 2 arrived was lost
  }

  void percentilesAreNearestRankAndP99NeedsAHundred() {
    std::vector<double> values;
    for (int i = 1; i <= 99; ++i) values.push_back(i);
    QCOMPARE(*LatencySamples::percentile(values, 50), 50.0);
    QCOMPARE(*LatencySamples::percentile(values, 90), 90.0);
    QVERIFY(!LatencySamples::percentile(values, 99));
    values.push_back(100);
    QCOMPARE(*LatencySamples::percentile(values, 99), 99.0);
    QCOMPARE(*LatencySamples::percentile(values, 50), 50.0);
    QVERIFY(!LatencySamples::percentile({}, 50));
    QCOMPARE(*LatencySamples::percentile({7.0}, 90), 7.0);
  }

  void samplesAreBounded() {
    LatencySamples samples(100);
    for (int i = 0; i < 1000; ++i) samples.add(i, i);
    QVERIFY(samples.size() <= 100);
    QCOMPARE(samples.sorted(0, kEver).back(), 999.0);
  }
};

QTEST_GUILESS_MAIN(RunFiguresTest)
#include "tst_run_figures.moc"
