#include "ui/views/acceptance_view.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "ui/style/fonts.h"
#include "ui/style/format.h"
#include "ui/style/theme.h"

namespace ui::views {

using style::Role;

namespace {

constexpr double kMostBar = 44;

// They grow with the text.
double wordsWidth() { return style::scaledPx(132); }
double foot() { return style::scaledPx(18); }
double head() { return style::scaledPx(16); }

}  // namespace

AcceptanceView::AcceptanceView(QWidget* parent) : QWidget(parent) {
  setAttribute(Qt::WA_OpaquePaintEvent);  // in its card's colour: nothing beneath is painted for it
  setAccessibleName(tr("Accepted by draft position"));
}

void AcceptanceView::setFigures(const models::AcceptanceFigures& figures,
                                const QString& headline,
                                const QString& explanation) {
  m_figures = figures;
  m_headline = headline;
  m_explanation = explanation;
  QStringList spoken{headline + QLatin1Char(' ') + explanation};
  for (std::size_t i = 0; i < figures.drafted.size(); ++i) {
    spoken << tr("position %1: %2 accepted").arg(i + 1).arg(style::formatPercent(figures.rateAt(i)));
  }
  setAccessibleDescription(spoken.join(QLatin1Char('\n')));
  update();
}

void AcceptanceView::setEmptyText(const QString& text) {
  m_emptyText = text;
  update();
}

QRectF AcceptanceView::trackOf(std::size_t position) const {
  if (position >= m_figures.drafted.size()) return {};
  const double room = std::max(20.0, width() - wordsWidth());
  const double pitch = std::min(kMostBar * 1.3, room / static_cast<double>(m_figures.drafted.size()));
  const double left = std::round(static_cast<double>(position) * pitch);
  return {left, head(), std::max(2.0, std::round(pitch * 0.76)), std::max(4.0, height() - foot() - head())};
}

QRectF AcceptanceView::barOf(std::size_t position) const {
  QRectF bar = trackOf(position);
  if (!bar.isEmpty()) bar.setTop(std::round(bar.bottom() - bar.height() * m_figures.rateAt(position)));
  return bar;
}

void AcceptanceView::paintBars(QPainter& painter) const {
  const style::Palette& palette = style::paletteOf(this->palette());
  painter.setFont(style::textFont(11));
  const bool hasRoomForWords = trackOf(0).width() >= style::scaledPx(24);
  for (std::size_t i = 0; i < m_figures.drafted.size(); ++i) {
    const QRectF track = trackOf(i), bar = barOf(i);
    painter.fillRect(track, palette.color(Role::Track));
    painter.fillRect(bar, palette.color(Role::Accepted));
    painter.setPen(palette.color(Role::Text));
    if (hasRoomForWords) {
      painter.drawText(QRectF(track.left() - 8, bar.top() - head(), track.width() + 16, head() - 1), Qt::AlignHCenter | Qt::AlignBottom,
                       QString::number(m_figures.rateAt(i), 'f', 2));
    }
    painter.setPen(palette.color(Role::MutedText));
    if (hasRoomForWords || i % 4 == 0) {
      painter.drawText(QRectF(track.left() - 8, track.bottom() + 2, track.width() + 16, foot() - 2), Qt::AlignHCenter | Qt::AlignTop,
                       QString::number(i + 1));
    }
  }
}

void AcceptanceView::paintWords(QPainter& painter) const {
  const style::Palette& palette = style::paletteOf(this->palette());
  const QRectF place(width() - wordsWidth() + 12, 0, wordsWidth() - 12, height());
  painter.setFont(style::textFont(22, QFont::DemiBold));
  painter.setPen(palette.color(Role::Text));
  painter.drawText(place, Qt::AlignLeft | Qt::AlignTop, m_headline);
  const double top = m_headline.isEmpty() ? 0 : painter.fontMetrics().height() + 2.0;
  painter.setFont(style::textFont(11));
  painter.setPen(palette.color(Role::MutedText));
  painter.drawText(place.adjusted(0, top, 0, 0), Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap, m_explanation);
}

void AcceptanceView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), style::paletteOf(palette()).color(Role::Panel));
  if (!m_emptyText.isEmpty()) {
    painter.setFont(style::textFont(13));
    painter.setPen(style::paletteOf(palette()).color(Role::MutedText));
    painter.drawText(rect(), Qt::AlignCenter | Qt::TextWordWrap, m_emptyText);
    return;
  }
  paintBars(painter);
  paintWords(painter);
}

bool AcceptanceView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  for (std::size_t i = 0; i < m_figures.drafted.size(); ++i) {
    if (!trackOf(i).contains(help->pos())) continue;
    QToolTip::showText(help->globalPos(),
                       tr("guess %1: %2 of %3 accepted").arg(i + 1)
                           .arg(style::formatCount(m_figures.accepted[i]), style::formatCount(m_figures.drafted[i])), this);
    return true;
  }
  QToolTip::hideText();
  return true;
}

}  // namespace ui::views
