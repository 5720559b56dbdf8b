// Guessing goes on where it is measured to pay and pauses, ever longer, where it does not.
#include <QtTest>

#include "engine/speculate/draft_length.h"
#include "engine/speculate/payoff_meter.h"

using namespace engine::speculate;

namespace {

// Steps that carried guesses among `numSteps`, of one request, when a pass of 2 tokens takes
// `draftedNs` and a plain step of 1 token 1000.
int draftedSteps(PayoffMeter& meter, int numSteps, std::int64_t draftedNs) {
  int drafted = 0;
  for (int i = 0; i < numSteps; ++i) {
    const bool drafts = meter.mayDraft(1);
    drafted += drafts ? 1 : 0;
    meter.record(1, drafts ? 2 : 1, drafts ? draftedNs : 1000, drafts);
  }
  return drafted;
}

}  // namespace

class TestPayoffMeter : public QObject {
  Q_OBJECT

 private slots:

  void plainStepsAreMeasuredFirstAndAgainNowAndThen() {
    PayoffMeter meter;
    QVERIFY(!meter.plainNsPerToken());
    QCOMPARE(draftedSteps(meter, 3, 1500), 0);
    QCOMPARE(meter.plainNsPerToken().value(), 1000.0);
    QVERIFY(!meter.draftedNsPerToken());
    const int drafted = draftedSteps(meter, 650, 1500);
    QVERIFY2(drafted >= 638 && drafted < 650, qPrintable(QString::number(drafted)));
    QCOMPARE(meter.draftedNsPerToken().value(), 750.0);
  }

  // A pass that takes thrice the time for twice the tokens: of 5,000 steps few may carry it.
  void aLossIsTriedEverMoreRarely() {
    PayoffMeter meter;
    const int drafted = draftedSteps(meter, 5000, 3000);
    QVERIFY2(drafted >= 12 && drafted <= 32, qPrintable(QString::number(drafted)));
    QVERIFY(draftedSteps(meter, 10'000, 3000) <= 16);
  }

  void whatPaysAgainIsFoundOut() {
    PayoffMeter meter;
    draftedSteps(meter, 100, 3000);
    QVERIFY(draftedSteps(meter, 1000, 1200) > 700);
  }

  void batchSizesAreJudgedApart() {
    PayoffMeter meter;
    draftedSteps(meter, 20, 3000);
    QVERIFY(!meter.mayDraft(1));
    for (int i = 0; i < 3; ++i) {
      QVERIFY(!meter.mayDraft(9));
      meter.record(9, 9, 4000, false);
    }
    QVERIFY(meter.mayDraft(9));
  }

  void oneOutlierDoesNotEndIt() {
    PayoffMeter meter;
    draftedSteps(meter, 40, 1200);
    QVERIFY(meter.mayDraft(1));
    meter.record(1, 2, 1'000'000, true);
    QVERIFY(meter.mayDraft(1));
  }

  void aRequestGetsOneGuessMoreThanLatelyStood() {
    DraftLength length;
    QCOMPARE(length.next(7), 7);
    length.record(7, 7);
    QCOMPARE(length.next(7), 7);
    length.record(7, 2);
    QCOMPARE(length.next(7), 3);
    length.record(3, 3);
    QCOMPARE(length.next(7), 4);
    length.record(2, 2);  // a step that had less room
    QCOMPARE(length.next(7), 4);
    length.record(4, 0);
    QCOMPARE(length.next(7), 1);
    QCOMPARE(length.next(1), 1);
  }
};

QTEST_GUILESS_MAIN(TestPayoffMeter)
#include "tst_payoff_meter.moc"
