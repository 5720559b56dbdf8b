// Waiting times and curves over time, with a scripted engine behind them.
#include "ui/panels/latency_panel.h"

#include <QApplication>
#include <QSignalSpy>
#include <QTest>

#include "tests/support/fake_engine_handle.h"
#include "ui/bridge/engine_bridge.h"
#include "ui/panels/over_time_panel.h"

using engine::RequestEvent;
using engine::TraceEvent;
using ui::panels::LatencyPanel;
using ui::panels::OverTimePanel;
using ui::views::PlotView;

namespace {

constexpr std::int64_t kMs = 1'000'000;

struct Stage {
  Stage() {
    fake.loadAtOnce("/models/m.gguf");
    bridge.pull();
    ttft.resize(500, 300);
    tokens.resize(500, 300);
  }

  // Request `id` arrives at `ms`, waits `wait` and gets `count` tokens 10 ms apart.
  void answer(std::uint64_t id, std::int64_t ms, std::int64_t wait, int count) {
    const auto request = [&](RequestEvent event, std::int64_t at) {
      fake.pushEvent(TraceEvent(engine::RequestRecord{id, at * kMs, 0, 0, event, engine::Reason::None}));
    };
    request(RequestEvent::Arrived, ms);
    for (int i = 0; i < count; ++i) {
      engine::TokenRecord token{};
      token.request = id;
      token.tNs = (ms + wait + i * 10) * kMs;
      fake.pushEvent(TraceEvent(token));
      if (i == 0) request(RequestEvent::FirstToken, ms + wait);
      engine::IterationRecord step{};
      step.t0Ns = token.tNs - 9 * kMs;
      step.t1Ns = token.tNs;
      step.running = 1;
      fake.pushEvent(TraceEvent(step));
    }
    request(RequestEvent::Finished, ms + wait + count * 10);
    bridge.pull();
  }

  tests::FakeEngineHandle fake;
  ui::bridge::EngineBridge bridge{fake};
  ui::bridge::Selection selection;
  ui::models::RunRecord record{bridge};
  ui::panels::ViewParts parts{bridge, selection, record};
  LatencyPanel ttft{parts, "Time to first token", {{"requests, %", &record.figures().timeToFirstToken()}}};
  OverTimePanel tokens{parts, OverTimePanel::tokensPlan(record.figures())};
};

}  // namespace

class LatencyPanelTest : public QObject {
  Q_OBJECT

 private slots:
  void curvesComeFromRealEvents() {
    Stage stage;
    stage.ttft.show();
    stage.tokens.show();
    stage.answer(1, 0, 50, 20);
    stage.answer(2, 1000, 80, 20);
    QTRY_COMPARE(stage.ttft.plot().greatest(0), 100.0);
    QTRY_COMPARE(stage.tokens.plot().greatest(0), 40.0);  // 20 tokens in a window of half a second
    QCOMPARE(stage.record.figures().timeToFirstToken().size(), std::size_t{2});
  }

  void aHiddenPanelRecordsButDrawsNothing() {
    Stage stage;
    QTest::qWait(100);  // the first, empty replot of a new plot
    QSignalSpy replots(&stage.tokens.plot(), &PlotView::redrawn);
    stage.answer(1, 0, 50, 20);
    QTest::qWait(400);
    QCOMPARE(replots.count(), 0);
    QCOMPARE(stage.ttft.plot().numPoints(0), 0);
    stage.tokens.show();
    stage.ttft.show();
    QTRY_VERIFY(replots.count() > 0);
    QTRY_VERIFY(stage.ttft.plot().numPoints(0) > 0);
  }

  void aSelectedRangeLimitsFiguresAndTable() {
    Stage stage;
    stage.ttft.show();
    for (int i = 0; i < 6; ++i) stage.answer(static_cast<std::uint64_t>(i), i * 1000, 50, 3);
    QTRY_VERIFY(stage.ttft.figure().contains("n = 6"));
    stage.selection.setTimeRange(ui::bridge::TimeRange{0, 2'500 * kMs});
    QTRY_VERIFY(stage.ttft.figure().contains("n = 3"));
    QCOMPARE(stage.ttft.csv().count('\n'), 4);  // a line of names, three samples
    stage.selection.setTimeRange(std::nullopt);
    QTRY_VERIFY(stage.ttft.figure().contains("n = 6"));
  }

  void theTableHoldsWhatTheCurvesShow() {
    Stage stage;
    stage.tokens.show();
    stage.answer(1, 0, 50, 20);
    stage.answer(2, 1000, 80, 20);
    stage.tokens.showTable(true);
    QVERIFY(stage.tokens.isTableShown());
    QCOMPARE(stage.tokens.csv().section('\n', 0, 0), QString("\"at, s\",out,in"));
    QVERIFY(stage.tokens.csv().contains("0.5,40"));
    stage.tokens.showTable(false);
    QVERIFY(!stage.tokens.isTableShown());
  }

  void percentilesNeedSamples() {
    std::vector<double> sorted;
    for (int i = 1; i <= 99; ++i) sorted.push_back(i);
    QVERIFY(!LatencyPanel::percentileText(sorted).contains("P99 9"));
    QVERIFY(LatencyPanel::percentileText(sorted).contains("P99 from n = 100"));
    sorted.push_back(100);
    QCOMPARE(LatencyPanel::percentileText(sorted), QString("P50 50 ms · P90 90 ms · P99 99 ms · n = 100"));
    QCOMPARE(LatencyPanel::percentileText({}), QString("n = 0"));
  }

  void aHeldViewStandsStillAndLosesNothing() {
    Stage stage;
    stage.bridge.setViewPaused(true);
    stage.answer(1, 0, 50, 5);
    QCOMPARE(stage.record.figures().timeToFirstToken().size(), std::size_t{0});
    stage.bridge.setViewPaused(false);
    stage.answer(2, 500, 50, 5);
    QCOMPARE(stage.record.figures().timeToFirstToken().size(), std::size_t{2});
  }

  void aHoveredPlotPointsAtTheStepThere() {
    Stage stage;
    stage.tokens.show();
    engine::IterationRecord step{};
    step.id = 7;
    step.t0Ns = 10 * kMs;
    step.t1Ns = 30 * kMs;
    stage.fake.pushEvent(TraceEvent(step));
    stage.bridge.pull();
    emit stage.tokens.plot().hovered(0.020);
    QCOMPARE(stage.selection.hoveredStep(), engine::StepId(7));
    QCOMPARE(stage.selection.timeCursorNs(), std::optional<std::int64_t>(20 * kMs));
    emit stage.tokens.plot().hovered(std::nullopt);
    QVERIFY(stage.selection.hoveredStep().isNone() && !stage.selection.timeCursorNs());
  }
};

QTEST_MAIN(LatencyPanelTest)
#include "tst_latency_panel.moc"
