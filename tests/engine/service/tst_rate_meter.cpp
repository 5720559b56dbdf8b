// Speeds over the last second.
// labels: pure
#include <QtTest>

#include "engine/service/rate_meter.h"

using engine::service::RateMeter;

class TestRateMeter : public QObject {
  Q_OBJECT

 private:
  static constexpr std::int64_t kMs = 1'000'000;

 private slots:

  void nothingAndOneMarkAreNoSpeed() {
    RateMeter meter;
    QCOMPARE(meter.perSecond(0), 0.0);
    meter.add(5 * kMs, 3);
    QCOMPARE(meter.perSecond(5 * kMs), 0.0);
  }

  void steadyMarksGiveTheirRate() {
    RateMeter meter;
    for (int i = 0; i <= 300; ++i) meter.add(i * 10 * kMs, 2);  // 2 every 10 ms for 3 s
    QCOMPARE(meter.perSecond(3000 * kMs), 200.0);
  }

  void oldMarksFade() {
    RateMeter meter;
    for (int i = 0; i < 10; ++i) meter.add(i * 10 * kMs, 1);
    QVERIFY(meter.perSecond(100 * kMs) > 0.0);
    QCOMPARE(meter.perSecond(2000 * kMs), 0.0);
  }
};

QTEST_GUILESS_MAIN(TestRateMeter)
#include "tst_rate_meter.moc"
