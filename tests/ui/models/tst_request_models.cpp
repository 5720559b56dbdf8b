// labels: pure
// Requests as rows, as hues and as reasons: three small models over one snapshot.
#include <QAbstractItemModelTester>
#include <QSet>
#include <QTest>

#include "ui/models/batch_explanation.h"
#include "ui/models/block_arrangement.h"
#include "ui/models/request_hues.h"
#include "ui/models/request_table_model.h"

using engine::Reason;
using engine::RequestId;
using engine::RequestState;
using namespace ui::models;

namespace {

engine::RequestSnapshot request(std::uint64_t id, RequestState state) {
  engine::RequestSnapshot snapshot;
  snapshot.id = RequestId(id);
  snapshot.label = "chat " + std::to_string(id);
  snapshot.state = state;
  return snapshot;
}

std::shared_ptr<engine::EngineSnapshot> snapshotOf(std::vector<engine::RequestSnapshot> requests) {
  auto snapshot = std::make_shared<engine::EngineSnapshot>();
  snapshot->requests = std::move(requests);
  return snapshot;
}

}  // namespace

class RequestModelsTest : public QObject {
  Q_OBJECT

 private slots:
  void theTableSurvivesEveryChangeOfRows() {
    RequestTableModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    model.setSnapshot(snapshotOf({request(1, RequestState::Waiting)}));
    QCOMPARE(model.rowCount(), 1);
    model.setSnapshot(snapshotOf({request(2, RequestState::Decoding), request(1, RequestState::Waiting)}));
    QCOMPARE(model.rowCount(), 2);
    QCOMPARE(model.rowOf(RequestId(1)), 1);
    model.setSnapshot(nullptr);
    QCOMPARE(model.rowCount(), 0);
    QVERIFY(model.requestAt(0).isNone());
  }

  void aRowSaysWhatTheRequestDoesAndWhy() {
    auto waiting = request(3, RequestState::Waiting);
    waiting.reason = Reason::WaitsBlocks;
    waiting.reasonA = 41;
    waiting.reasonB = 37;
    waiting.preemptions = 1;
    RequestTableModel model;
    model.setSnapshot(snapshotOf({waiting}));
    const QString why = model.index(0, RequestTableModel::Why).data().toString();
    QVERIFY2(why.contains("41") && why.contains("37") && why.contains("preempted"), qPrintable(why));
  }

  void aHueStaysWithItsRequestUntilAnotherNeedsIt() {
    RequestHues hues;
    std::vector<engine::RequestSnapshot> requests;
    for (std::uint64_t id = 1; id <= RequestHues::kNumHues + 1; ++id) {
      requests.push_back(request(id, RequestState::Decoding));
    }
    hues.update(requests);
    QSet<int> used;
    for (std::uint64_t id = 1; id <= RequestHues::kNumHues; ++id) used.insert(hues.hueOf(RequestId(id)));
    QCOMPARE(used.size(), RequestHues::kNumHues);
    QVERIFY(!used.contains(-1));
    QCOMPARE(hues.hueOf(RequestId(RequestHues::kNumHues + 1)), -1);

    const int freed = hues.hueOf(RequestId(2));
    requests[1].state = RequestState::Finished;
    hues.update(requests);
    QCOMPARE(hues.hueOf(RequestId(RequestHues::kNumHues + 1)), freed);
    QCOMPARE(hues.hueOf(RequestId(1)), 0);
  }

  void decodingRequestsShareOneLineAndWaitsKeepTheirReasons() {
    auto snapshot = snapshotOf({request(1, RequestState::Decoding), request(2, RequestState::Decoding),
                                request(3, RequestState::Waiting)});
    snapshot->lastStep.decisions = {{RequestId(1), Reason::DecodeNext, 1, 0, 0},
                                    {RequestId(2), Reason::DecodeNext, 1, 0, 0},
                                    {RequestId(3), Reason::WaitsBlocks, 0, 41, 37}};
    const auto lines = explainStep(*snapshot, 10);
    QCOMPARE(lines.size(), std::size_t{2});
    QVERIFY(lines[0].text.contains("2"));
    QCOMPARE(lines[1].kind, ExplanationKind::Waits);
    QVERIFY(lines[1].text.contains("chat 3") && lines[1].text.contains("41"));
    const auto cut = explainStep(*snapshot, 1);
    QCOMPARE(cut.size(), std::size_t{1});
    QVERIFY(cut[0].text.contains("2 more"));
  }

  void logicalOrderRepeatsASharedBlockInEachRow() {
    auto first = request(1, RequestState::Decoding);
    auto second = request(2, RequestState::Decoding);
    first.blocks = {engine::BlockId(4), engine::BlockId(5)};
    second.blocks = {engine::BlockId(4), engine::BlockId(9)};
    auto snapshot = snapshotOf({first, second});
    snapshot->blocks.resize(10);
    const auto logical = BlockArrangement::logical(*snapshot, QSizeF(400, 200));
    QCOMPARE(logical.cells.size(), std::size_t{4});
    QCOMPARE(logical.labels.size(), std::size_t{2});
    for (std::size_t i = 0; i < logical.cells.size(); ++i) {
      QCOMPARE(logical.cellAt(logical.cells[i].rect.center()), static_cast<int>(i));
    }
    QCOMPARE(BlockArrangement::physical(*snapshot, QSizeF(400, 200)).cells.size(), std::size_t{10});
  }
};

QTEST_GUILESS_MAIN(RequestModelsTest)
#include "tst_request_models.moc"
