#include "engine/sched/slo.h"

#include <QtTest>

using namespace engine;
using namespace engine::sched;

namespace {

constexpr std::int64_t kMs = 1'000'000;

SloFacts waitingSince(std::int64_t arrivalNs, std::optional<double> ttftMs) {
  SloFacts facts;
  facts.arrivalNs = arrivalNs;
  facts.slo.ttftMs = ttftMs;
  return facts;
}

PaceMeter paceOf(std::int64_t nsPerPromptToken, std::int64_t nsPerDecode) {
  PaceMeter pace;
  for (int i = 0; i < 10; ++i) {
    pace.record(100 * nsPerPromptToken, 100, 0);
    pace.record(nsPerDecode, 0, 3);
  }
  return pace;
}

}  // namespace

class SloTest : public QObject {
  Q_OBJECT

 private slots:
  void aFirstTokenIsDueItsTtftAfterArrival();
  void whoAsksForNothingHasPatienceAndNoMore();
  void aNextTokenIsDueByTheMean();
  void thePaceIsTheBestSeenAndNotKnownAtOnce();
  void whatIsLateAlreadyIsRefusedWithBothNumbers();
  void whatWouldBeLateAtTheBestPaceIsRefused();
  void aTokenRateBeyondTheEngineIsRefused();
  void whoHasATokenIsNeverRefused();
};

void SloTest::aFirstTokenIsDueItsTtftAfterArrival() {
  QCOMPARE(deadlineNs(waitingSince(5 * kMs, 200.0)), 205 * kMs);
}

void SloTest::whoAsksForNothingHasPatienceAndNoMore() {
  QCOMPARE(deadlineNs(waitingSince(5 * kMs, std::nullopt)), 5 * kMs + kPatienceNs);
  QCOMPARE(deadlineNs(waitingSince(5 * kMs, 1e12)), 5 * kMs + kPatienceNs);
}

void SloTest::aNextTokenIsDueByTheMean() {
  SloFacts facts = waitingSince(0, 200.0);
  facts.outputs = 3;
  facts.firstTokenNs = 100 * kMs;
  facts.lastTokenNs = 110 * kMs;
  QCOMPARE(deadlineNs(facts), 110 * kMs + kTokenPatienceNs);
  facts.slo.tpotMs = 20.0;
  QCOMPARE(deadlineNs(facts), 160 * kMs);
}

void SloTest::thePaceIsTheBestSeenAndNotKnownAtOnce() {
  PaceMeter pace;
  for (int i = 0; i < 7; ++i) pace.record(1000, 100, 0);
  QCOMPARE(pace.nsPerPromptToken(), std::int64_t{0});
  pace.record(500, 100, 0);
  QCOMPARE(pace.nsPerPromptToken(), std::int64_t{5});
  pace.record(1, 3, 0);  // a few tokens say nothing of the price of one
  pace.record(0, 100, 0);
  QCOMPARE(pace.nsPerPromptToken(), std::int64_t{5});
}

void SloTest::whatIsLateAlreadyIsRefusedWithBothNumbers() {
  const SloVerdict late = judgeSlo(waitingSince(0, 50.0), 60 * kMs, 10, PaceMeter());
  QCOMPARE(late.reason, Reason::RefusedTtft);
  QCOMPARE(late.needUs, std::int64_t{60'000});
  QCOMPARE(late.askedUs, std::int64_t{50'000});
  QCOMPARE(judgeSlo(waitingSince(0, 50.0), 40 * kMs, 10, PaceMeter()).reason, Reason::None);
}

void SloTest::whatWouldBeLateAtTheBestPaceIsRefused() {
  const PaceMeter pace = paceOf(kMs, kMs);
  QCOMPARE(judgeSlo(waitingSince(0, 50.0), 0, 49, pace).reason, Reason::None);
  QCOMPARE(judgeSlo(waitingSince(0, 50.0), 0, 51, pace).reason, Reason::RefusedTtft);
}

void SloTest::aTokenRateBeyondTheEngineIsRefused() {
  SloFacts facts = waitingSince(0, std::nullopt);
  facts.slo.tpotMs = 2.0;
  QCOMPARE(judgeSlo(facts, 0, 1, paceOf(1, 3 * kMs)).reason, Reason::RefusedTpot);
  QCOMPARE(judgeSlo(facts, 0, 1, paceOf(1, kMs)).reason, Reason::None);
}

void SloTest::whoHasATokenIsNeverRefused() {
  SloFacts facts = waitingSince(0, 1.0);
  facts.outputs = 1;
  QCOMPARE(judgeSlo(facts, 1000 * kMs, 100, paceOf(kMs, kMs)).reason, Reason::None);
}

QTEST_GUILESS_MAIN(SloTest)
#include "tst_slo.moc"
