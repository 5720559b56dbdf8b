#include "ui/views/wrap_row.h"

#include <QEvent>
#include <algorithm>

namespace ui::views {

namespace {

constexpr int kBetweenLines = 4;

}  // namespace

WrapRow::WrapRow(QWidget* parent) : QWidget(parent) { setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed); }

void WrapRow::add(QWidget* control, int gap) {
  control->setParent(this);
  m_items.push_back({control, gap});
  arrange();
}

QSize WrapRow::minimumSizeHint() const {
  int widest = 0;
  for (const Item& item : m_items) widest = std::max(widest, item.control->sizeHint().width());
  return {widest, height()};
}

void WrapRow::arrange() {
  int x = 0, y = 0, lineHeight = 0;
  for (const Item& item : m_items) {
    const QSize size = item.control->sizeHint();
    if (x > 0) x += item.gap;
    if (x > 0 && x + size.width() > width()) {
      x = 0;
      y += lineHeight + kBetweenLines;
      lineHeight = 0;
    }
    item.control->setGeometry(x, y, size.width(), size.height());
    x += size.width();
    lineHeight = std::max(lineHeight, size.height());
  }
  setFixedHeight(y + lineHeight);
}

void WrapRow::resizeEvent(QResizeEvent*) { arrange(); }

bool WrapRow::event(QEvent* event) {
  // a control's words have grown
  if (event->type() == QEvent::LayoutRequest || event->type() == QEvent::Polish) arrange();
  return QWidget::event(event);
}

}  // namespace ui::views
