// How the timeline is drawn: the cached picture of bars, and the overlay on it.
#include <QEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "ui/models/knob_text.h"
#include "ui/style/fonts.h"
#include "ui/style/format.h"
#include "ui/style/theme.h"
#include "ui/views/timeline_view.h"

namespace ui::views {

using models::SpanKind;
using style::Role;

namespace {

constexpr double kTickPixels = 64;  // "0.25 s" and air

// Share of the row's height: shape, not only colour, tells prefill from decode.
double thickness(SpanKind kind) {
  switch (kind) {
    case SpanKind::Prefill: return 0.62;
    case SpanKind::Verify: return 0.5;
    case SpanKind::Decode: return 0.36;
    default: return 0.36;
  }
}

Role roleOf(SpanKind kind) {
  switch (kind) {
    case SpanKind::Prefill: return Role::Prefill;
    case SpanKind::Verify: return Role::Draft;
    case SpanKind::Decode: return Role::Decode;
    default: return Role::Waiting;
  }
}

void fillKind(QPainter& painter, const style::Palette& palette, SpanKind kind, const QRectF& box) {
  if (kind == SpanKind::Stalled) {
    painter.fillRect(box, style::blend(palette.color(Role::Waiting), palette.color(Role::Panel), 0.25));
    painter.fillRect(box, QBrush(palette.color(Role::Waiting), Qt::BDiagPattern));
  } else {
    painter.fillRect(box, palette.color(roleOf(kind)));
  }
}

// Count when there are several.
SpanKind onlyKindOf(const models::LaneItem& item) {
  SpanKind only = SpanKind::Count;
  for (std::size_t k = 0; k < models::kNumSpanKinds; ++k) {
    if (item.share[k] <= 0) continue;
    if (only != SpanKind::Count) return SpanKind::Count;
    only = static_cast<SpanKind>(k);
  }
  return only;
}

QString secondsText(std::int64_t ns, std::int64_t stepNs) {
  const int decimals = std::clamp(9 - static_cast<int>(std::floor(std::log10(static_cast<double>(stepNs)))), 0, 9);
  return QString::number(static_cast<double>(ns) / 1e9, 'f', decimals);
}

}  // namespace

void TimelineView::paintBase() {
  const double ratio = devicePixelRatioF();
  m_base = QPixmap((QSizeF(size()) * ratio).toSize());
  m_base.setDevicePixelRatio(ratio);
  m_base.fill(style::paletteOf(this->palette()).color(Role::Panel));
  m_isDirty = false;
  QPainter painter(&m_base);
  if (m_lanes.lanes().empty()) {
    painter.setFont(style::textFont(13));
    painter.setPen(style::paletteOf(palette()).color(Role::MutedText));
    painter.drawText(rect(), Qt::AlignCenter, tr("No request yet. Send a message or start traffic."));
    return;
  }
  const QRectF plot = plotRect();
  const QRectF lanes = lanesRect();
  paintTicks(painter);
  painter.setClipRect(lanes);
  for (std::size_t row = 0; row < m_rows.size(); ++row) {
    const double top = rowTop(row);
    if (top + m_rowHeight > lanes.top() && top < lanes.bottom()) paintLane(painter, *m_rows[row], top);
  }
  painter.setClipRect(plot);
  paintMarks(painter);
}

void TimelineView::paintTicks(QPainter& painter) const {
  const style::Palette& palette = style::paletteOf(this->palette());
  const QRectF plot = plotRect();
  const std::int64_t step = m_axis.tickStepNs(style::scaledPx(kTickPixels));
  const std::int64_t from = m_axis.timeAt(plot.left()), to = m_axis.timeAt(plot.right());
  painter.setFont(style::textFont(11));
  for (std::int64_t ns = std::max<std::int64_t>(0, (from / step) * step); ns <= to; ns += step) {
    const double x = std::round(m_axis.xOf(ns));
    if (x < plot.left()) continue;
    painter.fillRect(QRectF(x, plot.top(), 1, plot.height()), style::blend(palette.color(Role::Border), palette.color(Role::Panel), 0.6));
    painter.setPen(palette.color(Role::FaintText));
    const QString text = tr("%1 s").arg(secondsText(ns, step));
    const double half = painter.fontMetrics().horizontalAdvance(text) / 2.0;
    if (x + half > width()) continue;  // half a number tells a wrong one
    painter.drawText(QRectF(x - half - 2, plot.bottom() + 2, 2 * half + 4, axisHeight() - 2), Qt::AlignHCenter | Qt::AlignTop, text);
  }
}

void TimelineView::paintMarks(QPainter& painter) const {
  const style::Palette& palette = style::paletteOf(this->palette());
  const QRectF plot = plotRect();
  for (const auto& loss : m_lanes.losses()) {
    const double left = m_axis.xOf(loss.t0Ns), right = std::max(left + 2, m_axis.xOf(loss.t1Ns));
    if (right < plot.left() || left > plot.right()) continue;
    painter.fillRect(QRectF(left, plot.top(), right - left, plot.height()), QBrush(palette.color(Role::Danger), Qt::Dense6Pattern));
  }
  painter.setFont(style::textFont(11));
  const int numRows = numFlagRows();
  int row = 0;
  for (const engine::KnobRecord& knob : m_lanes.knobs()) {
    const double x = std::round(m_axis.xOf(knob.tNs));
    if (x < plot.left() || x > plot.right()) continue;
    painter.setPen(QPen(palette.color(Role::BudgetLine), 1.0, Qt::DotLine));
    painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()));
    if (numRows == 0) continue;  // the table and the other clocks tell of it
    const QString text = models::describeKnobChange(knob);
    const double length = painter.fontMetrics().horizontalAdvance(text) + 8.0;
    const double left = x + length > plot.right() ? std::max(plot.left(), x - length) : x + 1;
    const QRectF flag(left, plot.bottom() - flagHeight() * (1 + row++ % numRows), length, flagHeight());
    painter.fillRect(flag, palette.color(Role::Panel));
    painter.setPen(palette.color(Role::MutedText));
    painter.drawText(flag, Qt::AlignCenter, text);
  }
}

void TimelineView::paintLane(QPainter& painter, const models::Lane& lane, double top) const {
  const style::Palette& palette = style::paletteOf(this->palette());
  const QRectF plot = plotRect();
  const double middle = std::round(top + m_rowHeight / 2);
  painter.fillRect(QRectF(plot.left(), middle, plot.width(), 1), style::blend(palette.color(Role::Border), palette.color(Role::Panel), 0.7));
  const std::int64_t latest = m_lanes.latestNs();
  if (lane.arrivalNs >= 0) {
    const double left = std::max(plot.left() - 2, m_axis.xOf(lane.arrivalNs));
    const double right = std::min(plot.right() + 2, m_axis.xOf(lane.admittedNs >= 0 ? lane.admittedNs : lane.lastNs(latest)));
    if (right - left >= 1.5) {
      const double height = std::round(m_rowHeight * 0.5);
      painter.setPen(QPen(palette.color(Role::Waiting), 1.0));
      painter.setBrush(palette.color(Role::Panel));
      painter.drawRect(QRectF(std::floor(left) + 0.5, std::round(middle - height / 2) + 0.5, right - left - 1, height - 1));
    }
  }
  paintSpans(painter, lane, top);
  paintGaps(painter, lane, top);
  if (lane.endNs >= 0) {
    const double height = std::round(m_rowHeight * 0.62);
    const Role role = lane.wasCutShort ? Role::Danger : Role::Text;
    painter.fillRect(QRectF(std::round(m_axis.xOf(lane.endNs)), std::round(middle - height / 2), 2, height), palette.color(role));
  }
}

// Neighbours of one kind become one bar: most of a lane is decode after decode.
void TimelineView::paintSpans(QPainter& painter, const models::Lane& lane, double top) const {
  const QRectF plot = plotRect();
  const auto leastNs = static_cast<std::int64_t>(kMinItemPixels * m_axis.nsPerPixel);
  double left = 0, right = -1;
  SpanKind kind = SpanKind::Count;  // of the bar that still grows
  const auto flush = [&] {
    if (kind != SpanKind::Count) paintBar(painter, kind, left, right, top + m_rowHeight / 2);
    kind = SpanKind::Count;
  };
  for (const auto& item : models::foldLane(lane, m_axis.timeAt(plot.left()), m_axis.timeAt(plot.right() + 1), leastNs)) {
    const SpanKind only = onlyKindOf(item);
    const double from = m_axis.xOf(item.t0Ns), to = m_axis.xOf(item.t1Ns);
    if (only == kind && only != SpanKind::Count && from - right < 0.5) {
      right = to;
      continue;
    }
    flush();
    if (only == SpanKind::Count) {
      paintMix(painter, item, top + m_rowHeight / 2);
      continue;
    }
    kind = only;
    left = from;
    right = to;
  }
  flush();
}

void TimelineView::paintBar(QPainter& painter, SpanKind kind, double left, double right, double middle) const {
  const double height = std::round(m_rowHeight * thickness(kind));
  const double from = std::max(-4.0, left), to = std::min(width() + 4.0, right);
  fillKind(painter, style::paletteOf(palette()), kind, {from, std::round(middle - height / 2), std::max(1.0, to - from), height});
}

// Several kinds too close to tell apart: their shares of the time stacked, as thick as their mean.
void TimelineView::paintMix(QPainter& painter, const models::LaneItem& item, double middle) const {
  double busy = 0, height = 0;
  for (std::size_t k = 0; k < models::kNumSpanKinds; ++k) {
    busy += item.share[k];
    height += item.share[k] * thickness(static_cast<SpanKind>(k));
  }
  if (busy <= 0) return;
  height = std::max(2.0, std::round(m_rowHeight * height / busy));
  const double left = m_axis.xOf(item.t0Ns), length = std::max(1.0, m_axis.xOf(item.t1Ns) - left);
  double y = std::round(middle - height / 2);
  for (std::size_t k = 0; k < models::kNumSpanKinds; ++k) {
    const double part = height * item.share[k] / busy;
    if (part > 0) fillKind(painter, style::paletteOf(palette()), static_cast<SpanKind>(k), {left, y, length, part});
    y += part;
  }
}

void TimelineView::paintGaps(QPainter& painter, const models::Lane& lane, double top) const {
  if (lane.gaps.empty()) return;
  const style::Palette& palette = style::paletteOf(this->palette());
  const QRectF plot = plotRect();
  const double middle = std::round(top + m_rowHeight / 2), r = 3;
  painter.setRenderHint(QPainter::Antialiasing, true);
  double lastX = -10;
  for (const models::LaneGap& gap : lane.gaps) {
    const double x = m_axis.xOf(gap.t0Ns) + r + 2;
    if (x < plot.left() - 10 || x > plot.right() + 10 || x - lastX < 2 * r) continue;
    lastX = x;
    painter.setPen(QPen(palette.color(Role::Preempted), 1.5));
    painter.drawLine(QPointF(x - r, middle - r), QPointF(x + r, middle + r));
    painter.drawLine(QPointF(x - r, middle + r), QPointF(x + r, middle - r));
  }
  painter.setRenderHint(QPainter::Antialiasing, false);
}

void TimelineView::paintEvent(QPaintEvent*) {
  if (m_isDirty) paintBase();
  QPainter painter(this);
  painter.drawPixmap(0, 0, m_base);
  if (!m_lanes.lanes().empty()) paintOverlay(painter);
}

void TimelineView::paintOverlay(QPainter& painter) const {
  const style::Palette& palette = style::paletteOf(this->palette());
  const QRectF plot = plotRect();
  paintLabels(painter);
  painter.save();
  painter.setClipRect(plot);
  if (const auto range = m_selection.timeRange()) {
    const double left = m_axis.xOf(range->t0Ns), right = m_axis.xOf(range->t1Ns);
    QColor veil = palette.color(Role::Accent);
    veil.setAlphaF(0.16F);
    painter.fillRect(QRectF(left, plot.top(), right - left, plot.height()), veil);
  }
  if (const auto* step = m_lanes.step(m_selection.shownStep())) {
    QColor veil = palette.color(Role::Text);
    veil.setAlphaF(0.12F);
    const double left = m_axis.xOf(step->t0Ns);
    painter.fillRect(QRectF(left, plot.top(), std::max(1.0, m_axis.xOf(step->t1Ns) - left), plot.height()), veil);
  }
  if (const models::Lane* lane = m_lanes.find(m_selection.shownRequest())) {
    paintFirstTokenBracket(painter, *lane);
    const int span = lane->spanOf(m_selection.shownStep().value);
    if (span >= 0) {
      const auto& at = lane->spans[static_cast<std::size_t>(span)];
      if (const auto bar = barOf(*lane, at.t0Ns, at.t1Ns)) {
        painter.setPen(QPen(palette.color(Role::Hover), 1.0));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(bar->adjusted(0, 1, 0, -2));
      }
    }
  }
  painter.restore();
  if (const auto cursor = m_selection.timeCursorNs()) paintCursor(painter, *cursor);
}

void TimelineView::paintLabels(QPainter& painter) const {
  const style::Palette& palette = style::paletteOf(this->palette());
  const QRectF plot = lanesRect();
  const engine::RequestId shown = m_selection.shownRequest();
  painter.save();
  painter.setClipRect(QRectF(0, plot.top(), labelWidth(), plot.height()));
  for (std::size_t row = 0; row < m_rows.size(); ++row) {
    const double top = rowTop(row);
    if (top + m_rowHeight <= plot.top() || top >= plot.bottom()) continue;
    const bool isShown = m_rows[row]->id == shown;
    painter.setFont(style::textFont(12, isShown ? QFont::DemiBold : QFont::Normal));
    painter.setPen(palette.color(isShown ? Role::Text : Role::MutedText));
    const QString text = painter.fontMetrics().elidedText(labelOf(*m_rows[row]), Qt::ElideRight, int(labelWidth()) - 8);
    painter.drawText(QRectF(0, top, labelWidth() - 8, m_rowHeight), Qt::AlignRight | Qt::AlignVCenter, text);
  }
  painter.restore();
}

void TimelineView::paintFirstTokenBracket(QPainter& painter, const models::Lane& lane) const {
  if (lane.arrivalNs < 0 || lane.firstTokenNs < 0) return;
  const auto bar = barOf(lane, lane.arrivalNs, lane.firstTokenNs);
  if (!bar || bar->width() < 4) return;
  const style::Palette& palette = style::paletteOf(this->palette());
  const double y = std::floor(bar->bottom()) - 1.5;
  painter.setPen(QPen(palette.color(Role::Text), 1.0));
  painter.drawLine(QPointF(bar->left(), y), QPointF(bar->right(), y));
  painter.drawLine(QPointF(bar->left(), y - 3), QPointF(bar->left(), y));
  painter.drawLine(QPointF(bar->right(), y - 3), QPointF(bar->right(), y));
  const QString text = tr("TTFT %1").arg(style::formatMs(static_cast<double>(lane.firstTokenNs - lane.arrivalNs) / 1e6));
  painter.setFont(style::textFont(10));
  const double width = painter.fontMetrics().horizontalAdvance(text) + 8.0;
  if (bar->left() - width < labelWidth()) return;
  painter.drawText(QRectF(bar->left() - width, bar->top(), width - 4, bar->height()), Qt::AlignRight | Qt::AlignVCenter, text);
}

void TimelineView::paintCursor(QPainter& painter, std::int64_t ns) const {
  const style::Palette& palette = style::paletteOf(this->palette());
  const QRectF plot = plotRect();
  const double x = std::round(m_axis.xOf(ns));
  if (x < plot.left() || x > plot.right()) return;
  painter.fillRect(QRectF(x, plot.top(), 1, plot.height()), palette.color(Role::TimeCursor));
  const QString text = tr("%1 s").arg(static_cast<double>(ns) / 1e9, 0, 'f', 3);
  painter.setFont(style::textFont(11, QFont::DemiBold));
  const double width = painter.fontMetrics().horizontalAdvance(text) + 12.0;
  const QRectF flag(std::clamp(x - width / 2, plot.left(), plot.right() - width), plot.bottom() + 1, width, axisHeight() - 2);
  painter.setRenderHint(QPainter::Antialiasing, true);
  painter.setPen(Qt::NoPen);
  painter.setBrush(palette.color(Role::TimeCursor));
  painter.drawRoundedRect(flag, 4, 4);
  painter.setPen(palette.color(Role::Panel));
  painter.drawText(flag, Qt::AlignCenter, text);
  painter.setRenderHint(QPainter::Antialiasing, false);
}

void TimelineView::resizeEvent(QResizeEvent*) { refresh(); }

void TimelineView::showEvent(QShowEvent*) { refresh(); }

void TimelineView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) invalidate();
  if (event->type() == QEvent::FontChange) refresh();
  QWidget::changeEvent(event);
}

}  // namespace ui::views
