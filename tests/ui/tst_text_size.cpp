// The user's text size reaches every word of the window, set before the start or later.
#include <QApplication>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QTabWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <map>

#include "tests/ui/window_stage.h"
#include "ui/panels/dock.h"
#include "ui/panels/knobs_panel.h"
#include "ui/panels/settings_dialog.h"
#include "ui/panels/workbench.h"
#include "ui/program_desk.h"
#include "ui/views/plot_view.h"
#include "ui/views/title_label.h"

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
  void tuneStaysReadable_data();
  void tuneStaysReadable();
  void noWordOfTheSettingsIsCutOff();
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

void TextSizeTest::tuneStaysReadable_data() {
  QTest::addColumn<int>("size");
  for (int size : {11, 13, 18, 22}) QTest::addRow("%d px", size) << size;
}

// Where the window is too small for the words it scrolls: titles are whole, plots high enough, views apart.
void TextSizeTest::tuneStaysReadable() {
  QFETCH(int, size);
  QTemporaryDir dir;
  Stage stage(dir.path());
  stage.theme.setTextSize(size);
  stage.start();
  stage.window.resize(1280, 800);
  stage.window.setPerspective(ui::panels::Perspective::Tune);
  QTest::qWait(250);
  const double scale = size / 13.0;
  auto& bench = stage.window.workbench();
  int numTitles = 0, numPlots = 0;
  for (auto* title : bench.findChildren<ui::views::TitleLabel*>()) {
    if (!title->isVisible() || title->visibleRegion().isEmpty()) continue;
    ++numTitles;
    const QString first = title->text().section(QStringLiteral(" · "), 0, 0);  // later parts may be left out whole
    QVERIFY2(title->width() >= title->fontMetrics().horizontalAdvance(first), qPrintable(title->text()));
  }
  for (auto* plot : bench.findChildren<ui::views::PlotView*>()) {
    if (!plot->isVisible()) continue;
    ++numPlots;
    QVERIFY2(plot->height() >= std::floor(80 * scale) && plot->width() >= std::floor(140 * scale),
             qPrintable(QString("%1: %2 x %3").arg(plot->accessibleName()).arg(plot->width()).arg(plot->height())));
  }
  QVERIFY2(numTitles >= 3 && numPlots == 5, qPrintable(QString("%1 titles, %2 plots").arg(numTitles).arg(numPlots)));
  QList<ui::panels::Dock*> seen;
  for (auto* dock : bench.findChildren<ui::panels::Dock*>()) {
    if (dock->isVisible() && !dock->isHidden() && dock->geometry().width() > 0 && bench.rect().intersects(dock->geometry())) seen << dock;
  }
  for (auto* dock : seen) QVERIFY2(bench.rect().contains(dock->geometry()), qPrintable(dock->objectName()));
  stage.theme.setTextSize(13);
}

void TextSizeTest::noWordOfTheSettingsIsCutOff() {
  QTemporaryDir dir;
  Stage stage(dir.path());
  stage.start();
  for (int size : {13, 18}) {
    stage.theme.setTextSize(size);
    stage.window.desk().showSettings();
    auto* settings = test_support::shown<ui::panels::SettingsDialog>(stage.window);
    for (int tab = 0; tab < settings->tabs().count(); ++tab) {
      settings->tabs().setCurrentIndex(tab);
      QTest::qWait(50);
      for (auto* label : settings->findChildren<QLabel*>()) {
        if (!label->isVisible()) continue;
        const int needed = label->wordWrap() ? label->heightForWidth(label->width()) : label->sizeHint().height();
        QVERIFY2(label->height() >= needed, qPrintable(QString("%1 at %2 px").arg(label->text()).arg(size)));
      }
    }
    settings->reject();
    QApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    stage.theme.setTextSize(size);
  }
  stage.theme.setTextSize(13);
}

QTEST_MAIN(TextSizeTest)
#include "tst_text_size.moc"
