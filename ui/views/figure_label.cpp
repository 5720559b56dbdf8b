#include "ui/views/figure_label.h"

#include <QPainter>

#include "ui/style/theme.h"
#include "ui/views/fitting_parts.h"

namespace ui::views {

namespace {

constexpr qsizetype kLeastLetters = 8;  // fewer say nothing, nor does half of the first of several parts; the tool tip has all

}  // namespace

FigureLabel::FigureLabel(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  setAttribute(Qt::WA_OpaquePaintEvent);  // in its card's colour: nothing beneath is painted for it
}

void FigureLabel::setText(const QString& text) {
  if (text == m_text) return;
  m_text = text;
  setToolTip(text);
  setAccessibleName(text);
  update();
}

QSize FigureLabel::sizeHint() const { return {100, fontMetrics().height() + 2}; }

void FigureLabel::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), style::paletteOf(palette()).color(style::Role::Panel));
  painter.setPen(style::paletteOf(palette()).color(style::Role::MutedText));
  const QString shown = fittingParts(m_text, fontMetrics(), width());
  const bool isCut = shown != m_text && shown.endsWith(QChar(0x2026));
  if (isCut && (shown.size() < kLeastLetters || m_text.contains(QStringLiteral(" · ")))) return;
  painter.drawText(rect(), Qt::AlignRight | Qt::AlignVCenter, shown);
}

}  // namespace ui::views
