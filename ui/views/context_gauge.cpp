#include "ui/views/context_gauge.h"

#include <QPainter>
#include <QPainterPath>
#include <algorithm>

#include "ui/style/fonts.h"
#include "ui/style/format.h"
#include "ui/style/theme.h"

namespace ui::views {

using style::Role;

ContextGauge::ContextGauge(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  setAccessibleName(tr("Context"));
  setToolTip(tr("Tokens of this conversation (dark) and of what you are typing (light), of the most the model "
                "can look at."));
}

void ContextGauge::setTokens(qint64 conversation, qint64 draft, qint64 capacity) {
  draft = std::max<qint64>(0, draft);
  if (conversation == m_conversation && draft == m_draft && capacity == m_capacity) return;
  m_conversation = conversation;
  m_draft = draft;
  m_capacity = capacity;
  setAccessibleDescription(caption());
  updateGeometry();
  update();
}

QSize ContextGauge::minimumSizeHint() const {
  const QFontMetrics metrics(style::textFont(11));
  return {std::max(110, metrics.horizontalAdvance(caption()) + 4), 14 + std::max(16, metrics.height())};
}

QString ContextGauge::caption() const {
  if (m_capacity <= 0 || m_conversation < 0) return {};
  return tr("%1 of %2 tokens").arg(style::formatCount(m_conversation + m_draft), style::formatCount(m_capacity));
}

void ContextGauge::paintEvent(QPaintEvent*) {
  if (m_capacity <= 0) return;
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const auto& colors = style::paletteOf(palette());
  painter.setFont(style::textFont(11));
  painter.setPen(colors.color(isOverfull() ? Role::Rejected : Role::MutedText));
  const int line = std::max(16, painter.fontMetrics().height());
  QString words = caption();
  if (painter.fontMetrics().horizontalAdvance(words) > width()) {
    words = tr("%1 of %2").arg(style::formatCount(m_conversation + m_draft), style::formatCount(m_capacity));
  }
  painter.drawText(QRect(0, 0, width(), line), Qt::AlignVCenter, isOverfull() ? tr("! %1").arg(words) : words);
  const QRectF bar(0, line + 3, width(), 7);
  QPainterPath round;
  round.addRoundedRect(bar, 3.5, 3.5);
  painter.setClipPath(round);
  painter.fillRect(bar, colors.color(Role::Track));
  if (m_conversation < 0) return;
  const double scale = bar.width() / double(std::max(m_capacity, m_conversation + m_draft));
  const double used = double(m_conversation) * scale;
  painter.fillRect(QRectF(0, bar.top(), used, bar.height()), colors.color(isOverfull() ? Role::Rejected : Role::Prefill));
  if (m_draft > 0) {
    painter.fillRect(QRectF(used, bar.top(), std::max(2.0, double(m_draft) * scale), bar.height()), colors.color(Role::Decode));
  }
}

}  // namespace ui::views
