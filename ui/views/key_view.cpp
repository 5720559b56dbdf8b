#include "ui/views/key_view.h"

#include <QEvent>
#include <QPainter>

#include "ui/style/fonts.h"
#include "ui/style/theme.h"

namespace ui::views {

using style::Role;

namespace {

constexpr double kMark = 9, kAfterMark = 5, kBetween = 12, kLine = 16;

double markWidth(KeyMark mark) { return mark == KeyMark::Words ? 0 : style::scaledPx(kMark) + kAfterMark; }

void paintMark(QPainter& painter, KeyMark mark, const QColor& colour, const QRectF& box) {
  const QPointF middle = box.center();
  const double r = box.width() * 0.3;
  painter.setPen(Qt::NoPen);
  painter.setBrush(colour);
  switch (mark) {
    case KeyMark::Words: break;
    case KeyMark::Square: painter.drawRect(box); break;
    case KeyMark::Bar: painter.drawRect(QRectF(box.left(), middle.y() - box.height() / 5, box.width(), box.height() * 0.4)); break;
    case KeyMark::Dot: painter.drawRect(QRectF(middle.x() - r, middle.y() - r, 2 * r, 2 * r)); break;
    case KeyMark::Disc: painter.drawEllipse(middle, r, r); break;
    case KeyMark::Diamond: {
      const double d = r * 1.5;
      painter.drawPolygon(QPolygonF({middle + QPointF(0, -d), middle + QPointF(d, 0), middle + QPointF(0, d), middle + QPointF(-d, 0)}));
      break;
    }
    case KeyMark::Hatch:
      painter.setBrush(QBrush(colour, Qt::BDiagPattern));
      painter.drawRect(box);
      break;
    case KeyMark::Frame:
    case KeyMark::Ring:
    case KeyMark::Cross:
      painter.setPen(QPen(colour, mark == KeyMark::Cross ? 1.5 : 1.0));
      painter.setBrush(Qt::NoBrush);
      if (mark == KeyMark::Frame) painter.drawRect(box.adjusted(0.5, 1.5, -0.5, -1.5));
      else if (mark == KeyMark::Ring) painter.drawEllipse(middle, r, r);
      else {
        painter.drawLine(middle + QPointF(-r, -r), middle + QPointF(r, r));
        painter.drawLine(middle + QPointF(-r, r), middle + QPointF(r, -r));
      }
  }
}

}  // namespace

KeyView::KeyView(std::vector<KeyEntry> entries, QWidget* parent) : QWidget(parent), m_entries(std::move(entries)) {
  setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  QStringList words;
  for (const KeyEntry& entry : m_entries) words << entry.text;
  setAccessibleName(tr("Key: %1").arg(words.join(QStringLiteral(", "))));
  arrange();
}

void KeyView::arrange() {
  const QFontMetricsF metrics(style::textFont(11));
  m_places.clear();
  double x = 0;
  int line = 0;
  for (const KeyEntry& entry : m_entries) {
    const double length = markWidth(entry.mark) + metrics.horizontalAdvance(entry.text);
    if (x > 0 && x + length > width()) {
      x = 0;
      ++line;
    }
    m_places.push_back({x, line});
    x += length + (entry.mark == KeyMark::Words ? kAfterMark : kBetween);
  }
  m_numLines = line + 1;
  setFixedHeight(static_cast<int>(m_numLines * style::scaledPx(kLine)));
}

void KeyView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const style::Palette& palette = style::paletteOf(this->palette());
  const QFont font = style::textFont(11);
  const double height = style::scaledPx(kLine), size = style::scaledPx(kMark);
  for (std::size_t i = 0; i < m_entries.size(); ++i) {
    const KeyEntry& entry = m_entries[i];
    const double left = m_places[i].left, top = m_places[i].line * height;
    paintMark(painter, entry.mark, palette.color(entry.role), {left, top + std::round((height - size) / 2), size, size});
    painter.setFont(font);
    painter.setPen(palette.color(Role::MutedText));
    painter.drawText(QRectF(left + markWidth(entry.mark), top, width(), height), Qt::AlignLeft | Qt::AlignVCenter, entry.text);
  }
}

void KeyView::resizeEvent(QResizeEvent*) { arrange(); }

void KeyView::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange) {
    arrange();
    update();
  }
}

}  // namespace ui::views
