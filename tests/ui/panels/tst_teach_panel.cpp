// Where the timeline stands in the Teach perspective, and what it costs when nobody sees it.
#include "ui/panels/teach_panel.h"

#include <QApplication>
#include <QPushButton>
#include <QTest>

#include "tests/support/fake_engine_handle.h"
#include "ui/bridge/engine_bridge.h"
#include "ui/bridge/selection.h"
#include "ui/panels/requests_panel.h"
#include "ui/views/timeline_view.h"

using ui::panels::RequestsPanel;
using ui::panels::TeachPanel;

namespace {

struct Stage {
  Stage() {
    fake.loadAtOnce("/models/m.gguf");
    bridge.pull();
    panel.show();
  }
  void resize(int height) {
    panel.resize(960, height);
    QApplication::processEvents();
  }
  void click(const QString& text) {
    for (auto* button : panel.findChildren<QPushButton*>()) {
      if (button->text() == text && button->isVisible()) return button->click();
    }
    QFAIL("no such switch");
  }
  bool tableIsSeen() { return panel.findChild<RequestsPanel*>()->isVisible(); }
  bool timelineIsSeen() { return panel.timeline().isVisible(); }

  tests::FakeEngineHandle fake;
  ui::bridge::EngineBridge bridge{fake};
  ui::bridge::Selection selection;
  TeachPanel panel{bridge, selection};
};

struct PaintCounter : QObject {
  int paints = 0;
  bool eventFilter(QObject*, QEvent* event) override {
    paints += event->type() == QEvent::Paint;
    return false;
  }
};

}  // namespace

class TeachPanelTest : public QObject {
  Q_OBJECT

 private slots:
  void aTallWindowShowsTableAndTimeline() {
    Stage stage;
    stage.resize(1000);
    QVERIFY(stage.timelineIsSeen() && stage.tableIsSeen());
  }

  void aLowOneShowsOneOfThemAndASwitch() {
    Stage stage;
    stage.resize(700);
    QVERIFY(stage.tableIsSeen() && !stage.timelineIsSeen());
    stage.click("over time");
    QVERIFY(!stage.tableIsSeen() && stage.timelineIsSeen());
    stage.click("table");
    QVERIFY(stage.tableIsSeen() && !stage.timelineIsSeen());
    stage.click("over time");
    stage.resize(1000);
    QVERIFY(stage.timelineIsSeen() && stage.tableIsSeen());
    stage.resize(700);  // the choice is kept
    QVERIFY(!stage.tableIsSeen() && stage.timelineIsSeen());
  }

  void aTimelineBehindTheTableIsNotPaintedButKnowsAllWhenItComes() {
    Stage stage;
    stage.resize(700);
    PaintCounter counter;
    stage.panel.timeline().installEventFilter(&counter);
    engine::SliceRecord slice{};
    slice.iteration = 1;
    slice.request = 9;
    stage.fake.pushEvent(engine::TraceEvent(slice));
    engine::IterationRecord step{};
    step.id = 1;
    step.t1Ns = 1'000'000;
    stage.fake.pushEvent(engine::TraceEvent(step));
    stage.bridge.pull();
    stage.selection.pinRequest(engine::RequestId(9));
    QTest::qWait(50);
    QCOMPARE(counter.paints, 0);
    stage.click("over time");
    QTest::qWait(50);
    QVERIFY(counter.paints > 0);
    stage.panel.timeline().stepSlice(1);
    QCOMPARE(stage.selection.pinnedStep(), engine::StepId(1));
  }
};

QTEST_MAIN(TeachPanelTest)
#include "tst_teach_panel.moc"
