#include "ui/views/chip_row.h"

#include <QFontMetrics>
#include <QPainter>

#include "ui/style/fonts.h"
#include "ui/style/theme.h"

namespace ui::views {

using style::Role;

namespace {

constexpr int kHeight = 22;
constexpr int kPadding = 9;
constexpr int kGap = 6;

}  // namespace

ChipRow::ChipRow(QWidget* parent) : QWidget(parent) {
  setFont(style::textFont(11));
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void ChipRow::setChips(const QStringList& chips) {
  if (chips == m_chips) return;
  m_chips = chips;
  setAccessibleName(chips.join(QStringLiteral(", ")));
  setToolTip(chips.join(QStringLiteral(" · ")));
  update();
}

QSize ChipRow::sizeHint() const {
  const QFontMetrics metrics(style::textFont(11));
  int width = 0;
  for (const QString& chip : m_chips) width += metrics.horizontalAdvance(chip) + 2 * kPadding + kGap;
  return {width, kHeight};
}

void ChipRow::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setFont(style::textFont(11));
  const auto& colors = style::paletteOf(palette());
  const QFontMetrics metrics(painter.font());
  qreal x = 0.5;
  for (const QString& chip : m_chips) {
    const QRectF frame(x, (height() - 20) / 2.0 + 0.5, metrics.horizontalAdvance(chip) + 2 * kPadding, 19);
    if (frame.right() > width()) break;  // what does not fit is in the tooltip
    painter.setPen(colors.color(Role::Border));
    painter.setBrush(colors.color(Role::Field));
    painter.drawRoundedRect(frame, 9.5, 9.5);
    painter.setPen(colors.color(Role::MutedText));
    painter.drawText(frame, Qt::AlignCenter, chip);
    x = frame.right() + kGap;
  }
}

}  // namespace ui::views
