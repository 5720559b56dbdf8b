#include "ui/views/legend_view.h"

#include <QEvent>
#include <QPainter>
#include <algorithm>

#include "ui/style/fonts.h"
#include "ui/style/theme.h"

namespace ui::views {

using style::Role;

namespace {

constexpr double kSwatch = 9.0, kAfterSwatch = 5.0, kBetween = 14.0, kLine = 18.0;

}  // namespace

LegendView::LegendView(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  setAccessibleName(tr("Legend of the block map"));
}

QSize LegendView::sizeHint() const { return {400, static_cast<int>(style::scaledPx(kLine))}; }

void LegendView::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange) fitLines();
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
  fitLines();
  update();
}

QStringList LegendView::markTexts() { return {tr("shared"), tr("cached, free to take"), tr("partly filled")}; }

// Requests and marks share a line while both fit; else the marks take one below.
void LegendView::fitLines() {
  const QFontMetricsF metrics(style::textFont(11));
  double length = 0;
  for (const Entry& entry : m_entries) length += kSwatch + kAfterSwatch + metrics.horizontalAdvance(entry.text) + kBetween;
  for (const QString& mark : markTexts()) length += kSwatch + kAfterSwatch + metrics.horizontalAdvance(mark) + kBetween;
  const bool hasTwoLines = !m_entries.empty() && length > width();
  m_numLines = hasTwoLines ? 2 : 1;
  setFixedHeight(static_cast<int>(m_numLines * style::scaledPx(kLine)));
}

void LegendView::resizeEvent(QResizeEvent*) { fitLines(); }

// Whole, at the right of the last line. Returns where they begin.
double LegendView::paintMarks(QPainter& painter) const {
  const style::Palette& palette = style::paletteOf(this->palette());
  const QFontMetricsF metrics(painter.font());
  const QColor text = palette.color(Role::MutedText);
  const double line = style::scaledPx(kLine), top = height() - line, middle = top + line / 2;
  const QStringList words = markTexts();
  double length = -kBetween;
  for (const QString& word : words) length += kSwatch + kAfterSwatch + metrics.horizontalAdvance(word) + kBetween;
  double x = m_numLines > 1 ? 0 : std::max(0.0, width() - length);
  const double left = x;
  for (qsizetype i = 0; i < words.size(); ++i) {
    const QRectF box(x, middle - kSwatch / 2, kSwatch, kSwatch);
    painter.setRenderHint(QPainter::Antialiasing, i == 0);
    if (i == 0) {
      painter.setPen(Qt::NoPen);
      painter.setBrush(palette.isDark() ? Qt::white : palette.color(Role::Text));
      painter.drawEllipse(box.center(), 2, 2);
    } else if (i == 1) {
      painter.setPen(palette.color(Role::Cached));
      painter.drawLine(box.bottomLeft(), box.topRight());
    } else {
      painter.fillRect(QRectF(box.left(), box.bottom() - 3, kSwatch, 3), text);
    }
    x += kSwatch + kAfterSwatch;
    painter.setPen(text);
    painter.drawText(QRectF(x, top, width(), line), Qt::AlignVCenter | Qt::AlignLeft, words[i]);
    x += metrics.horizontalAdvance(words[i]) + kBetween;
  }
  return left;
}

void LegendView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const style::Palette& palette = style::paletteOf(this->palette());
  painter.setFont(style::textFont(11));
  const QFontMetricsF metrics(painter.font());
  const double line = style::scaledPx(kLine), marksAt = paintMarks(painter);
  const double right = m_numLines > 1 ? width() : marksAt;
  double x = 0;
  for (const Entry& entry : m_entries) {
    const double length = kSwatch + kAfterSwatch + metrics.horizontalAdvance(entry.text);
    painter.setPen(palette.color(Role::MutedText));
    if (x + length > right) {
      painter.drawText(QRectF(x, 0, 20, line), Qt::AlignVCenter, QStringLiteral("…"));
      break;
    }
    const QColor colour = entry.hue < 0 ? palette.color(Role::OtherRequests)
                                        : palette.requestHue(static_cast<std::uint64_t>(entry.hue));
    painter.fillRect(QRectF(x, (line - kSwatch) / 2, kSwatch, kSwatch), colour);
    painter.drawText(QRectF(x + kSwatch + kAfterSwatch, 0, length, line), Qt::AlignVCenter, entry.text);
    x += length + kBetween;
  }
}

}  // namespace ui::views
