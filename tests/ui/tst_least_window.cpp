// The smallest window: every control of the header whole, no view on another.
#include <QApplication>
#include <QLabel>
#include <QPushButton>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include "tests/ui/window_stage.h"
#include "ui/panels/dock.h"
#include "ui/panels/header_bar.h"

using test_support::Stage;
using ui::panels::Perspective;

class LeastWindowTest : public QObject {
  Q_OBJECT

 private slots:
  void nothingIsCutOrCovered_data();
  void nothingIsCutOrCovered();
  void theHeaderIsWholeAtAnyWidth_data();
  void theHeaderIsWholeAtAnyWidth();
};

void LeastWindowTest::nothingIsCutOrCovered_data() {
  QTest::addColumn<int>("perspective");
  QTest::newRow("chat") << int(Perspective::Chat);
  QTest::newRow("teach") << int(Perspective::Teach);
  QTest::newRow("tune") << int(Perspective::Tune);
}

void LeastWindowTest::nothingIsCutOrCovered() {
  QFETCH(int, perspective);
  QTemporaryDir dir;
  Stage stage(dir.path());
  stage.start();
  stage.say("hello");
  stage.play(40);
  stage.window.setPerspective(Perspective(perspective));
  stage.window.resize(stage.window.minimumSize());
  QTest::qWait(150);
  auto* header = stage.window.findChild<ui::panels::HeaderBar*>();
  for (auto* button : header->findChildren<QAbstractButton*>()) {
    // an extension button of the menu bar would hide menus
    if (!button->isVisible()) continue;
    QVERIFY2(button->width() >= button->sizeHint().width(), qPrintable(button->accessibleName() + button->objectName()));
    QVERIFY2(button->objectName() != "qt_menubar_ext_button", "menus are hidden");
  }
  QList<ui::panels::Dock*> seen;
  for (auto* dock : stage.window.findChildren<ui::panels::Dock*>()) {
    if (dock->isVisible() && !dock->visibleRegion().isEmpty()) seen << dock;
  }
  QVERIFY(!seen.isEmpty());
  for (auto* dock : seen) {
    QVERIFY2(dock->parentWidget()->rect().contains(dock->geometry()), qPrintable(dock->objectName()));
    for (auto* other : seen) {
      QVERIFY2(dock == other || !dock->geometry().intersects(other->geometry()),
               qPrintable(dock->objectName() + " and " + other->objectName()));
    }
  }
}

void LeastWindowTest::theHeaderIsWholeAtAnyWidth_data() {
  nothingIsCutOrCovered_data();
}

// Chips give way to the clock, whose words grow.
void LeastWindowTest::theHeaderIsWholeAtAnyWidth() {
  QFETCH(int, perspective);
  QTemporaryDir dir;
  Stage stage(dir.path());
  stage.start();
  stage.say("hello");
  stage.window.setPerspective(Perspective(perspective));
  auto* header = stage.window.findChild<ui::panels::HeaderBar*>();
  for (int width = 1240; width <= 1640; width += 40) {
    stage.window.resize(width, 900);
    stage.play(3);
    QTest::qWait(30);
    QList<QWidget*> parts;
    for (auto* label : header->findChildren<QLabel*>()) parts << label;
    for (auto* button : header->findChildren<QPushButton*>()) parts << button;
    for (auto* part : parts) {
      if (!part->isVisible()) continue;
      QVERIFY2(part->width() >= part->sizeHint().width(),
               qPrintable(QString("%1 at %2: %3 of %4").arg(part->accessibleName()).arg(width).arg(part->width())
                              .arg(part->sizeHint().width())));
    }
  }
}

QTEST_MAIN(LeastWindowTest)
#include "tst_least_window.moc"
