#include "ui/panels/explanation_list.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "ui/bridge/selection.h"
#include "ui/style/fonts.h"
#include "ui/style/theme.h"

namespace ui::panels {

using style::Role;

namespace {

// They grow with the text.
double lineHeight() { return style::scaledPx(27); }
double tagWidth() { return style::scaledPx(74); }

Role roleOf(models::ExplanationKind kind) {
  switch (kind) {
    case models::ExplanationKind::Decode: return Role::Decode;
    case models::ExplanationKind::Verify: return Role::Draft;
    case models::ExplanationKind::Prefill: return Role::Prefill;
    case models::ExplanationKind::Preempted: return Role::Preempted;
    case models::ExplanationKind::Stopped: return Role::Rejected;
    case models::ExplanationKind::Waits: return Role::Waiting;
  }
  return Role::Waiting;
}

}  // namespace

ExplanationList::ExplanationList(bridge::Selection& selection, QWidget* parent)
    : QWidget(parent), m_selection(selection) {
  setMouseTracking(true);
  setAccessibleName(tr("Why this batch"));
  connect(&m_selection, &bridge::Selection::changed, this, qOverload<>(&QWidget::update));
}

void ExplanationList::setLines(std::vector<models::ExplanationLine> lines) {
  m_lines = std::move(lines);
  QStringList spoken;
  for (const models::ExplanationLine& line : m_lines) {
    spoken << models::kindName(line.kind) + QLatin1Char(' ') + line.text;
  }
  setAccessibleDescription(spoken.join(QLatin1Char('\n')));
  update();
}

int ExplanationList::capacity() const { return std::max(1, static_cast<int>(height() / lineHeight())); }

int ExplanationList::lineAt(double y) const {
  const int line = static_cast<int>(y / lineHeight());
  return line >= 0 && line < static_cast<int>(m_lines.size()) ? line : -1;
}

void ExplanationList::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const style::Palette& palette = style::paletteOf(this->palette());
  if (m_lines.empty()) {
    painter.setFont(style::textFont(13));
    painter.setPen(palette.color(Role::MutedText));
    painter.drawText(rect(), Qt::AlignCenter | Qt::TextWordWrap,
                     tr("Nothing runs. The next step's decisions appear here."));
    return;
  }
  double y = 0;
  for (const models::ExplanationLine& line : m_lines) {
    const QRectF tag(0, y + 2, tagWidth(), lineHeight() - 6);
    painter.setPen(Qt::NoPen);
    painter.setBrush(style::blend(palette.color(roleOf(line.kind)), palette.color(Role::Panel), 0.30));
    painter.drawRoundedRect(tag, 5, 5);
    painter.setFont(style::textFont(11, QFont::DemiBold));
    painter.setPen(palette.color(Role::Text));
    painter.drawText(tag, Qt::AlignCenter, models::kindName(line.kind));
    painter.setFont(style::textFont(12));
    const bool isShown = !line.request.isNone() && line.request == m_selection.shownRequest();
    painter.setPen(palette.color(isShown ? Role::Link : Role::Text));
    const QRectF place(tagWidth() + 10, y, width() - tagWidth() - 10, lineHeight() - 2);
    painter.drawText(place, Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(line.text, Qt::ElideRight, static_cast<int>(place.width())));
    y += lineHeight();
  }
}

void ExplanationList::mouseMoveEvent(QMouseEvent* event) {
  const int line = lineAt(event->position().y());
  m_selection.hoverRequest(line < 0 ? engine::RequestId() : m_lines[static_cast<std::size_t>(line)].request);
}

void ExplanationList::leaveEvent(QEvent*) { m_selection.hoverRequest(engine::RequestId()); }

bool ExplanationList::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const int line = lineAt(help->pos().y());
    if (line >= 0) QToolTip::showText(help->globalPos(), m_lines[static_cast<std::size_t>(line)].text, this);
    return true;
  }
  return QWidget::event(event);
}

}  // namespace ui::panels
