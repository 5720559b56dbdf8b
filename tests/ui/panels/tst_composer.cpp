// Where a question is typed: whose keys are whose.
#include "ui/panels/composer.h"

#include <QAbstractButton>
#include <QAction>
#include <QMainWindow>
#include <QSignalSpy>
#include <QTest>

#include "ui/views/context_gauge.h"

using ui::panels::Composer;

class ComposerTest : public QObject {
  Q_OBJECT

 private slots:
  void redoIsTheTextsOnlyWhereThereIsSomethingToRedo();
  void noButtonIsCutOff();
};

void ComposerTest::redoIsTheTextsOnlyWhereThereIsSomethingToRedo() {
  QMainWindow window;
  auto* composer = new Composer(&window);
  window.setCentralWidget(composer);
  QAction bringBack(&window);
  bringBack.setShortcut(QKeySequence(QStringLiteral("Ctrl+Shift+Z")));
  window.addAction(&bringBack);
  QSignalSpy brought(&bringBack, &QAction::triggered);
  window.show();
  QVERIFY(QTest::qWaitForWindowExposed(&window));
  window.activateWindow();
  composer->edit().setFocus();
  QTRY_VERIFY(composer->edit().hasFocus());
  const auto press = [&] { QTest::keyClick(&composer->edit(), Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier); };
  press();
  QCOMPARE(brought.count(), 1);
  QTest::keyClicks(&composer->edit(), "typed");
  composer->edit().undo();
  QCOMPARE(composer->text(), QString());
  QVERIFY(composer->edit().document()->isRedoAvailable());
  QTest::keyClick(&composer->edit(), Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
  QCOMPARE(composer->text(), QString("typed"));
  QCOMPARE(brought.count(), 1);
  press();
  QCOMPARE(brought.count(), 2);
}

void ComposerTest::noButtonIsCutOff() {
  Composer composer;
  composer.setSettingsText("T 0.7 · top-p 0.9 · seed 42");
  composer.gauge().setTokens(1000, 20, 8192);
  composer.show();
  int numShown = 0;
  for (int width : {900, 420, 320}) {
    composer.resize(width, composer.height());
    QTest::qWait(30);
    numShown = 0;
    for (auto* button : composer.findChildren<QAbstractButton*>()) {
      if (!button->isVisible()) continue;
      ++numShown;
      QVERIFY2(button->width() >= button->sizeHint().width(), qPrintable(QString("%1 at %2").arg(button->text()).arg(width)));
    }
    QVERIFY(numShown == 3 || width < 900);
  }
  QVERIFY(numShown < 3);  // left out whole
}

QTEST_MAIN(ComposerTest)
#include "tst_composer.moc"
