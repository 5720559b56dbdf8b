#include "ui/views/batch_strip_view.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "ui/bridge/selection.h"
#include "ui/models/knob_text.h"
#include "ui/style/fonts.h"
#include "ui/style/format.h"
#include "ui/style/theme.h"

namespace ui::views {

using style::Role;

namespace {

constexpr double kGlyphBand = 14.0;  // the row of limit glyphs under the columns
constexpr int kFlagRows = 3;         // of what was turned
constexpr double kMinColumn = 2.0;
constexpr double kMinBar = 3.0;  // a few decode rows stay visible beside a full prefill chunk
constexpr double kMaxColumn = 24.0;

double flagHeight() { return style::scaledPx(12); }

// Room for the budget's words above the columns.
double topMargin() { return std::max(12.0, QFontMetricsF(style::textFont(11)).height() + 1.0); }

}  // namespace

BatchStripView::BatchStripView(bridge::Selection& selection,
                               const models::RunRecord& record,
                               QWidget* parent)
    : QWidget(parent), m_selection(selection), m_record(record), m_history(record.steps()) {
  setMouseTracking(true);
  setAttribute(Qt::WA_OpaquePaintEvent);  // in its card's colour: nothing beneath is painted for it
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Batch of each iteration"));
  connect(&m_selection, &bridge::Selection::changed, this, qOverload<>(&QWidget::update));
}

void BatchStripView::refresh() {
  m_isDirty = true;
  update();
}

double BatchStripView::plotHeight() const { return std::max(1.0, height() - kGlyphBand - topMargin()); }

int BatchStripView::firstVisible() const {
  const int fit = static_cast<int>(width() / m_columnWidth);
  return std::max(0, static_cast<int>(m_history.columns().size()) - fit);
}

int BatchStripView::columnAt(QPointF position) const {
  const int index = firstVisible() + static_cast<int>(std::floor(position.x() / m_columnWidth));
  return index >= 0 && index < static_cast<int>(m_history.columns().size()) ? index : -1;
}

double BatchStripView::scaleTop() const {
  double top = 8.0;
  const auto& columns = m_history.columns();
  for (std::size_t i = static_cast<std::size_t>(firstVisible()); i < columns.size(); ++i) {
    const engine::IterationRecord& it = columns[i].iteration;
    const double used = it.prefillTokens + it.decodeTokens + it.draftTokens;
    top = std::max(top, used);
  }
  // Decode-only stretches would be one pixel high beside the budget: the budget line enters the scale
  // only when a batch came within a factor of eight of it.
  if (!columns.empty()) {
    const double budget = columns.back().iteration.budget;
    if (budget <= top * 8.0) top = std::max(top, budget);
  }
  return top * 1.06;
}

void BatchStripView::paintLimit(QPainter& painter, engine::Reason limit, QPointF centre) const {
  const style::Palette& palette = style::paletteOf(this->palette());
  const double r = std::min(2.6, m_columnWidth * 0.38);
  painter.setPen(Qt::NoPen);
  switch (limit) {
    case engine::Reason::LimitTokenBudget:
      painter.setBrush(palette.color(Role::BudgetLine));
      painter.drawRect(QRectF(centre.x() - r, centre.y() - r, 2 * r, 2 * r));
      break;
    case engine::Reason::LimitBlocks: {
      painter.setBrush(palette.color(Role::Preempted));
      const double d = r * 1.4;
      painter.drawPolygon(QPolygonF({centre + QPointF(0, -d), centre + QPointF(d, 0),
                                     centre + QPointF(0, d), centre + QPointF(-d, 0)}));
      break;
    }
    case engine::Reason::LimitSequences:
    case engine::Reason::LimitBatchPolicy:
      painter.setBrush(palette.color(Role::Waiting));
      painter.drawEllipse(centre, r, r);
      break;
    default:  // queue empty: a hollow ring
      painter.setBrush(Qt::NoBrush);
      painter.setPen(QPen(palette.color(Role::FaintText), 1.0));
      painter.drawEllipse(centre, r * 0.8, r * 0.8);
  }
}

void BatchStripView::paintColumn(QPainter& painter,
                                 const models::StepColumn& column,
                                 QRectF place,
                                 double top) const {
  const style::Palette& palette = style::paletteOf(this->palette());
  const engine::IterationRecord& it = column.iteration;
  double y = place.bottom();
  const auto stack = [&](double tokens, Role role) {
    if (tokens <= 0) return;
    const double height = std::max(kMinBar, tokens / top * place.height());
    painter.fillRect(QRectF(place.left(), y - height, place.width(), height), palette.color(role));
    y -= height;
  };
  stack(it.decodeTokens, Role::Decode);
  stack(it.draftTokens, Role::Draft);
  stack(it.prefillTokens, Role::Prefill);
  if (column.lostBefore) {
    painter.setPen(QPen(palette.color(Role::Danger), 1.0, Qt::DotLine));
    painter.drawLine(place.topLeft(), place.bottomLeft());
  }
}

void BatchStripView::paintBase() {
  const double ratio = devicePixelRatioF();
  m_base = QPixmap((QSizeF(size()) * ratio).toSize());
  m_base.setDevicePixelRatio(ratio);
  m_base.fill(style::paletteOf(this->palette()).color(Role::Panel));
  QPainter painter(&m_base);
  const style::Palette& palette = style::paletteOf(this->palette());
  const auto& columns = m_history.columns();
  painter.setFont(style::textFont(11));
  if (columns.empty()) {
    painter.setFont(style::textFont(13));
    painter.setPen(palette.color(Role::MutedText));
    painter.drawText(rect(), Qt::AlignCenter, tr("No iteration yet. Send a message or start traffic."));
    m_isDirty = false;
    return;
  }
  const double top = scaleTop();
  const double gap = m_columnWidth >= 4 ? 1.0 : 0.0;
  const int first = firstVisible();
  for (int i = first; i < static_cast<int>(columns.size()); ++i) {
    const models::StepColumn& column = columns[static_cast<std::size_t>(i)];
    const double x = (i - first) * m_columnWidth;
    paintColumn(painter, column, QRectF(x, topMargin(), m_columnWidth - gap, plotHeight()), top);
    if (m_columnWidth >= 4) {
      painter.setRenderHint(QPainter::Antialiasing, true);
      paintLimit(painter, column.iteration.limit, {x + m_columnWidth / 2, height() - kGlyphBand / 2});
      painter.setRenderHint(QPainter::Antialiasing, false);
    }
  }
  const double budget = columns.back().iteration.budget;
  const double y = topMargin() + plotHeight() * (1.0 - std::min(1.0, budget / top));
  painter.setPen(QPen(palette.color(Role::BudgetLine), 1.0, Qt::DashLine));
  painter.drawLine(QPointF(0, y), QPointF(width(), y));
  painter.setPen(palette.color(Role::MutedText));
  const QString words = budget > top ? tr("budget %1, above").arg(budget) : QString::number(budget);
  const double letters = painter.fontMetrics().height();
  painter.drawText(QRectF(0, std::max(0.0, y - 1 - letters), width() - 2.0, letters), Qt::AlignRight | Qt::AlignBottom, words);
  const bool isAmongFlags = y - 1 - letters < flagHeight() * kFlagRows;
  paintKnobs(painter, isAmongFlags ? width() - painter.fontMetrics().horizontalAdvance(words) - 10.0 : width());
  m_isDirty = false;
}

double BatchStripView::edgeOf(std::int64_t ns) const {
  const auto& columns = m_history.columns();
  const auto at = std::ranges::lower_bound(columns, ns, {}, [](const models::StepColumn& column) {
    return column.iteration.t0Ns;
  });
  return (static_cast<double>(at - columns.begin()) - firstVisible()) * m_columnWidth;
}

void BatchStripView::paintRange(QPainter& painter) const {
  const auto range = m_selection.timeRange();
  if (!range) return;
  QColor veil = style::paletteOf(palette()).color(Role::Accent);
  veil.setAlphaF(0.16F);
  const double left = edgeOf(range->t0Ns), right = edgeOf(range->t1Ns);
  painter.fillRect(QRectF(left, topMargin(), right - left, plotHeight()), veil);
}

// Before the first step that a turned knob acted on; the words keep to the left of `right`.
void BatchStripView::paintKnobs(QPainter& painter, double right) const {
  const style::Palette& palette = style::paletteOf(this->palette());
  int row = 0;
  for (const engine::KnobRecord& knob : m_record.knobs()) {
    const double x = std::round(edgeOf(knob.tNs));
    if (x < 0 || x > width()) continue;
    painter.setPen(QPen(palette.color(Role::BudgetLine), 1.0, Qt::DotLine));
    painter.drawLine(QPointF(x, 0), QPointF(x, height() - kGlyphBand));
    const QString text = models::describeKnobChange(knob);
    const double length = painter.fontMetrics().horizontalAdvance(text) + 3.0;
    painter.setPen(palette.color(Role::MutedText));
    const double left = x + length + 3 > right ? std::min(x, right) - length : x + 3;
    painter.drawText(QPointF(std::max(0.0, left), style::scaledPx(10) + flagHeight() * (row++ % kFlagRows)), text);
  }
}

void BatchStripView::paintEvent(QPaintEvent*) {
  if (m_isDirty) paintBase();
  QPainter painter(this);
  painter.drawPixmap(0, 0, m_base);
  if (m_history.columns().empty()) return;
  paintRange(painter);
  const engine::StepId step = m_selection.shownStep();
  const int index = step.isNone() ? -1 : m_history.indexOf(step.value);
  if (index >= firstVisible()) {
    const double x = (index - firstVisible()) * m_columnWidth;
    painter.setPen(QPen(style::paletteOf(palette()).color(Role::Text), 1.0));
    painter.drawRect(QRectF(x - 1, 1, m_columnWidth, height() - 3.0));
  }
}

void BatchStripView::resizeEvent(QResizeEvent*) { refresh(); }

void BatchStripView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) refresh();
  QWidget::changeEvent(event);
}

void BatchStripView::mouseMoveEvent(QMouseEvent* event) {
  const int index = columnAt(event->position());
  const models::StepColumn* column = index < 0 ? nullptr : &m_history.columns()[static_cast<std::size_t>(index)];
  m_selection.setTimeCursorNs(column ? std::optional(column->iteration.t0Ns) : std::nullopt);
  m_selection.hoverStep(column ? engine::StepId(column->iteration.id) : engine::StepId());
}

void BatchStripView::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  const engine::StepId step = m_selection.hoveredStep();
  m_selection.pinStep(step == m_selection.pinnedStep() ? engine::StepId() : step);
}

void BatchStripView::wheelEvent(QWheelEvent* event) {
  const double factor = event->angleDelta().y() > 0 ? 1.25 : 0.8;
  m_columnWidth = std::clamp(m_columnWidth * factor, kMinColumn, kMaxColumn);
  refresh();
  event->accept();
}

void BatchStripView::leaveEvent(QEvent*) {
  m_selection.setTimeCursorNs(std::nullopt);
  m_selection.hoverStep(engine::StepId());
}

void BatchStripView::keyPressEvent(QKeyEvent* event) {
  const int direction = event->key() == Qt::Key_Left ? -1 : event->key() == Qt::Key_Right ? 1 : 0;
  const int count = static_cast<int>(m_history.columns().size());
  if (direction == 0 || count == 0) return QWidget::keyPressEvent(event);
  const int from = m_selection.pinnedStep().isNone() ? -1 : m_history.indexOf(m_selection.pinnedStep().value);
  const int to = from < 0 ? count - 1 : std::clamp(from + direction, 0, count - 1);
  const models::StepColumn& column = m_history.columns()[static_cast<std::size_t>(to)];
  m_selection.pinStep(engine::StepId(column.iteration.id));
  m_selection.setTimeCursorNs(column.iteration.t0Ns);
  setAccessibleDescription(describe(column));
}

QString BatchStripView::describe(const models::StepColumn& column) {
  const engine::IterationRecord& it = column.iteration;
  QStringList lines;
  lines << tr("iteration %1 · %2").arg(style::formatCount(static_cast<qint64>(it.id)),
                                      style::formatMs(static_cast<double>(it.t1Ns - it.t0Ns) / 1e6));
  lines << tr("decode %1 · draft %2 · prefill %3 of budget %4")
               .arg(it.decodeTokens).arg(it.draftTokens).arg(it.prefillTokens).arg(it.budget);
  lines << tr("stopped by: %1").arg(QString::fromStdString(engine::reasonText(it.limit, 0, 0)));
  lines << tr("running %1 · waiting %2 · free blocks %3 · cached %4")
               .arg(it.running).arg(it.waiting).arg(it.freeBlocks).arg(it.cachedBlocks);
  lines << tr("schedule %1 · model %2 · sample %3")
               .arg(style::formatMs(it.scheduleNs / 1e6), style::formatMs(it.modelNs / 1e6),
                    style::formatMs(it.sampleNs / 1e6));
  return lines.join(QLatin1Char('\n'));
}

bool BatchStripView::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const int index = columnAt(help->pos());
    if (index < 0) {
      QToolTip::hideText();
    } else {
      QToolTip::showText(help->globalPos(), describe(m_history.columns()[static_cast<std::size_t>(index)]), this);
    }
    return true;
  }
  return QWidget::event(event);
}

}  // namespace ui::views
