#include "engine/sched/preemption.h"

#include <QtTest>
#include <vector>

using namespace engine;
using namespace engine::sched;

class PreemptionTest : public QObject {
  Q_OBJECT

 private slots:
  void underFcfsTheLastAdmittedGoes();
  void underPriorityTheWorstPriorityGoes();
  void equalPrioritiesFallBackToAdmission();
};

void PreemptionTest::underFcfsTheLastAdmittedGoes() {
  const std::vector<VictimFacts> candidates{{0, 4, 1}, {9, 2, 1}, {0, 7, 1}, {5, 6, 1}};
  QCOMPARE(pickVictim(candidates, PolicyKind::Fcfs), std::size_t{2});
}

void PreemptionTest::underPriorityTheWorstPriorityGoes() {
  const std::vector<VictimFacts> candidates{{0, 4, 1}, {9, 2, 1}, {0, 7, 1}, {5, 6, 1}};
  QCOMPARE(pickVictim(candidates, PolicyKind::Priority), std::size_t{1});
}

void PreemptionTest::equalPrioritiesFallBackToAdmission() {
  const std::vector<VictimFacts> candidates{{3, 4, 1}, {3, 8, 1}, {3, 7, 1}};
  QCOMPARE(pickVictim(candidates, PolicyKind::Priority), std::size_t{1});
  QCOMPARE(pickVictim(std::span(candidates).first(1), PolicyKind::Priority), std::size_t{0});
}

QTEST_GUILESS_MAIN(PreemptionTest)
#include "tst_preemption.moc"
