// What the views tell of a request, word for word where a number is 1.
// labels: pure
#include <QtTest>

#include "engine/api/reason.h"

using namespace engine;

class TestReason : public QObject {
  Q_OBJECT

 private slots:

  void oneIsSingularAndMoreArePlural_data() {
    QTest::addColumn<int>("reason");
    QTest::addColumn<int>("a");
    QTest::addColumn<int>("b");
    QTest::addColumn<QString>("text");
    const auto add = [](Reason reason, int a, int b, const char* text) {
      QTest::addRow("%s %d %d", reasonName(reason), a, b) << static_cast<int>(reason) << a << b << text;
    };
    add(Reason::Verify, 1, 0, "1 drafted token to verify");
    add(Reason::Verify, 4, 0, "4 drafted tokens to verify");
    add(Reason::PrefillChunk, 1, 1, "1 of 1 prompt token (chunk)");
    add(Reason::PrefillChunk, 1, 2, "1 of 2 prompt tokens (chunk)");
    add(Reason::WaitsBlocks, 1, 0, "needs 1 block, 0 are free");
    add(Reason::WaitsBlocks, 2, 1, "needs 2 blocks, 1 is free");
    add(Reason::WaitsSequences, 1, 1, "1 of 1 sequence already runs");
    add(Reason::WaitsSequences, 8, 8, "8 of 8 sequences already run");
    add(Reason::PreemptedForBlocks, 3, 1, "preempted: gave back 3 blocks, 1 was needed");
    add(Reason::PreemptedToSwap, 1, 2, "preempted: 1 block swapped out, 2 were needed");
    add(Reason::PreemptedSwapFull, 2, 1, "preempted: 2 blocks to swap out, 1 fits, so it recomputes");
    add(Reason::PreemptedSwapFull, 2, 0, "preempted: 2 blocks to swap out, 0 fit, so it recomputes");
    add(Reason::FinishedLength, 1, 0, "reached its limit of 1 token");
    add(Reason::RefusedTooLong, 9000, 8192, "needs 9000 tokens, the context holds 8192");
    add(Reason::ResumedFromSwap, 1, 5, "resumed, 1 token swapped in, 5 to compute");
    add(Reason::HeldForBatch, 1, 0, "has its 1 token, held until the batch ends");
  }

  void oneIsSingularAndMoreArePlural() {
    QFETCH(int, reason);
    QFETCH(int, a);
    QFETCH(int, b);
    QFETCH(QString, text);
    QCOMPARE(QString::fromStdString(reasonText(static_cast<Reason>(reason), a, b)), text);
  }
};

QTEST_GUILESS_MAIN(TestReason)
#include "tst_reason.moc"
