// Controls in a row: none over another, none beyond the edge, however narrow.
#include "ui/views/wrap_row.h"

#include <QPushButton>
#include <QTest>

using ui::views::WrapRow;

class WrapRowTest : public QObject {
  Q_OBJECT

 private slots:
  void nothingIsCutOrCovered();
};

void WrapRowTest::nothingIsCutOrCovered() {
  WrapRow row;
  QList<QPushButton*> buttons;
  for (const char* text : {"owner", "references", "age", "prefix", "physical", "logical"}) {
    buttons << new QPushButton(text);
    row.add(buttons.back(), 6);
  }
  row.show();  // a hidden one hears of its size later
  int before = 0;
  for (int width : {900, 300, 160}) {
    row.resize(width, row.height());
    QVERIFY(row.height() >= before);  // narrower, never lower
    before = row.height();
    for (auto* button : buttons) {
      QVERIFY(button->width() >= button->sizeHint().width());
      QVERIFY2(row.rect().contains(button->geometry()), qPrintable(QString("%1 at %2").arg(button->text()).arg(width)));
      for (auto* other : buttons) QVERIFY(button == other || !button->geometry().intersects(other->geometry()));
    }
  }
  QVERIFY(before > 2 * buttons.front()->sizeHint().height());
}

QTEST_MAIN(WrapRowTest)
#include "tst_wrap_row.moc"
