// labels: pure
#include <QTest>
#include <cmath>
#include <numeric>

#include "engine/sim/arrivals.h"
#include "engine/sim/serving_metrics.h"

using namespace engine;
using namespace engine::sim;

namespace {

// Coefficient of variation of the gaps between arrivals.
double variation(const std::vector<double>& times) {
  std::vector<double> gaps;
  for (std::size_t i = 1; i < times.size(); ++i) gaps.push_back(times[i] - times[i - 1]);
  const LatencySummary summary = summarizeLatencies(gaps);
  return summary.std / summary.mean;
}

bool near(double a, double b, double share) { return std::abs(a - b) <= share * std::abs(b); }

}  // namespace

class ArrivalsTest : public QObject {
  Q_OBJECT

 private slots:
  void theLastArrivalComesAtCountOverRate() {
    for (double burstiness : {0.25, 1.0, 4.0}) {
      const auto times = drawArrivalsMs({ArrivalKind::Gamma, 5.0, burstiness}, 4000, 3);
      QVERIFY(near(times.back(), 4000 / 5.0 * 1000, 1e-9));
      QVERIFY(std::ranges::is_sorted(times));
      QVERIFY(near(variation(times), 1 / std::sqrt(burstiness), 0.1));  // Gamma of that shape
    }
    QVERIFY(near(variation(drawArrivalsMs({ArrivalKind::Poisson, 5.0, 9.0}, 4000, 3)), 1.0, 0.1));
  }

  void aClosedLoopArrivesAtOnceAndARampSpeedsUp() {
    for (double time : drawArrivalsMs({ArrivalKind::Closed, 1, 1}, 5, 0)) QCOMPARE(time, 0.0);
    const auto ramp = drawArrivalsMs({ArrivalKind::Ramp, 10, 1}, 2000, 1);
    const double early = ramp[199] - ramp[0], late = ramp[1999] - ramp[1800];
    QVERIFY(early / late > 4.0 && early / late < 10.0);  // mean rates 0.145 and 0.955 of the full one
  }

  void lengthsKeepTheirBoundsAndMeans() {
    double sum = 0;
    std::int64_t low = 1000, high = 0;
    for (std::uint64_t i = 0; i < 4000; ++i) {
      const auto length = drawLength({LengthKind::Uniform, 10, 20}, 5, i);
      low = std::min(low, length);
      high = std::max(high, length);
      sum += std::log(static_cast<double>(drawLength({LengthKind::LogNormal, 5.0, 0.5}, 5, i)));
    }
    QCOMPARE(low, 10);
    QCOMPARE(high, 20);
    QVERIFY(near(sum / 4000, 5.0, 0.01));
    QCOMPARE(drawLength({LengthKind::Fixed, 77, 0}, 5, 3), 77);
  }

  void wordsForLengthsAreCheckedOneByOne() {
    QVERIFY(parseLengths("fixed:5").isOk());
    QVERIFY(parseLengths("uniform:5:9").isOk());
    QVERIFY(parseLengths("lognormal:5.1:0.4").isOk());
    for (const char* wrong : {"", "fixed", "fixed:0", "fixed:1.5", "fixed:-3", "uniform:9:5", "uniform:1",
                              "normal:3:4", "lognormal:5:-1", "fixed:nan", "fixed:1e30", "fixed:5:6"}) {
      const auto parsed = parseLengths(wrong);
      QVERIFY2(!parsed.isOk(), wrong);
      QVERIFY2(parsed.error().message.find(wrong) != std::string::npos, parsed.error().message.c_str());
    }
    QVERIFY(!parseArrival("often").isOk());
  }

  void aDrawnWorkloadIsAPureFunctionOfItsSeed() {
    DrawnWorkloadSpec spec;
    spec.requests = 20;
    spec.arrivals = {ArrivalKind::Poisson, 2, 1};
    spec.promptLengths = {LengthKind::Uniform, 5, 50};
    spec.outputLengths = {LengthKind::Uniform, 5, 50};
    spec.sharedPrefix = 32;
    const Workload a = drawWorkload(spec, {}), b = drawWorkload(spec, {});
    bool lengthsDiffer = false;
    for (std::size_t i = 0; i < a.requests.size(); ++i) {
      const auto& prompt = std::get<SyntheticPrompt>(a.requests[i].prompt);
      QCOMPARE(prompt, std::get<SyntheticPrompt>(b.requests[i].prompt));
      QCOMPARE(a.requests[i].atMs, b.requests[i].atMs);
      QVERIFY(prompt.tokens > 32);
      lengthsDiffer = lengthsDiffer || a.requests[i].sampling.maxTokens != prompt.tokens;
    }
    QVERIFY(lengthsDiffer);
  }

  void metricsFollowTheirDefinitions() {
    // Two successes and one failure, worked by hand.
    std::vector<RequestTrack> tracks(3);
    tracks[0] = {0, {100, 140, 180}, 10, 3, true, {200.0, 45.0}};
    tracks[1] = {50, {250, 350}, 20, 2, true, {150.0, std::nullopt}};
    tracks[2] = {60, {}, 5, 0, false, {}};
    const ServingMetrics metrics = summarizeServing(tracks, 0);
    QCOMPARE(metrics.completed, 2);
    QCOMPARE(metrics.failed, 1);
    QCOMPARE(metrics.durationS, 0.35);
    QCOMPARE(metrics.ttft.mean, 150.0);                 // 100 and 200
    QCOMPARE(metrics.tpot.mean, 70.0);                  // 40 and 100
    QCOMPARE(metrics.itl.count, 3);                     // 40, 40, 100
    QCOMPARE(metrics.itl.median, 40.0);
    QCOMPARE(metrics.itl.mean, 60.0);
    QCOMPARE(metrics.e2el.mean, 240.0);                 // 180 and 300
    QCOMPARE(metrics.ttft.std, 50.0);                   // population
    QCOMPARE(metrics.ttft.p99, 199.0);                  // linear interpolation
    QCOMPARE(*metrics.requestGoodput, 1 / 0.35);        // the second missed its TTFT
    QCOMPARE(metrics.outputThroughput, 5 / 0.35);
  }

  void oneTokenHasNoTpotAndMeetsAnyTpotSlo() {
    std::vector<RequestTrack> tracks(1);
    tracks[0] = {0, {10}, 4, 1, true, {std::nullopt, 1.0}};
    const ServingMetrics metrics = summarizeServing(tracks, 100);
    QCOMPARE(metrics.tpot.count, 0);
    QCOMPARE(*metrics.requestGoodput, 10.0);
  }
};

QTEST_GUILESS_MAIN(ArrivalsTest)
#include "tst_arrivals.moc"
