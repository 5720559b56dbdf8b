#include "ui/panels/status_line.h"

#include <QDateTime>
#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QPainter>
#include <algorithm>

#include "ui/style/fonts.h"
#include "ui/style/format.h"
#include "ui/style/metrics.h"
#include "ui/style/theme.h"

namespace ui::panels {

StatusLine::StatusLine(bridge::EngineBridge& bridge, models::Conversations& conversations, QWidget* parent)
    : QWidget(parent), m_bridge(bridge), m_conversations(conversations) {
  setFixedHeight(style::kStatusHeight);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(14, 0, 14, 0);
  m_left = new QLabel(this);
  m_right = new QLabel(this);
  for (QLabel* label : {m_left, m_right}) {
    label->setProperty("role", "muted");
    label->setFont(style::textFont(11));
  }
  m_left->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  m_left->setAccessibleName(tr("Status"));
  m_right->setAccessibleName(tr("What the window costs"));
  layout->addWidget(m_left, 1);
  layout->addWidget(m_right);
  connect(&bridge, &bridge::EngineBridge::costMeasured, this, &StatusLine::refresh);
  refresh();
}

void StatusLine::showMessage(const QString& sentence) {
  m_message = sentence;
  m_messageSeconds = 8;
  refresh();
}

QString StatusLine::engineText() const {
  const auto& live = m_bridge.liveSnapshot();
  if (!live || !live->model) return {};
  const auto count = [&live](auto... states) {
    return std::count_if(live->requests.begin(), live->requests.end(),
                         [=](const auto& r) { return ((r.state == states) || ...); });
  };
  using S = engine::RequestState;
  QStringList parts;
  parts << tr("running %1").arg(count(S::Prefilling, S::Decoding)) << tr("waiting %1").arg(count(S::Waiting, S::Preempted));
  parts << tr("%1 out").arg(style::formatTokensPerSecond(live->decodeTokensPerSecond));
  parts << tr("%1 in").arg(style::formatTokensPerSecond(live->prefillTokensPerSecond));
  if (live->pool && live->pool->numBlocks > 0) {
    parts << tr("KV %1").arg(style::formatPercent(double(live->pool->usedBlocks) / double(live->pool->numBlocks)));
  }
  return parts.join(QStringLiteral(" · "));
}

void StatusLine::refresh() {
  QStringList left;
  if (m_messageSeconds > 0) {
    --m_messageSeconds;
    left << m_message;
  } else {
    if (m_conversations.isInMemory()) {
      left << tr("chats are not kept");
    } else if (m_conversations.isSaveFailing()) {
      left << tr("not saved yet");
    } else if (m_conversations.lastSavedMs() > 0) {
      const qint64 ago = QDateTime::currentMSecsSinceEpoch() - m_conversations.lastSavedMs();
      if (ago < 60'000) left << tr("saved %1 ago").arg(style::formatMs(double(ago)));
      else left << tr("all saved");
    }
    if (const QString engine = engineText(); !engine.isEmpty()) left << engine;
  }
  m_left->setText(left.join(QStringLiteral(" · ")));
  m_right->setText(tr("window %1/frame · %2 Hz · lost events %3")
                       .arg(style::formatMs(m_bridge.cost().meanMs()), QLocale().toString(m_bridge.framesPerSecond(), 'f', 0),
                            style::formatCount(qint64(m_bridge.numLostEvents()))));
}

void StatusLine::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const auto& colors = style::paletteOf(palette());
  painter.fillRect(rect(), colors.color(style::Role::Panel));
  painter.fillRect(QRect(0, 0, width(), 1), colors.color(style::Role::Border));
}

}  // namespace ui::panels
