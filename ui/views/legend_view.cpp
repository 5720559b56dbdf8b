#include "ui/views/legend_view.h"

#include <QPainter>

#include "ui/style/fonts.h"
#include "ui/style/theme.h"

namespace ui::views {

using style::Role;

namespace {

constexpr double kSwatch = 9.0;

}  // namespace

LegendView::LegendView(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  setAccessibleName(tr("Legend of the block map"));
}

void LegendView::setRequests(const std::shared_ptr<const engine::EngineSnapshot>& snapshot,
                             const models::RequestHues& hues) {
  std::vector<Entry> entries;
  bool hasOthers = false;
  if (snapshot) {
    for (const engine::RequestSnapshot& request : snapshot->requests) {
      if (request.blocks.empty()) continue;
      const int hue = hues.hueOf(request.id);
      if (hue < 0) {
        hasOthers = true;
      } else {
        entries.push_back({QString::fromStdString(request.label), hue});
      }
    }
  }
  if (hasOthers) entries.push_back({tr("others"), -1});
  if (entries == m_entries) return;
  m_entries = std::move(entries);
  update();
}

void LegendView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const style::Palette& palette = style::paletteOf(this->palette());
  painter.setFont(style::textFont(11));
  const QFontMetrics metrics = painter.fontMetrics();
  const QColor text = palette.color(Role::MutedText);
  const double middle = height() / 2.0;

  // The marks stand at the right and are always whole; requests take what is left.
  struct Mark {
    QString text;
    int kind;
  };
  const Mark marks[] = {{tr("shared"), 0}, {tr("cached, free to take"), 1}, {tr("partly filled"), 2}};
  double right = width();
  for (int i = 2; i >= 0; --i) {
    const double textWidth = metrics.horizontalAdvance(marks[i].text);
    right -= textWidth;
    painter.setPen(text);
    painter.drawText(QRectF(right, 0, textWidth + 2, height()), Qt::AlignVCenter, marks[i].text);
    right -= kSwatch + 5;
    const QRectF box(right, middle - kSwatch / 2, kSwatch, kSwatch);
    if (marks[i].kind == 0) {
      painter.setRenderHint(QPainter::Antialiasing);
      painter.setPen(Qt::NoPen);
      painter.setBrush(palette.isDark() ? Qt::white : palette.color(Role::Text));
      painter.drawEllipse(box.center(), 2, 2);
    } else if (marks[i].kind == 1) {
      painter.setPen(palette.color(Role::Cached));
      painter.drawLine(box.bottomLeft(), box.topRight());
    } else {
      painter.fillRect(QRectF(box.left(), box.bottom() - 3, kSwatch, 3), text);
    }
    right -= 14;
  }
  double x = 0;
  for (const Entry& entry : m_entries) {
    const double width = kSwatch + 5 + metrics.horizontalAdvance(entry.text) + 14;
    if (x + width > right) {
      painter.setPen(text);
      painter.drawText(QRectF(x, 0, 20, height()), Qt::AlignVCenter, QStringLiteral("…"));
      break;
    }
    const QColor colour = entry.hue < 0 ? palette.color(Role::OtherRequests)
                                        : palette.requestHue(static_cast<std::uint64_t>(entry.hue));
    painter.fillRect(QRectF(x, middle - kSwatch / 2, kSwatch, kSwatch), colour);
    painter.setPen(text);
    painter.drawText(QRectF(x + kSwatch + 5, 0, width, height()), Qt::AlignVCenter, entry.text);
    x += width;
  }
}

}  // namespace ui::views
