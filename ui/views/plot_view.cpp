#include "ui/views/plot_view.h"

#include <qcustomplot.h>

#include <QLabel>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "ui/style/fonts.h"
#include "ui/style/theme.h"

namespace ui::views {

using style::Role;

namespace {

constexpr int kMostDistributionPoints = 512;
constexpr int kMostMarkRows = 6;
constexpr double kLeastHeight = 88;  // names, numbers below, and a curve between them
constexpr double kPixelsATick = 48, kBetweenTicks = 14;
constexpr int kMostTicksUp = 4;
constexpr double kLeft = 40, kFoot = 18;  // round the plot; equal left margins line plots up
constexpr double kLowestWords = 0.98;  // where the lowest row of them ends
constexpr double kHighestRow = 0.15;   // of a plot's height: where rows are higher, words would hide the curves
constexpr qsizetype kShortMark = 4;    // "P50" is shown all the same
constexpr const char* kCursorLayer = "cursor";

// The unit stands once: behind the last number. Steps are 1, 2, 2.5 or 5 times a power of ten, never more of
// them than asked for.
class UnitTicker : public QCPAxisTicker {
 public:
  explicit UnitTicker(const QString& unit) : m_unit(unit) {}

 protected:
  double getTickStep(const QCPRange& range) override {
    const double least = std::max(1e-12, range.size() / std::max(1, tickCount()));
    const double decade = std::pow(10.0, std::floor(std::log10(least)));
    for (double factor : {1.0, 2.0, 2.5, 5.0}) {
      if (factor * decade >= least * (1 - 1e-9)) return factor * decade;
    }
    return 10 * decade;
  }

  QVector<QString> createLabelVector(const QVector<double>& ticks, const QLocale& locale, QChar format, int precision) override {
    QVector<QString> labels = QCPAxisTicker::createLabelVector(ticks, locale, format, precision);
    if (!labels.isEmpty() && !m_unit.isEmpty()) labels.last() += QLatin1Char(' ') + m_unit;
    return labels;
  }

 private:
  const QString m_unit;
};

}  // namespace

PlotView::PlotView(const QString& name, const std::vector<PlotCurve>& curves, QWidget* parent)
    : QWidget(parent), m_curves(curves), m_plot(new QCustomPlot) {
  setAccessibleName(name);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(m_plot);
  m_plot->setAccessibleName(name);
  m_plot->setMinimumSize(10, 10);
  m_plot->setMouseTracking(true);
  m_empty = new QLabel(this);
  m_empty->setProperty("role", "muted");
  m_empty->setAlignment(Qt::AlignCenter);
  m_empty->setWordWrap(true);
  m_empty->setAttribute(Qt::WA_TransparentForMouseEvents);
  m_empty->hide();
  buildPlot();
  recolour();
  connect(m_plot, &QCustomPlot::mouseMove, this, [this](QMouseEvent* event) { emit hovered(xAt(event->position().x())); });
  connect(m_plot, &QCustomPlot::afterLayout, this, &PlotView::placeMarkTexts);  // only now the plot knows its height
  connect(m_plot, &QCustomPlot::afterReplot, this, [this] { emit redrawn(m_plot->replotTime()); });
}

void PlotView::buildPlot() {
  m_plot->setPlottingHint(QCP::phFastPolylines);
  m_plot->setPlottingHint(QCP::phCacheLabels);
  m_plot->setNotAntialiasedElements(QCP::aeGrid | QCP::aeAxes);
  for (const PlotCurve& curve : m_curves) {
    QCPGraph* graph = m_plot->addGraph();
    graph->setName(curve.name);
    graph->setLineStyle(curve.isStep ? QCPGraph::lsStepLeft : QCPGraph::lsLine);
    graph->setAntialiased(!curve.isStep);  // level stretches would look dotted
  }
  buildLegend();
  m_band = new QCPItemRect(m_plot);
  m_band->setLayer(QStringLiteral("background"));
  m_band->setPen(Qt::NoPen);
  m_band->setVisible(false);
  m_plot->addLayer(QLatin1String(kCursorLayer), m_plot->layer(QStringLiteral("overlay")));
  m_plot->layer(QLatin1String(kCursorLayer))->setMode(QCPLayer::lmBuffered);
  m_cursor = new QCPItemStraightLine(m_plot);
  m_cursor->setLayer(QLatin1String(kCursorLayer));
  m_cursor->setVisible(false);
  for (QCPAxis* axis : {m_plot->xAxis, m_plot->yAxis}) {
    axis->setTickLength(0);
    axis->setSubTicks(false);
    axis->setTickLabelPadding(4);
  }
  m_plot->xAxis->grid()->setVisible(false);
  m_plot->yAxis->setBasePen(Qt::NoPen);
  m_plot->axisRect()->setMinimumSize(40, 30);
}

// In a line of its own: over the curves it would hide them.
void PlotView::buildLegend() {
  QCPLegend* legend = m_plot->legend;
  legend->setVisible(false);
  if (m_curves.empty() || m_curves.front().name.isEmpty()) return;
  legend->setVisible(true);
  legend->setFillOrder(QCPLegend::foColumnsFirst);
  legend->setWrap(0);
  legend->setBorderPen(Qt::NoPen);
  legend->setBrush(Qt::NoBrush);
  legend->setIconSize(14, 10);
  legend->setMargins({});
  legend->setColumnSpacing(10);
  m_plot->axisRect()->insetLayout()->take(legend);
  auto* line = new QCPLayoutGrid;
  line->setMargins({});
  line->addElement(0, 0, legend);
  line->addElement(0, 1, new QCPLayoutElement(m_plot));  // takes what the names leave
  line->setColumnStretchFactors({0.001, 1});
  m_plot->plotLayout()->insertRow(0);
  m_plot->plotLayout()->addElement(0, 0, line);
  m_plot->plotLayout()->setRowStretchFactor(0, 0.001);
  m_plot->plotLayout()->setRowSpacing(0);
}

void PlotView::setUnits(const QString& x, const QString& y) {
  m_xUnit = x;
  m_plot->xAxis->setTicker(QSharedPointer<UnitTicker>::create(x));
  m_plot->yAxis->setTicker(QSharedPointer<UnitTicker>::create(y));
  m_plot->yAxis->ticker()->setTickCount(kMostTicksUp);
  recolour();
  spaceTicks();
}

int PlotView::lastNumberWidth() const {
  const QString widest = m_xUnit.size() > 1 ? QStringLiteral("0000 ") : QStringLiteral("0.0 ");
  return QFontMetrics(style::textFont(11)).horizontalAdvance(widest + m_xUnit);
}

void PlotView::spaceTicks() {
  const double pitch = std::max(style::scaledPx(kPixelsATick), lastNumberWidth() + style::scaledPx(kBetweenTicks));
  m_plot->xAxis->ticker()->setTickCount(std::clamp(static_cast<int>(width() / pitch) - 1, 2, 6));
}

// The plot knows nothing of palettes and text sizes: every pen, brush and font is set again.
void PlotView::recolour() {
  const style::Palette& palette = style::paletteOf(this->palette());
  const QColor grid = style::blend(palette.color(Role::Border), palette.color(Role::Panel), 0.8);
  m_plot->setBackground(palette.color(Role::Panel));
  for (std::size_t i = 0; i < m_curves.size(); ++i) {
    // width 1: wider pens cost hundreds of times more on noisy curves
    m_plot->graph(static_cast<int>(i))->setPen(QPen(palette.color(m_curves[i].role), 1.0, m_curves[i].pen));
  }
  for (QCPAxis* axis : {m_plot->xAxis, m_plot->yAxis}) {
    axis->setTickLabelFont(style::textFont(11));
    axis->setTickLabelColor(palette.color(Role::MutedText));
    axis->setTickPen(Qt::NoPen);
    axis->grid()->setPen(QPen(grid, 1.0));
    axis->grid()->setZeroLinePen(QPen(grid, 1.0));
  }
  m_plot->xAxis->setBasePen(QPen(palette.color(Role::Border), 1.0));
  // a last number with its unit may stand at the edge, and half of it beyond; so may the highest one
  const int half = lastNumberWidth() / 2, top = QFontMetrics(style::textFont(11)).height() / 2 + 2;
  m_plot->axisRect()->setMinimumMargins(QMargins(static_cast<int>(style::scaledPx(kLeft)), top,
                                                 half + 4, static_cast<int>(style::scaledPx(kFoot))));
  QColor veil = palette.color(Role::Panel);  // words stay legible where a curve runs behind them
  veil.setAlphaF(0.6F);
  m_plot->legend->setTextColor(palette.color(Role::MutedText));
  m_plot->legend->setFont(style::textFont(11));
  QColor band = palette.color(Role::Accent);
  band.setAlphaF(0.14F);
  m_band->setBrush(band);
  m_cursor->setPen(QPen(palette.color(Role::TimeCursor), 1.0));
  for (QCPItemStraightLine* line : m_markLines) line->setPen(QPen(palette.color(Role::BudgetLine), 1.0, Qt::DotLine));
  for (QCPItemText* text : m_markTexts) {
    text->setColor(palette.color(Role::MutedText));
    text->setFont(style::textFont(11));
    text->setBrush(veil);
  }
}

void PlotView::setSeries(int curve, const std::vector<models::SeriesBucket>& buckets) {
  QVector<QCPGraphData> data;
  data.reserve(static_cast<qsizetype>(buckets.size()) * 3);
  for (const models::SeriesBucket& bucket : buckets) {
    const double x = static_cast<double>(bucket.tNs) / 1e9;
    if (bucket.min != bucket.max) data << QCPGraphData(x, bucket.min) << QCPGraphData(x, bucket.max);
    data << QCPGraphData(x, bucket.last);
  }
  m_plot->graph(curve)->data()->set(data, true);
}

void PlotView::setDistribution(int curve, const std::vector<double>& sorted) {
  QVector<QCPGraphData> data;
  const std::size_t n = sorted.size();
  const std::size_t stride = std::max<std::size_t>(1, n / kMostDistributionPoints);
  if (n > 0) data << QCPGraphData(sorted.front(), 0);
  for (std::size_t i = 0; i < n; i += stride) {
    data << QCPGraphData(sorted[i], 100.0 * static_cast<double>(i + 1) / static_cast<double>(n));
  }
  if (n > 0) data << QCPGraphData(sorted.back(), 100);
  m_plot->graph(curve)->data()->set(data, true);
}

void PlotView::setRanges(double xMin, double xMax, double yMax) {
  m_plot->xAxis->setRange(xMin, std::max(xMax, xMin + 1e-6));
  m_plot->yAxis->setRange(0, std::max(yMax, 1e-6));
}

void PlotView::setMarks(const std::vector<PlotMark>& marks) {
  while (m_markLines.size() < marks.size()) {
    m_markLines.push_back(new QCPItemStraightLine(m_plot));
    auto* text = new QCPItemText(m_plot);
    text->position->setTypeX(QCPItemPosition::ptPlotCoords);
    text->position->setTypeY(QCPItemPosition::ptAxisRectRatio);
    text->setPositionAlignment(Qt::AlignLeft | Qt::AlignBottom);
    text->setPadding(QMargins(3, 0, 3, 0));
    m_markTexts.push_back(text);
    recolour();
  }
  m_marks = marks;
  for (std::size_t i = 0; i < m_markLines.size(); ++i) {
    m_markLines[i]->setVisible(i < marks.size());
    m_markTexts[i]->setVisible(i < marks.size());
    if (i >= marks.size()) continue;
    m_markLines[i]->point1->setCoords(marks[i].x, 0);
    m_markLines[i]->point2->setCoords(marks[i].x, 1);
    m_markTexts[i]->setText(marks[i].text);
  }
  placeMarkTexts();
}

// Words near the right edge turn left. Each takes the lowest row where it lies on no curve and no other
// word; where there is none, rows take turns, so that close marks stay legible.
void PlotView::placeMarkTexts() {
  const QFontMetrics words(style::textFont(11));
  const double rowShare = std::max(0.14, static_cast<double>(words.height()) / std::max(1, m_plot->axisRect()->height()));
  const int numRows = std::clamp(static_cast<int>(kLowestWords / rowShare), 1, kMostMarkRows);
  const QCPRange shown = m_plot->xAxis->range();
  const double perPixel = shown.size() / plotWidth();
  std::vector<std::pair<int, QCPRange>> taken;  // row and stretch of the axis
  for (std::size_t i = 0; i < m_marks.size(); ++i) {
    const PlotMark& mark = m_marks[i];
    m_markTexts[i]->setVisible(rowShare <= kHighestRow || mark.text.size() <= kShortMark);
    if (!m_markTexts[i]->visible()) continue;
    const bool turnsLeft = mark.x > shown.lower + 0.7 * shown.size();
    const double length = (words.horizontalAdvance(mark.text) + 8) * perPixel;
    const QCPRange stretch(turnsLeft ? mark.x - length : mark.x, turnsLeft ? mark.x : mark.x + length);
    const auto isTaken = [&](int row) {
      return std::ranges::any_of(taken, [&](const auto& other) {
        return other.first == row && other.second.lower < stretch.upper && other.second.upper > stretch.lower;
      });
    };
    const auto curves = curvesIn(stretch);
    const auto isOnCurve = [&](int row) {
      const double bottom = kLowestWords - rowShare * row, top = bottom - rowShare;
      return std::ranges::any_of(curves, [&](const QCPRange& curve) { return curve.lower < bottom && curve.upper > top; });
    };
    int row = 0;
    while (row < numRows && (isTaken(row) || isOnCurve(row))) ++row;
    for (int turn = 0; row >= numRows && turn < numRows; ++turn) {
      if (!isTaken(turn)) row = turn;
    }
    if (row >= numRows) row = static_cast<int>(i) % numRows;
    taken.emplace_back(row, stretch);
    m_markTexts[i]->setPositionAlignment((turnsLeft ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignBottom);
    m_markTexts[i]->position->setCoords(mark.x, kLowestWords - rowShare * row);
  }
}

// Which heights the curves run through in a stretch of the axis: shares of the plot's height, 0 = its top.
std::vector<QCPRange> PlotView::curvesIn(const QCPRange& stretch) const {
  std::vector<QCPRange> heights;
  const double most = m_plot->yAxis->range().upper;
  for (int i = 0; i < m_plot->graphCount(); ++i) {
    const auto& data = *m_plot->graph(i)->data();
    QCPRange values(most * 10, -1);
    for (auto at = data.findBegin(stretch.lower), end = data.findEnd(stretch.upper); at != end; ++at) {
      values.lower = std::min(values.lower, at->value);
      values.upper = std::max(values.upper, at->value);
    }
    if (values.upper >= 0) heights.emplace_back(1 - values.upper / most, 1 - values.lower / most);
  }
  return heights;
}

void PlotView::setBand(std::optional<std::pair<double, double>> band) {
  m_band->setVisible(band.has_value());
  if (!band) return;
  for (QCPItemPosition* corner : {m_band->topLeft, m_band->bottomRight}) {
    corner->setTypeX(QCPItemPosition::ptPlotCoords);
    corner->setTypeY(QCPItemPosition::ptAxisRectRatio);
  }
  m_band->topLeft->setCoords(band->first, 0);
  m_band->bottomRight->setCoords(band->second, 1);
}

void PlotView::setCursor(std::optional<double> x) {
  if (!x && !m_cursor->visible()) return;
  m_cursor->setVisible(x.has_value());
  if (x) {
    m_cursor->point1->setCoords(*x, 0);
    m_cursor->point2->setCoords(*x, 1);
  }
  if (isVisible()) m_plot->layer(QLatin1String(kCursorLayer))->replot();
}

void PlotView::setEmptyText(const QString& text) {
  m_empty->setText(text);
  m_empty->setVisible(!text.isEmpty());
  showLegend();
  m_plot->xAxis->setVisible(text.isEmpty());
  m_plot->yAxis->setVisible(text.isEmpty());
}

void PlotView::showLegend() {
  m_plot->legend->setVisible(!m_curves.empty() && !m_curves.front().name.isEmpty() && m_empty->isHidden());
}

void PlotView::redraw() { m_plot->replot(QCustomPlot::rpQueuedReplot); }

double PlotView::greatest(int curve) const {
  double most = 0;
  for (const QCPGraphData& point : *m_plot->graph(curve)->data()) most = std::max(most, point.value);
  return most;
}

int PlotView::numPoints(int curve) const { return m_plot->graph(curve)->data()->size(); }

int PlotView::plotWidth() const { return std::max(1, m_plot->axisRect()->width()); }

double PlotView::xAt(double pixel) const { return m_plot->xAxis->pixelToCoord(pixel - m_plot->x()); }

double PlotView::pixelOf(double x) const { return m_plot->x() + m_plot->xAxis->coordToPixel(x); }

double PlotView::yPixelOf(double y) const { return m_plot->y() + m_plot->yAxis->coordToPixel(y); }

QSize PlotView::minimumSizeHint() const {
  return {static_cast<int>(style::scaledPx(120)), static_cast<int>(style::scaledPx(kLeastHeight))};
}

void PlotView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) {
    updateGeometry();
    recolour();
    spaceTicks();
    redraw();
  }
  QWidget::changeEvent(event);
}

void PlotView::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  m_empty->setGeometry(rect());
  m_plot->setBufferDevicePixelRatio(devicePixelRatioF());  // another screen may be another scale
  spaceTicks();
  emit resized();
}

void PlotView::leaveEvent(QEvent*) { emit hovered(std::nullopt); }

}  // namespace ui::views
