// The user's text size reaches every word of the window, set before the start or later.
#include <QApplication>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <map>

#include "tests/ui/window_stage.h"
#include "ui/panels/knobs_panel.h"

using test_support::Stage;

namespace {

// Pixels of each widget's font, by its place among its kind.
std::map<QString, int> sizesOf(QWidget& window) {
  std::map<QString, int> sizes;
  std::map<QString, int> seen;
  for (QWidget* widget : window.findChildren<QWidget*>()) {
    const bool hasWords = qobject_cast<QLabel*>(widget) || qobject_cast<QAbstractButton*>(widget) || qobject_cast<QPlainTextEdit*>(widget);
    if (!hasWords || widget->objectName().startsWith("qt_")) continue;
    const QString kind = QString("%1 %2 in %3").arg(widget->metaObject()->className(), widget->accessibleName(),
                                                   widget->parentWidget()->metaObject()->className());
    sizes[QString("%1 #%2").arg(kind).arg(seen[kind]++)] = QFontInfo(widget->font()).pixelSize();
  }
  return sizes;
}

std::map<QString, int> sizesAt(int start, int later) {
  QTemporaryDir dir;
  Stage stage(dir.path());
  stage.theme.setTextSize(start);
  stage.start();
  stage.window.setPerspective(ui::panels::Perspective::Teach);
  QTest::qWait(50);
  stage.theme.setTextSize(later);
  QTest::qWait(50);
  auto sizes = sizesOf(stage.window);
  stage.theme.setTextSize(13);
  return sizes;
}

}  // namespace

class TextSizeTest : public QObject {
  Q_OBJECT

 private slots:
  void everyWordGrows_data();
  void everyWordGrows();
  void noValueOfAKnobIsCutOff();
};

void TextSizeTest::everyWordGrows_data() {
  QTest::addColumn<int>("start");
  QTest::newRow("set before the start") << 18;
  QTest::newRow("set later") << 13;
}

void TextSizeTest::everyWordGrows() {
  QFETCH(int, start);
  const auto usual = sizesAt(13, 13), large = sizesAt(start, 18);
  QVERIFY(usual.size() > 40);
  for (const auto& [name, size] : usual) {
    const auto at = large.find(name);
    QVERIFY2(at != large.end(), qPrintable(name));
    QVERIFY2(std::abs(at->second - size * 18.0 / 13.0) <= 1.0,
             qPrintable(QString("%1: %2 px, %3 px at the large size").arg(name).arg(size).arg(at->second)));
  }
}

void TextSizeTest::noValueOfAKnobIsCutOff() {
  QTemporaryDir dir;
  Stage stage(dir.path());
  stage.start();
  stage.window.resize(1280, 800);
  for (const auto perspective : {ui::panels::Perspective::Teach, ui::panels::Perspective::Tune}) {
    stage.window.setPerspective(perspective);
    for (int size : {13, 18, 11}) {
      stage.theme.setTextSize(size);
      QTest::qWait(100);
      auto* list = stage.window.findChild<ui::panels::KnobsPanel*>()->findChild<QScrollArea*>();
      for (auto* edit : list->findChildren<QLineEdit*>()) {
        const int right = edit->mapTo(list->viewport(), QPoint(edit->width(), 0)).x();
        QVERIFY2(right <= list->viewport()->width(), qPrintable(QString("%1 at %2 px").arg(edit->accessibleName()).arg(size)));
      }
    }
  }
  stage.theme.setTextSize(13);
}

QTEST_MAIN(TextSizeTest)
#include "tst_text_size.moc"
