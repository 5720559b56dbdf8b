// Each rule on plans is bent once: a checker that finds nothing is worth nothing.
#include "engine/sched/sched_invariants.h"

#include <QtTest>
#include <functional>

#include "tests/support/sched_rig.h"

using namespace engine;
using namespace engine::sched;
using support::SchedRig;

class SchedInvariantsTest : public QObject {
  Q_OBJECT

 private slots:
  void aSoundPlanHasNoViolations();
  void everyRuleOnPlansReportsItsFault_data();
  void everyRuleOnPlansReportsItsFault();
  void aBlockWithoutAHolderIsFound();
};

namespace {

// An open plan with a decode, a fork's copy and a prefill chunk.
struct OpenPlan {
  OpenPlan() : rig(32, 4, {}) {
    (void)rig.submit(1, 6, 20);
    rig.step();
    (void)rig.scheduler.fork(RequestId(1), RequestId(2), 5);
    (void)rig.submit(3, 9, 4);
    plan = rig.scheduler.plan(0);
  }

  SchedRig rig;
  StepPlan plan;
};

}  // namespace

void SchedInvariantsTest::aSoundPlanHasNoViolations() {
  OpenPlan open;
  QCOMPARE(open.plan.rows.size(), std::size_t{3});
  QCOMPARE(open.plan.copies.size(), std::size_t{1});
  QVERIFY(findPlanViolations(open.plan, open.rig.scheduler).empty());
}

using Bend = std::function<void(StepPlan&)>;
Q_DECLARE_METATYPE(Bend)

void SchedInvariantsTest::everyRuleOnPlansReportsItsFault_data() {
  QTest::addColumn<Bend>("bend");
  QTest::addColumn<QString>("expected");
  const auto row = [](const char* name, Bend bend, const char* expected) {
    QTest::newRow(name) << bend << QString(expected);
  };
  row(
      "over the budget", [](StepPlan& p) { p.budget = 3; }, "budget 3");
  row(
      "twice in a plan", [](StepPlan& p) { p.rows[1].request = p.rows[0].request; }, "no place");
  row(
      "unknown", [](StepPlan& p) { p.rows[1].request = RequestId(99); }, "no place");
  row(
      "begins too early", [](StepPlan& p) { --p.rows[0].firstPosition; }, "begins at 5");
  row(
      "samples too early", [](StepPlan& p) { p.rows[0].samples = false; }, "samples at");
  row(
      "another token", [](StepPlan& p) { ++p.tokens[0]; }, "another token");
  row(
      "not packed", [](StepPlan& p) { ++p.rows[1].firstToken; }, "not packed");
  row(
      "no slot", [](StepPlan& p) { p.rows[2].blockTable = p.rows[2].blockTable.first(2); },
      "no slot");
  row(
      "shared slot", [](StepPlan& p) { p.rows[1].blockTable = p.rows[0].blockTable; },
      "a slot of another row");
  row(
      "findable block", [](StepPlan& p) { p.rows[2].blockTable = p.rows[0].blockTable; },
      "writes to block");
  row(
      "all drafts", [](StepPlan& p) { p.rows[0].numDrafts = 1; }, "1 drafts");
  row(
      "admits and preempts",
      [](StepPlan& p) {
        p.preempted.push_back({RequestId(50), 1, 1, 1});
      },
      "in a step that preempted");
  row(
      "preempts and runs",
      [](StepPlan& p) {
        p.preempted.push_back({RequestId(1), 1, 1, 1});
      },
      "has a row");
  row(
      "copies too late",
      [](StepPlan& p) {
        p.copies.push_back({RequestId(1), p.copies[0].to, BlockId(30)});
      },
      "after it was overwritten");
  row(
      "copies twice", [](StepPlan& p) { p.copies.push_back(p.copies[0]); }, "two copies");
}

void SchedInvariantsTest::everyRuleOnPlansReportsItsFault() {
  QFETCH(Bend, bend);
  QFETCH(QString, expected);
  OpenPlan open;
  bend(open.plan);
  QString all;
  for (const std::string& one : findPlanViolations(open.plan, open.rig.scheduler)) {
    all += QString::fromStdString(one) + "\n";
  }
  QVERIFY2(all.contains(expected), qPrintable("found: " + all));
}

void SchedInvariantsTest::aBlockWithoutAHolderIsFound() {
  SchedRig rig(16, 4, {});
  QVERIFY(rig.submit(1, 6, 20));
  rig.step();
  kv::BlockTable stray(RequestId(9), 4);
  rig.cache.fork(rig.at(1).table, 1, stray);
  const std::vector<std::string> violations = findViolations(rig.scheduler);
  QCOMPARE(violations.size(), std::size_t{1});
  QVERIFY(violations[0].find("counts 2 holders and has 1") != std::string::npos);
}

QTEST_GUILESS_MAIN(SchedInvariantsTest)
#include "tst_sched_invariants.moc"
