// labels: pure
#include "ui/models/series.h"

#include <QTest>
#include <algorithm>

using ui::models::RateSeries;
using ui::models::Series;

class SeriesTest : public QObject {
  Q_OBJECT

 private slots:
  void onePeakAmongManyPointsIsKept() {
    Series series;
    for (int i = 0; i < 50'000; ++i) series.add(i, i == 31'337 ? 99.0 : i == 12'345 ? -7.0 : i % 2);
    const auto buckets = series.thinned(0, 50'000, 400);
    QVERIFY(buckets.size() <= 402);
    double most = 0, least = 0;
    for (const auto& bucket : buckets) {
      most = std::max(most, bucket.max);
      least = std::min(least, bucket.min);
      QVERIFY(bucket.min <= bucket.last && bucket.last <= bucket.max);
    }
    QCOMPARE(most, 99.0);
    QCOMPARE(least, -7.0);
    QCOMPARE(buckets.back().tNs, std::int64_t{49'999});
  }

  void theLineReachesTheEdgesOfTheWindow() {
    Series series;
    for (int i = 0; i < 10; ++i) series.add(i * 10, i);
    const auto buckets = series.thinned(25, 55, 100);
    QCOMPARE(buckets.size(), std::size_t{5});
    QCOMPARE(buckets.front().tNs, std::int64_t{20});
    QCOMPARE(buckets.back().tNs, std::int64_t{60});
    QVERIFY(series.thinned(55, 25, 100).empty());
    QVERIFY(Series().thinned(0, 10, 5).empty());
  }

  void itForgetsTheOldestAndRefusesToGoBack() {
    Series series(100);
    for (int i = 0; i < 1000; ++i) series.add(i, i);
    QVERIFY(series.points().size() <= 100);
    QCOMPARE(series.points().back().tNs, std::int64_t{999});
    series.add(5, 1);
    QCOMPARE(series.points().back().tNs, std::int64_t{999});
  }

  void ratesAreSumsOfWholeWindows() {
    RateSeries rate(100);
    rate.add(10, 3);
    rate.add(90, 4);
    QVERIFY(rate.series().points().empty());  // the window is still open
    rate.add(110, 1);
    QCOMPARE(rate.series().points().size(), std::size_t{1});
    QCOMPARE(rate.series().points()[0].tNs, std::int64_t{100});
    QCOMPARE(rate.series().points()[0].value, 7 * 1e7);
  }

  void silenceIsZero() {
    RateSeries rate(100);
    rate.add(10, 5);
    rate.add(950, 2);
    rate.closeUntil(1000);
    const auto& points = rate.series().points();
    QCOMPARE(points.size(), std::size_t{4});
    QCOMPARE(points[1].tNs, std::int64_t{200});
    QCOMPARE(points[1].value, 0.0);
    QCOMPARE(points[2].tNs, std::int64_t{900});
    QCOMPARE(points[2].value, 0.0);
    QCOMPARE(points[3].value, 2 * 1e7);
  }
};

QTEST_GUILESS_MAIN(SeriesTest)
#include "tst_series.moc"
