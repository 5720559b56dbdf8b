#include <QtTest/QtTest>

#include "engine/service/busy_share.h"

using engine::service::busyShare;
using kernels::OpsCounters;

class TestBusyShare : public QObject {
  Q_OBJECT

 private slots:

  void oneThreadAloneIsAlwaysBusy() { QCOMPARE(busyShare({}, 1, 1000), 10'000); }

  void whatTheCallerDoesAloneLeavesTheOthersIdle() { QCOMPARE(busyShare({}, 4, 1000), 2'500); }

  void helpCountsAndWaitingDoesNot() {
    OpsCounters counters;
    counters.helpNs = 1400;  // of 2 * 1000
    counters.waitNs = 50;
    QCOMPARE(busyShare(counters, 3, 1000), 7'833);  // (950 + 1400) / 3000
  }

  void nothingIsKnownOfAStepWithoutTime() {
    QCOMPARE(busyShare({}, 2, 0), 0);
    QCOMPARE(busyShare({}, 2, -5), 0);
  }

  void countersOfMoreThanTheStepStayAShare() {
    OpsCounters counters;
    counters.helpNs = 5000;
    QCOMPARE(busyShare(counters, 2, 1000), 10'000);
    counters = {};
    counters.waitNs = 5000;
    QCOMPARE(busyShare(counters, 2, 1000), 1);  // 0 would be: not known
  }
};

QTEST_GUILESS_MAIN(TestBusyShare)
#include "tst_busy_share.moc"
