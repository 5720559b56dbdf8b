// The Tune perspective with a scripted engine behind it.
#include "ui/panels/tune_panel.h"

#include <QApplication>
#include <QSignalSpy>
#include <QTest>

#include "tests/support/fake_engine_handle.h"
#include "ui/bridge/engine_bridge.h"
#include "ui/bridge/selection.h"
#include "ui/panels/card.h"
#include "ui/views/plot_view.h"

using engine::RequestEvent;
using engine::TraceEvent;
using ui::panels::TunePanel;
using ui::views::PlotView;

namespace {

constexpr std::int64_t kMs = 1'000'000;

struct Stage {
  Stage() {
    fake.loadAtOnce("/models/m.gguf");
    bridge.pull();
    panel.resize(900, 700);
  }

  // Request `id` arrives at `ms`, waits `ttft` and gets `count` tokens 10 ms apart.
  void answer(std::uint64_t id, std::int64_t ms, std::int64_t ttft, int count) {
    const auto request = [&](RequestEvent event, std::int64_t at) {
      fake.pushEvent(TraceEvent(engine::RequestRecord{id, at * kMs, 0, 0, event, engine::Reason::None}));
    };
    request(RequestEvent::Arrived, ms);
    for (int i = 0; i < count; ++i) {
      engine::TokenRecord token{};
      token.request = id;
      token.tNs = (ms + ttft + i * 10) * kMs;
      fake.pushEvent(TraceEvent(token));
      if (i == 0) request(RequestEvent::FirstToken, ms + ttft);
      engine::IterationRecord step{};
      step.t0Ns = token.tNs - 9 * kMs;
      step.t1Ns = token.tNs;
      step.running = 1;
      fake.pushEvent(TraceEvent(step));
    }
    request(RequestEvent::Finished, ms + ttft + count * 10);
    bridge.pull();
  }
  PlotView* plot(const QString& name) {
    for (PlotView* view : panel.findChildren<PlotView*>()) {
      if (view->accessibleName() == name) return view;
    }
    return nullptr;
  }

  tests::FakeEngineHandle fake;
  ui::bridge::EngineBridge bridge{fake};
  ui::bridge::Selection selection;
  TunePanel panel{bridge, selection};
};

}  // namespace

class TunePanelTest : public QObject {
  Q_OBJECT

 private slots:
  void curvesComeFromRealEvents() {
    Stage stage;
    stage.panel.show();
    stage.answer(1, 0, 50, 20);
    stage.answer(2, 1000, 80, 20);
    QTest::qWait(300);
    QCOMPARE(stage.panel.figures().timeToFirstToken().size(), std::size_t{2});
    QCOMPARE(stage.plot("Time to first token")->greatest(0), 100.0);
    QCOMPARE(stage.plot("Tokens per second")->greatest(0), 40.0);  // 20 tokens in a window of half a second
    QVERIFY(stage.plot("Requests")->numPoints(0) > 0);
  }

  void aHiddenPanelRecordsButDrawsNothing() {
    Stage stage;
    QTest::qWait(100);  // the first, empty replot of a new plot
    QSignalSpy replots(stage.plot("Tokens per second"), &PlotView::redrawn);
    stage.answer(1, 0, 50, 20);
    QTest::qWait(400);
    QCOMPARE(replots.count(), 0);
    QCOMPARE(stage.plot("Time to first token")->numPoints(0), 0);
    stage.panel.show();
    QTest::qWait(300);
    QVERIFY(replots.count() > 0);
    QVERIFY(stage.plot("Time to first token")->numPoints(0) > 0);
  }

  void aSelectedRangeLimitsTheWaitingTimes() {
    Stage stage;
    stage.panel.show();
    for (int i = 0; i < 6; ++i) stage.answer(static_cast<std::uint64_t>(i), i * 1000, 50, 3);
    const auto figureText = [&] {
      for (auto* card : stage.panel.findChildren<ui::panels::Card*>()) {
        if (!card->accessibleName().startsWith("Time to first token")) continue;
        for (auto* label : card->findChildren<QWidget*>()) {
          if (label->toolTip().contains("n = ")) return label->toolTip();
        }
      }
      return QString();
    };
    QTRY_VERIFY_WITH_TIMEOUT(figureText().contains("n = 6"), 2000);
    stage.selection.setTimeRange(ui::bridge::TimeRange{0, 2'500 * kMs});
    QTRY_VERIFY_WITH_TIMEOUT(figureText().contains("n = 3"), 2000);
    stage.selection.setTimeRange(std::nullopt);
    QTRY_VERIFY_WITH_TIMEOUT(figureText().contains("n = 6"), 2000);
  }

  void percentilesNeedSamples() {
    std::vector<double> sorted;
    for (int i = 1; i <= 99; ++i) sorted.push_back(i);
    QVERIFY(!TunePanel::percentileText(sorted).contains("P99 9"));
    QVERIFY(TunePanel::percentileText(sorted).contains("P99 from n = 100"));
    sorted.push_back(100);
    QCOMPARE(TunePanel::percentileText(sorted), QString("P50 50 ms · P90 90 ms · P99 99 ms · n = 100"));
    QCOMPARE(TunePanel::percentileText({}), QString("n = 0"));
  }

  void aHeldViewStandsStillAndLosesNothing() {
    Stage stage;
    stage.panel.show();
    stage.bridge.setViewPaused(true);
    stage.answer(1, 0, 50, 5);
    QCOMPARE(stage.panel.figures().timeToFirstToken().size(), std::size_t{0});
    stage.bridge.setViewPaused(false);
    stage.answer(2, 500, 50, 5);
    QCOMPARE(stage.panel.figures().timeToFirstToken().size(), std::size_t{2});
  }
};

QTEST_MAIN(TunePanelTest)
#include "tst_tune_panel.moc"
