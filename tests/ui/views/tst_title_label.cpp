// A title that does not fit says so by dots, and is whole elsewhere.
#include "ui/views/title_label.h"

#include <QImage>
#include <QTest>

using ui::views::TitleLabel;

class TitleLabelTest : public QObject {
  Q_OBJECT

 private slots:
  void asksForItsWholeWidthButTakesLess();
  void endsInDotsWhereItIsNarrow();
};

namespace {

QImage drawn(const QString& title, int width) {
  TitleLabel label(title);
  label.resize(width, label.sizeHint().height());
  return label.grab().toImage();
}

}  // namespace

void TitleLabelTest::asksForItsWholeWidthButTakesLess() {
  TitleLabel label("Time to first token, ms");
  QVERIFY(label.sizeHint().width() >= label.fontMetrics().horizontalAdvance("Time to first token, ms"));
  QVERIFY(label.minimumSizeHint().width() <= 48);
  QCOMPARE(label.toolTip(), QString("Time to first token, ms"));
  label.setTitle("a");
  QVERIFY(label.minimumSizeHint().width() < 48);
  QCOMPARE(label.toolTip(), QString("a"));
}

void TitleLabelTest::endsInDotsWhereItIsNarrow() {
  const QString title = "Time to first token, ms";
  const QString cut = TitleLabel(title).fontMetrics().elidedText(title, Qt::ElideRight, 90);
  QVERIFY(cut.endsWith(QChar(0x2026)));
  QCOMPARE(drawn(title, 90), drawn(cut, 90));
  QVERIFY(drawn(title, 90) != drawn(title.left(cut.size() - 1), 90));
}

QTEST_MAIN(TitleLabelTest)
#include "tst_title_label.moc"
