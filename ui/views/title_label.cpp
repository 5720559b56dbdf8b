#include "ui/views/title_label.h"

#include <algorithm>

#include <QPainter>

#include "ui/views/fitting_parts.h"

namespace ui::views {

namespace {

constexpr int kLeastWidth = 48;  // a beginning is still told by it

}  // namespace

TitleLabel::TitleLabel(const QString& title, QWidget* parent) : QLabel(parent) { setTitle(title); }

void TitleLabel::setTitle(const QString& title) {
  setText(title);
  setToolTip(title);
}

QSize TitleLabel::minimumSizeHint() const {
  const QSize whole = QLabel::minimumSizeHint();
  return {std::min(whole.width(), kLeastWidth), whole.height()};
}

void TitleLabel::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setPen(palette().color(foregroundRole()));
  const QRect place = contentsRect();
  painter.drawText(place, Qt::AlignLeft | Qt::AlignVCenter,
                   fittingParts(text(), fontMetrics(), place.width()));
}

}  // namespace ui::views
