// Where a question is typed: whose keys are whose.
#include "ui/panels/composer.h"

#include <QAction>
#include <QMainWindow>
#include <QSignalSpy>
#include <QTest>

using ui::panels::Composer;

class ComposerTest : public QObject {
  Q_OBJECT

 private slots:
  void redoIsTheTextsOnlyWhereThereIsSomethingToRedo();
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

QTEST_MAIN(ComposerTest)
#include "tst_composer.moc"
