// A view's key: whole at any width, in more lines where it is narrow.
#include "ui/views/key_view.h"

#include <QApplication>
#include <QImage>
#include <QTest>

#include "ui/style/theme.h"

using ui::style::Role;
using ui::views::KeyMark;
using ui::views::KeyView;

class KeyViewTest : public QObject {
  Q_OBJECT

 private slots:
  void takesMoreLinesWhereItIsNarrow();
  void everyMarkIsDrawn();
};

void KeyViewTest::takesMoreLinesWhereItIsNarrow() {
  KeyView key({{KeyMark::Square, Role::Prefill, "prefill"}, {KeyMark::Bar, Role::Decode, "decode"}, {KeyMark::Cross, Role::Preempted, "preempted"}});
  key.show();
  key.resize(600, 20);
  QCOMPARE(key.numLines(), 1);
  const int line = key.height();
  key.resize(110, 20);
  QVERIFY(key.numLines() > 1);
  QCOMPARE(key.height(), key.numLines() * line);
  key.resize(600, 20);
  QCOMPARE(key.numLines(), 1);
}

void KeyViewTest::everyMarkIsDrawn() {
  ui::style::Theme theme(*qApp);
  for (const KeyMark mark : {KeyMark::Square, KeyMark::Bar, KeyMark::Frame, KeyMark::Hatch, KeyMark::Cross, KeyMark::Dot, KeyMark::Disc,
                             KeyMark::Diamond, KeyMark::Ring}) {
    KeyView with({{mark, Role::Danger, QString()}}), without({{KeyMark::Words, Role::Danger, QString()}});
    with.resize(60, 20);
    without.resize(60, 20);
    QVERIFY2(with.grab().toImage() != without.grab().toImage(), qPrintable(QString::number(int(mark))));
  }
}

QTEST_MAIN(KeyViewTest)
#include "tst_key_view.moc"
