// labels: pure
#include <QTest>

#include "ui/models/step_history.h"

using engine::TraceEvent;
using ui::models::StepHistory;

namespace {

TraceEvent slice(std::uint64_t iteration, std::uint64_t request) {
  engine::SliceRecord record{};
  record.iteration = iteration;
  record.request = request;
  return TraceEvent(record);
}

TraceEvent iteration(std::uint64_t id) {
  engine::IterationRecord record{};
  record.id = id;
  return TraceEvent(record);
}

}  // namespace

class StepHistoryTest : public QObject {
  Q_OBJECT

 private slots:
  void slicesBelongToTheIterationThatFollows() {
    StepHistory history;
    history.add({slice(7, 1), slice(7, 2)});
    history.add({iteration(7), slice(8, 1), iteration(8)});
    QCOMPARE(history.columns().size(), std::size_t{2});
    QCOMPARE(history.columns()[0].slices.size(), std::size_t{2});
    QCOMPARE(history.columns()[1].slices.size(), std::size_t{1});
    QCOMPARE(history.indexOf(8), 1);
    QCOMPARE(history.indexOf(9), -1);
  }

  void slicesOfALostIterationAreDropped() {
    StepHistory history;
    history.add({slice(7, 1)});
    history.markLoss();
    history.add({slice(9, 3), iteration(9)});
    QCOMPARE(history.columns()[0].slices.size(), std::size_t{1});
    QCOMPARE(history.columns()[0].slices[0].request, std::uint64_t{3});
    QVERIFY(history.columns()[0].lostBefore);
  }

  void theOldestColumnLeavesWhenItIsFull() {
    StepHistory history(3);
    for (std::uint64_t id = 1; id <= 5; ++id) history.add({iteration(id)});
    QCOMPARE(history.columns().size(), std::size_t{3});
    QCOMPARE(history.columns().front().iteration.id, std::uint64_t{3});
    QCOMPARE(history.indexOf(3), 0);
  }
};

QTEST_GUILESS_MAIN(StepHistoryTest)
#include "tst_step_history.moc"
