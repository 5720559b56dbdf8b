// What mouse and keys do on the timeline.
#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>
#include <cmath>

#include "ui/views/timeline_view.h"

namespace ui::views {

namespace {

constexpr double kKeyPan = 80, kKeyZoom = 1.5, kNotch = 120, kClickPixels = 3;

}  // namespace

void TimelineView::dragTo(QPointF position) {
  const QPointF moved = position - m_drag->start;
  if (!m_drag->hasMoved && std::max(std::abs(moved.x()), std::abs(moved.y())) < kClickPixels) return;
  m_drag->hasMoved = true;
  if (m_drag->isRange) {
    const std::int64_t a = m_axis.timeAt(m_drag->start.x()), b = m_axis.timeAt(position.x());
    if (a != b) m_selection.setTimeRange(bridge::TimeRange{std::min(a, b), std::max(a, b)});
  } else {
    panBy(position.x() - m_drag->last.x());
    scrollRows(m_drag->last.y() - position.y());
  }
  m_drag->last = position;
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
  if (m_drag) return dragTo(event->position());
  const models::Lane* lane = laneAt(event->position());
  const bool isInPlot = event->position().x() >= labelWidth();
  const std::int64_t ns = m_axis.timeAt(event->position().x());
  const int span = lane && isInPlot ? lane->spanAt(ns) : -1;
  m_selection.setTimeCursorNs(isInPlot ? std::optional(ns) : std::nullopt);
  m_selection.hoverRequest(lane ? lane->id : engine::RequestId());
  m_selection.hoverStep(span < 0 ? engine::StepId()
                                 : engine::StepId(lane->spans[static_cast<std::size_t>(span)].iteration));
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  m_drag = Drag{event->position(), event->position(), event->modifiers().testFlag(Qt::ShiftModifier), false};
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !m_drag) return;
  const Drag drag = *m_drag;
  m_drag.reset();
  if (drag.hasMoved) return;
  if (drag.isRange) return m_selection.setTimeRange(std::nullopt);
  const models::Lane* lane = laneAt(event->position());
  const int span = lane && event->position().x() >= labelWidth() ? lane->spanAt(m_axis.timeAt(event->position().x())) : -1;
  m_selection.pinRequest(lane ? lane->id : engine::RequestId());
  m_selection.pinStep(span < 0 ? engine::StepId()
                               : engine::StepId(lane->spans[static_cast<std::size_t>(span)].iteration));
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent*) { follow(); }

void TimelineView::wheelEvent(QWheelEvent* event) {
  const QPoint delta = event->angleDelta();
  if (event->modifiers().testFlag(Qt::ShiftModifier)) {
    scrollRows(-(delta.y() != 0 ? delta.y() : delta.x()) / kNotch * 3 * m_rowHeight);
  } else if (delta.y() != 0) {
    zoomAt(std::max(labelWidth(), event->position().x()), std::pow(kKeyZoom, delta.y() / kNotch));
  } else {
    panBy(delta.x());
  }
  event->accept();
}

void TimelineView::leaveEvent(QEvent*) {
  m_selection.clearHover();
  m_selection.setTimeCursorNs(std::nullopt);
}

void TimelineView::keyPressEvent(QKeyEvent* event) {
  const auto cursor = m_selection.timeCursorNs();
  const double middle = (labelWidth() + width()) / 2;
  const double at = cursor ? std::clamp(m_axis.xOf(*cursor), labelWidth(), double(width())) : middle;
  switch (event->key()) {
    case Qt::Key_W: return zoomAt(at, kKeyZoom);
    case Qt::Key_S: return zoomAt(at, 1 / kKeyZoom);
    case Qt::Key_A: return panBy(kKeyPan);
    case Qt::Key_D: return panBy(-kKeyPan);
    case Qt::Key_Period:
    case Qt::Key_Right: return stepSlice(1);
    case Qt::Key_Comma:
    case Qt::Key_Left: return stepSlice(-1);
    case Qt::Key_Down: return stepRequest(1);
    case Qt::Key_Up: return stepRequest(-1);
    case Qt::Key_Home: return showAll();
    case Qt::Key_End: return follow();
    default: QWidget::keyPressEvent(event);
  }
}

}  // namespace ui::views
