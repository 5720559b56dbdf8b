// Docks as a user moves them: perspectives keep what was moved, a reset brings back what was there.
#include "ui/panels/workbench.h"

#include <QApplication>
#include <QRegularExpression>
#include <QSettings>
#include <QTabBar>
#include <QTemporaryDir>
#include <QTest>

#include "ui/panels/card.h"
#include "ui/panels/dock.h"

using ui::panels::Card;
using ui::panels::Perspective;
using ui::panels::Workbench;

namespace {

constexpr const char* kKeys[] = {"chat", "blocks", "batch", "timeline", "requests", "why", "speculation",
                                 "knobs", "traffic", "ttft", "itl", "tokens", "queue", "kv"};

struct Stage {
  explicit Stage(const QSettings* settings = nullptr) {
    for (const char* key : kKeys) bench.add(key, key, new Card(key));
    bench.resize(1280, 720);
    bench.show();
    if (settings) bench.loadLayouts(*settings);
    bench.setPerspective(Perspective::Teach);
    QApplication::processEvents();
  }
  ui::panels::Dock& dock(const char* key) { return *bench.dock(key); }
  void toggle(const char* key) {
    dock(key).toggleViewAction()->trigger();
    QApplication::processEvents();
  }

  Workbench bench;
};

}  // namespace

class WorkbenchTest : public QObject {
  Q_OBJECT

 private slots:
  void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("resizeDocks"))); }

  void roomIsSharedAmongWhatIsThereOnly() {
    Stage stage;
    for (const char* key : {"batch", "why", "chat", "blocks"}) {
      stage.dock(key).close();
      stage.bench.resize(stage.bench.width() + 40, 720);
      QApplication::processEvents();
    }
    stage.bench.resetLayout();
    stage.dock("why").setFloating(true);
    stage.bench.resize(1300, 740);
    QApplication::processEvents();
    stage.bench.setPerspective(Perspective::Tune);
    QApplication::processEvents();
    stage.bench.setPerspective(Perspective::Chat);
    stage.bench.setPerspective(Perspective::Teach);
    QApplication::processEvents();
    QVERIFY(stage.dock("blocks").isVisible());
  }

  void eachPerspectiveShowsItsViews() {
    Stage stage;
    QVERIFY(stage.dock("blocks").isVisible() && stage.dock("chat").isVisible() && !stage.dock("ttft").isVisible());
    QVERIFY(stage.dock("chat").x() < stage.dock("blocks").x());
    QVERIFY(stage.dock("blocks").x() < stage.dock("why").x());
    QVERIFY(stage.dock("blocks").y() < stage.dock("batch").y());
    stage.bench.setPerspective(Perspective::Tune);
    QApplication::processEvents();
    QVERIFY(stage.dock("ttft").isVisible() && stage.dock("knobs").isVisible() && !stage.dock("chat").isVisible());
    stage.bench.setPerspective(Perspective::Chat);
    QApplication::processEvents();
    QCOMPARE(stage.dock("chat").size(), stage.bench.size());  // alone, without a title line
    QVERIFY(!stage.dock("blocks").isVisible());
  }

  void theFirstOfAPileIsInFrontFromTheStart() {
    Workbench bench;
    for (const char* key : kKeys) bench.add(key, key, new Card(key));
    bench.resize(1280, 720);
    bench.setPerspective(Perspective::Tune);  // as it was left, before the window is shown
    bench.show();
    const auto isSeen = [&bench](const char* key) { return !bench.dock(key)->visibleRegion().isEmpty(); };
    QTRY_VERIFY(isSeen("timeline"));
    QTest::qWait(60);
    QVERIFY(isSeen("timeline") && !isSeen("requests") && !isSeen("blocks"));
    bench.dock("requests")->raise();  // and what somebody raises stays
    bench.resize(1300, 740);
    QTest::qWait(60);
    QVERIFY(isSeen("requests") && !isSeen("timeline"));
  }

  // It would run on behind the tabs, bright in the dark.
  void noTabBarDrawsABaseLine() {
    Stage stage;
    for (const Perspective perspective : {Perspective::Tune, Perspective::Teach, Perspective::Chat, Perspective::Tune}) {
      stage.bench.setPerspective(perspective);
      QTest::qWait(30);
      for (auto* tabs : stage.bench.findChildren<QTabBar*>()) QVERIFY(!tabs->isVisible() || !tabs->drawBase());
    }
  }

  void whatWasMovedIsKeptForItsPerspectiveOnly() {
    Stage stage;
    stage.toggle("why");
    QVERIFY(!stage.dock("why").isVisible());
    stage.bench.setPerspective(Perspective::Tune);
    stage.bench.setPerspective(Perspective::Teach);
    QApplication::processEvents();
    QVERIFY(!stage.dock("why").isVisible());
    stage.bench.resetLayout();
    QApplication::processEvents();
    QVERIFY(stage.dock("why").isVisible());
    QVERIFY(!stage.bench.isCustomised());
  }

  void aFloatingDockSurvivesTheProgram() {
    QTemporaryDir dir;
    QSettings settings(dir.filePath("s.ini"), QSettings::IniFormat);
    {
      Stage stage;
      stage.dock("batch").setFloating(true);
      QApplication::processEvents();
      stage.bench.saveLayouts(settings);
    }
    Stage next(&settings);
    QVERIFY(next.dock("batch").isFloating());
    next.bench.setPerspective(Perspective::Chat);
    next.bench.setPerspective(Perspective::Teach);
    QApplication::processEvents();
    QVERIFY(next.dock("batch").isFloating());
    next.bench.resetLayout();
    QApplication::processEvents();
    QVERIFY(!next.dock("batch").isFloating() && next.dock("batch").isVisible());
    next.bench.saveLayouts(settings);
    QVERIFY(!settings.contains("layout/teach"));
  }

  void whatNobodyMovedFollowsTheWindow() {
    Stage stage;
    const int before = stage.dock("blocks").width();
    stage.bench.resize(1920, 1000);
    QApplication::processEvents();
    QVERIFY(stage.dock("blocks").width() > before * 5 / 4);
    QVERIFY(!stage.bench.isCustomised());
  }

  void aLayoutOfAnotherProgramIsNoLayout() {
    QTemporaryDir dir;
    QSettings settings(dir.filePath("s.ini"), QSettings::IniFormat);
    settings.setValue("layout/tune", QByteArray("no layout at all"));
    Stage stage(&settings);
    stage.bench.setPerspective(Perspective::Tune);
    QApplication::processEvents();
    QVERIFY(stage.dock("ttft").isVisible());
  }
};

QTEST_MAIN(WorkbenchTest)
#include "tst_workbench.moc"
