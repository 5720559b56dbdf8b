// labels: timed
// A plot offscreen: what it draws, where, and what it costs.
#include "ui/views/plot_view.h"

#include <qcustomplot.h>

#include <QApplication>
#include <QLabel>
#include <QMouseEvent>
#include <QSignalSpy>
#include <QTest>
#include <algorithm>
#include <cmath>

#include "ui/style/theme.h"

using ui::models::Series;
using ui::style::Palette;
using ui::style::Role;
using ui::views::PlotView;

namespace {

struct Stage {
  Stage() {
    view.resize(500, 200);
    view.show();
    QTest::qWait(50);
  }
  QImage picture() {
    view.redraw();
    QTest::qWait(30);
    return view.grab().toImage();
  }
  static int count(const QImage& image, QColor colour) {
    int hits = 0;
    for (int y = 0; y < image.height(); ++y) {
      for (int x = 0; x < image.width(); ++x) hits += image.pixelColor(x, y) == colour;
    }
    return hits;
  }

  PlotView view{"a plot", {{"out", Role::Decode, Qt::SolidLine, true}, {"in", Role::Prefill, Qt::DashLine}}};
};

}  // namespace

class PlotViewTest : public QObject {
  Q_OBJECT

 private slots:
  void aSeriesIsDrawnInItsColour() {
    Stage stage;
    const QColor colour = ui::style::paletteOf(stage.view.palette()).color(Role::Decode);
    stage.view.setRanges(0, 10, 100);
    const int before = Stage::count(stage.picture(), colour);
    Series series;
    series.add(0, 50);
    series.add(10'000'000'000, 50);
    stage.view.setSeries(0, series.thinned(0, 10'000'000'001, 400));
    const QImage image = stage.picture();
    QVERIFY(Stage::count(image, colour) > before + 300);
    QCOMPARE(image.pixelColor(int(stage.view.pixelOf(5)), int(std::lround(stage.view.yPixelOf(50)))), colour);
    QCOMPARE(stage.view.greatest(0), 50.0);
  }

  void theColoursFollowThePalette() {
    Stage stage;
    for (const Palette* palette : {&Palette::dark(), &Palette::light()}) {
      stage.view.setPalette(palette->qtPalette());
      const QImage image = stage.picture();
      QCOMPARE(image.pixelColor(1, image.height() / 2), palette->color(Role::Panel));
    }
  }

  void theWordsFollowTheTextSize() {
    ui::style::Theme theme(*qApp);
    Stage stage;
    const auto* plot = stage.view.findChild<QCustomPlot*>();
    const int usual = plot->xAxis->tickLabelFont().pixelSize();
    theme.setTextSize(18);
    QCoreApplication::processEvents();
    QCOMPARE(plot->xAxis->tickLabelFont().pixelSize(), qRound(usual * 18 / 13.0));
    QCOMPARE(plot->legend->font().pixelSize(), qRound(usual * 18 / 13.0));
    theme.setTextSize(13);
    QCoreApplication::processEvents();
    QCOMPARE(plot->yAxis->tickLabelFont().pixelSize(), usual);
  }

  void theLastNumberTellsTheUnit() {
    for (int width : {180, 246, 293, 500, 900}) {
      Stage stage;
      stage.view.setUnits("ms", "%");
      stage.view.setEmptyText({});
      for (double most : {0.7, 75.0, 150.0, 1500.0}) {
        stage.view.resize(width, 160);
        stage.view.setRanges(0, most, 100);
        stage.picture();
        const auto* plot = stage.view.findChild<QCustomPlot*>();
        for (const QCPAxis* axis : {plot->xAxis, plot->yAxis}) {
          const QVector<QString> numbers = axis->tickVectorLabels();
          const QString unit = axis == plot->xAxis ? " ms" : " %";
          QVERIFY2(!numbers.isEmpty() && numbers.last().endsWith(unit), qPrintable(QString("%1 px to %2").arg(width).arg(most)));
          QCOMPARE(std::ranges::count_if(numbers, [&](const QString& number) { return number.endsWith(unit); }), 1);
        }
        // side by side without touching, and whole at the edge
        const QFontMetrics words(plot->xAxis->tickLabelFont());
        double right = -1;
        for (int i = 0; i < plot->xAxis->tickVector().size(); ++i) {
          const double middle = plot->xAxis->coordToPixel(plot->xAxis->tickVector()[i]);
          const double half = words.horizontalAdvance(plot->xAxis->tickVectorLabels()[i]) / 2.0;
          QVERIFY2(middle - half > right, qPrintable(QString("%1 px to %2").arg(width).arg(most)));
          right = middle + half;
        }
        QVERIFY2(right <= width, qPrintable(QString("%1 px to %2").arg(width).arg(most)));
      }
    }
  }

  void namesOfCurvesLieOverNoCurve() {
    Stage stage;
    stage.view.setEmptyText({});
    stage.picture();
    const auto* plot = stage.view.findChild<QCustomPlot*>();
    QVERIFY(plot->legend->visible());
    QVERIFY(!plot->legend->outerRect().intersects(plot->axisRect()->rect()));
  }

  void whyItIsEmptyIsToldWhole() {
    Stage stage;
    stage.view.resize(150, 150);
    stage.view.setEmptyText("No answer yet. Send a message or start traffic.");
    const auto* words = stage.view.findChild<QLabel*>();
    QVERIFY(words && words->isVisible() && words->wordWrap());
    QVERIFY(words->heightForWidth(words->width()) <= words->height());
    stage.view.setEmptyText({});
    QVERIFY(!words->isVisible());
  }

  void aDistributionRisesFromNothingToAll() {
    Stage stage;
    std::vector<double> sorted;
    for (int i = 1; i <= 5000; ++i) sorted.push_back(i);
    stage.view.setDistribution(0, sorted);
    QVERIFY(stage.view.numPoints(0) <= 600);
    QCOMPARE(stage.view.greatest(0), 100.0);
    stage.view.setDistribution(0, {});
    QCOMPARE(stage.view.numPoints(0), 0);
  }

  // Marks at one place: no letter lies on another, and a low plot keeps its curves in sight.
  void wordsOfCloseMarksDoNotOverlap() {
    for (int height : {90, 110, 160, 300}) {
      const bool isLow = height < 120;
      Stage stage;
      stage.view.setEmptyText({});
      stage.view.setRanges(0, 10, 100);
      stage.view.setMarks({{2, "first mark"}, {2, "second mark"}, {2, "P50"}});
      stage.view.resize(500, height);  // after the marks are there
      stage.picture();
      const auto* plot = stage.view.findChild<QCustomPlot*>();
      QList<QRectF> places;
      for (int i = 0; i < plot->itemCount(); ++i) {
        const auto* text = qobject_cast<QCPItemText*>(plot->item(i));
        if (text && text->visible()) places << QRectF(text->topLeft->pixelPosition(), text->bottomRight->pixelPosition());
      }
      QVERIFY2(places.size() == (isLow ? 1 : 3), qPrintable(QString::number(height)));
      if (!isLow) QVERIFY2(places[0].top() - places[1].top() < 0.2 * height, qPrintable(QString::number(height)));
      for (int i = 0; i < places.size(); ++i) {
        for (int j = 0; j < i; ++j) QVERIFY2(!places[i].intersects(places[j]), qPrintable(QString::number(height)));
      }
    }
  }

  // A curve that begins low and ends high: words beside its start go above it, beside its end below.
  void wordsOfMarksLieOnNoCurve() {
    Stage stage;
    stage.view.setEmptyText({});
    stage.view.resize(600, 260);
    stage.view.setRanges(0, 10, 100);
    Series series;
    series.add(0, 10);
    series.add(4'900'000'000, 10);
    series.add(5'100'000'000, 90);
    series.add(10'000'000'000, 90);
    stage.view.setSeries(0, series.thinned(0, 10'000'000'001, 500));
    stage.view.setMarks({{1, "words at the start"}, {9.5, "words at the end"}});
    stage.picture();
    stage.picture();
    const auto* plot = stage.view.findChild<QCustomPlot*>();
    int numSeen = 0;
    for (int i = 0; i < plot->itemCount(); ++i) {
      const auto* text = qobject_cast<QCPItemText*>(plot->item(i));
      if (!text || !text->visible()) continue;
      ++numSeen;
      const double curve = plot->yAxis->coordToPixel(text->text().endsWith("start") ? 10 : 90);
      QVERIFY2(text->topLeft->pixelPosition().y() > curve || text->bottomRight->pixelPosition().y() < curve, qPrintable(text->text()));
    }
    QCOMPARE(numSeen, 2);
  }

  void manyRequestsToRedrawAreOneReplot() {
    Stage stage;
    QSignalSpy replots(&stage.view, &PlotView::redrawn);
    for (int i = 0; i < 50; ++i) stage.view.redraw();
    QTest::qWait(50);
    QCOMPARE(replots.count(), 1);
  }

  void theMouseTellsTheTimeAndTheCursorCostsNoReplot() {
    Stage stage;
    stage.view.setRanges(0, 10, 100);
    stage.picture();
    QSignalSpy hovers(&stage.view, &PlotView::hovered);
    QSignalSpy replots(&stage.view, &PlotView::redrawn);
    QWidget* plot = stage.view.findChild<QWidget*>();
    const QPointF at(stage.view.pixelOf(5), 60);
    QMouseEvent move(QEvent::MouseMove, at, plot->mapToGlobal(at), Qt::NoButton, Qt::NoButton, Qt::NoModifier);
    QApplication::sendEvent(plot, &move);
    QCOMPARE(hovers.count(), 1);
    QVERIFY(std::abs(*hovers[0][0].value<std::optional<double>>() - 5) < 0.05);
    const QImage without = stage.view.grab().toImage();
    stage.view.setCursor(5);
    QCOMPARE(replots.count(), 0);
    const QImage with = stage.view.grab().toImage();
    const int x = int(at.x());
    int changed = 0;
    for (int y = 20; y < 150; ++y) {
      for (int px = x - 1; px <= x + 1; ++px) changed += with.pixelColor(px, y) != without.pixelColor(px, y);
    }
    QVERIFY(changed >= 100);
  }

  // Noise is what makes a wide pen slow.
  void noiseIsDrawnWithinTheFrame() {
    std::vector<double> costs;
    Stage stage;
    Series series;
    for (std::int64_t i = 0; i < 60'000; ++i) series.add(i * 1'000'000, static_cast<double>((i * 7919) % 101));
    stage.view.resize(1400, 200);
    stage.view.setRanges(0, 60, 101);
    connect(&stage.view, &PlotView::redrawn, this, [&](double ms) { costs.push_back(ms); });
    for (int i = 0; i < 9; ++i) {
      stage.view.setSeries(0, series.thinned(0, 60'000'000'000, stage.view.plotWidth()));
      stage.view.redraw();
      QTest::qWait(20);
    }
    QVERIFY(costs.size() >= 5);
    std::ranges::sort(costs);
    qInfo("replot of a noisy minute: least %.2f ms, median %.2f ms", costs.front(), costs[costs.size() / 2]);
    QVERIFY(costs.front() < 8);
    QCOMPARE(stage.view.greatest(0), 100.0);
  }
};

QTEST_MAIN(PlotViewTest)
#include "tst_plot_view.moc"
