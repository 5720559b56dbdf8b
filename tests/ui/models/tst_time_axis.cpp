// labels: pure
#include "ui/models/time_axis.h"

#include <QTest>
#include <cmath>

using ui::models::TimeAxis;

class TimeAxisTest : public QObject {
  Q_OBJECT

 private slots:
  void pixelsAndTimesAreInverse() {
    const TimeAxis axis{5'000'000'000, 2.5e6};
    QCOMPARE(axis.xOf(5'000'000'000), 0.0);
    QCOMPARE(axis.timeAt(400), std::int64_t{6'000'000'000});
    QCOMPARE(axis.xOf(axis.timeAt(123)), 123.0);
  }

  void theTimeUnderTheCursorStaysWhenZooming() {
    TimeAxis axis{1'000'000'000, 1e6};
    const std::int64_t before = axis.timeAt(300);
    for (double factor : {2.0, 2.0, 0.25, 1.3}) {
      axis = axis.zoomedAt(300, factor);
      QVERIFY(std::abs(axis.timeAt(300) - before) <= 4);
    }
    QVERIFY(std::abs(axis.nsPerPixel - 1e6 / 1.3) < 1e-3);
  }

  void zoomStopsAtItsLimits() {
    QCOMPARE(TimeAxis{}.zoomedAt(10, 1e12).nsPerPixel, TimeAxis::kMinNsPerPixel);
    QCOMPARE(TimeAxis{}.zoomedAt(10, 1e-12).nsPerPixel, TimeAxis::kMaxNsPerPixel);
    QCOMPARE(TimeAxis::fitting(7, 7, 0).nsPerPixel, TimeAxis::kMinNsPerPixel);
  }

  void draggingMovesTheContentWithTheHand() {
    const TimeAxis axis{1'000, 1e3};
    QCOMPARE(axis.pannedBy(7).xOf(1'000), 7.0);
  }

  void fittingPutsBothEndsAtTheEdges() {
    const TimeAxis axis = TimeAxis::fitting(2'000'000, 10'000'000, 400);
    QCOMPARE(axis.xOf(2'000'000), 0.0);
    QCOMPARE(axis.xOf(10'000'000), 400.0);
  }

  void ticksAreRoundAndFarEnoughApart() {
    for (double nsPerPixel : {1.3e2, 4.4e3, 9.9e5, 1e6, 2.6e7, 1e9}) {
      const TimeAxis axis{0, nsPerPixel};
      const auto step = static_cast<double>(axis.tickStepNs(60));
      QVERIFY(step / nsPerPixel >= 60 && step / nsPerPixel <= 60 * 2.5 + 1);
      const double lead = step / std::pow(10.0, std::floor(std::log10(step)));
      QVERIFY(std::abs(lead - 1) < 1e-9 || std::abs(lead - 2) < 1e-9 || std::abs(lead - 5) < 1e-9);
    }
  }
};

QTEST_GUILESS_MAIN(TimeAxisTest)
#include "tst_time_axis.moc"
