#include "ui/views/engine_strip.h"

#include <QEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolButton>
#include <algorithm>
#include <cmath>

#include "ui/style/fonts.h"
#include "ui/style/format.h"
#include "ui/style/metrics.h"
#include "ui/style/theme.h"
#include "ui/views/fitting_parts.h"

namespace ui::views {

using style::Role;

namespace {

constexpr int kColumnStep = 3, kColumnWidth = 2;

int numRunning(const engine::EngineSnapshot& s) {
  return static_cast<int>(std::count_if(s.requests.begin(), s.requests.end(), [](const auto& r) {
    return r.state == engine::RequestState::Prefilling || r.state == engine::RequestState::Decoding;
  }));
}

}  // namespace

EngineStrip::EngineStrip(QWidget* parent) : QWidget(parent), m_show(new QToolButton(this)) {
  setFixedHeight(style::kStripHeight);
  m_show->setText(tr("▴ show the engine"));
  m_show->setAccessibleName(tr("Show the engine"));
  m_show->setFont(style::textFont(12));
  connect(m_show, &QToolButton::clicked, this, &EngineStrip::showEngineWanted);
}

void EngineStrip::takeFrame(const bridge::Frame& frame) {
  if (frame.hasRestarted) m_columns.clear();
  for (const auto& event : frame.events) {
    if (event.kind != engine::TraceKind::Iteration) continue;
    m_columns.push_back({event.iteration.prefillTokens, event.iteration.decodeTokens});
    if (m_columns.size() > kNumColumns) m_columns.pop_front();
  }
  m_snapshot = frame.snapshot;
  if (!isVisible()) return;
  setAccessibleDescription(summary());
  update();
}

QString EngineStrip::summary() const {
  if (!m_snapshot || !m_snapshot->model) return tr("no model is open");
  QStringList parts;
  const int running = numRunning(*m_snapshot);
  if (running > 0) {
    parts << tr("%1 in all").arg(style::formatTokensPerSecond(m_snapshot->decodeTokensPerSecond));
    parts << (running == 1 ? tr("1 chat has the batch to itself") : tr("%n chats share the batch", nullptr, running));
  } else if (m_snapshot->state == engine::EngineState::Paused) {
    parts << tr("the engine is paused");
  } else {
    parts << tr("idle");
  }
  return parts.join(QStringLiteral(" · "));
}

void EngineStrip::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) placeButton();
}

void EngineStrip::resizeEvent(QResizeEvent*) { placeButton(); }

void EngineStrip::placeButton() {
  m_show->adjustSize();
  m_show->move(width() - m_show->width() - 8, (height() - m_show->height()) / 2);
}

void EngineStrip::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const auto& colors = style::paletteOf(palette());
  painter.fillRect(rect(), colors.color(Role::Panel));
  painter.fillRect(QRect(0, 0, width(), 1), colors.color(Role::Border));
  painter.setFont(style::textFont(12));
  int x = 16;
  const auto label = [&](const QString& text, Role role) {
    painter.setPen(colors.color(role));
    const int w = painter.fontMetrics().horizontalAdvance(text);
    painter.drawText(QRect(x, 0, w, height()), Qt::AlignVCenter, text);
    x += w + 8;
  };
  if (m_snapshot && m_snapshot->pool && m_snapshot->pool->numBlocks > 0) {
    const auto& pool = *m_snapshot->pool;
    label(tr("KV"), Role::MutedText);
    const QRectF bar(x, 9, 150, 10);
    QPainterPath round;
    round.addRoundedRect(bar, 4, 4);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.fillPath(round, colors.color(Role::Track));
    painter.setClipPath(round);
    const double used = double(pool.usedBlocks) / double(pool.numBlocks);
    const double cached = double(pool.cachedBlocks) / double(pool.numBlocks);
    painter.fillRect(QRectF(bar.left(), bar.top(), bar.width() * used, bar.height()), colors.color(Role::Decode));
    const QRectF grey(bar.left() + bar.width() * used, bar.top(), bar.width() * cached, bar.height());
    painter.fillRect(grey, colors.color(Role::Cached));
    painter.setClipping(false);
    x += 158;
    label(style::formatPercent(used), Role::Text);
    x += 14;
  }
  const QString words = summary();
  const QString first = words.section(QStringLiteral(" · "), 0, 0);
  const int batchWidth = painter.fontMetrics().horizontalAdvance(tr("batch")) + 8 + int(kNumColumns) * kColumnStep + 16;
  const bool hasRoom = x + batchWidth + painter.fontMetrics().horizontalAdvance(first) + 8 <= m_show->x();
  if (!m_columns.empty() && hasRoom) {
    label(tr("batch"), Role::MutedText);
    std::uint32_t top = 1;
    for (const Column& c : m_columns) top = std::max(top, c.prefill + c.decode);
    for (std::size_t i = 0; i < m_columns.size(); ++i) {
      const Column& c = m_columns[i];
      // a square root keeps a one-token step visible beside a 512-token chunk
      const double share = std::sqrt(double(c.prefill + c.decode) / top);
      const int h = std::max(1, int(20 * share));
      const int prefill = c.prefill > 0 ? std::max(1, int(h * double(c.prefill) / (c.prefill + c.decode))) : 0;
      const int left = x + int(i) * kColumnStep;
      painter.fillRect(left, 24 - h, kColumnWidth, prefill, colors.color(Role::Prefill));
      painter.fillRect(left, 24 - h + prefill, kColumnWidth, h - prefill, colors.color(Role::Decode));
    }
    x += int(kNumColumns) * kColumnStep + 16;
  }
  const int room = m_show->x() - x - 8;
  painter.setPen(colors.color(Role::Text));
  painter.drawText(QRect(x, 0, std::max(0, room), height()), Qt::AlignVCenter,
                   fittingParts(words, painter.fontMetrics(), std::max(0, room)));
}

}  // namespace ui::views
