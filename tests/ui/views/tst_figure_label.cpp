// Figures beside a title: whole, cut with dots, or left out where dots would be all there is.
#include "ui/views/figure_label.h"

#include <QImage>
#include <QTest>

using ui::views::FigureLabel;

namespace {

QImage drawn(const QString& text, int width) {
  FigureLabel label;
  label.setText(text);
  label.resize(width, label.sizeHint().height());
  return label.grab().toImage();
}

}  // namespace

class FigureLabelTest : public QObject {
  Q_OBJECT

 private slots:
  void endsInDotsWhereItIsNarrow();
  void leavesOutWholePartsBeforeItCutsOne();
  void isLeftOutWhereItWouldSayNothing();
  void shortFiguresAreNeverLeftOut();
};

void FigureLabelTest::endsInDotsWhereItIsNarrow() {
  const QString text = "budget 512 tokens, stopped by the queue";
  const FigureLabel label;
  const QString cut = label.fontMetrics().elidedText(text, Qt::ElideRight, 120);
  QVERIFY(cut.endsWith(QChar(0x2026)));
  QCOMPARE(drawn(text, 120), drawn(cut, 120));
}

void FigureLabelTest::leavesOutWholePartsBeforeItCutsOne() {
  const QString text = "P50 607 ms · P90 1.51 s · n = 6";
  const auto wide = [](const QString& words) { return FigureLabel().fontMetrics().horizontalAdvance(words); };
  QCOMPARE(drawn(text, wide("P50 607 ms · P90 1.51 s") + 3), drawn("P50 607 ms · P90 1.51 s", wide("P50 607 ms · P90 1.51 s") + 3));
  QCOMPARE(drawn(text, wide("P50 607 ms · P90") + 3), drawn("P50 607 ms", wide("P50 607 ms · P90") + 3));
  QCOMPARE(drawn(text, wide("P50 60")), drawn("", wide("P50 60")));
}

void FigureLabelTest::isLeftOutWhereItWouldSayNothing() {
  QCOMPARE(drawn("budget 512 tokens", 24), drawn("", 24));
  FigureLabel label;
  label.setText("budget 512 tokens");
  QCOMPARE(label.toolTip(), QString("budget 512 tokens"));
}

void FigureLabelTest::shortFiguresAreNeverLeftOut() {
  const int width = FigureLabel().fontMetrics().horizontalAdvance("43 %") + 4;
  QVERIFY(drawn("43 %", width) != drawn("", width));
}

QTEST_MAIN(FigureLabelTest)
#include "tst_figure_label.moc"
