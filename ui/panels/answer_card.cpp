#include "ui/panels/answer_card.h"

#include <QEvent>
#include <QGridLayout>
#include <QLabel>

#include "ui/style/fonts.h"
#include "ui/style/format.h"
#include "ui/style/metrics.h"

namespace ui::panels {

AnswerCard::AnswerCard(QWidget* parent) : QFrame(parent) {
  setProperty("role", "card");
  fitText();
  auto* grid = new QGridLayout(this);
  grid->setContentsMargins(14, 10, 12, 14);
  grid->setVerticalSpacing(9);
  grid->setHorizontalSpacing(14);
  auto* title = new QLabel(tr("This answer"), this);
  title->setProperty("role", "title");
  grid->addWidget(title, 0, 0, 1, 2);
  const QString names[] = {tr("prompt"), tr("prefill"), tr("decode"), tr("KV blocks"), tr("sampling")};
  for (int i = 0; i < NumLines; ++i) {
    auto* name = new QLabel(names[i], this);
    name->setProperty("role", "muted");
    name->setFont(style::textFont(12));
    m_values[std::size_t(i)] = new QLabel(this);
    m_values[std::size_t(i)]->setFont(style::textFont(12));
    m_values[std::size_t(i)]->setWordWrap(true);
    m_values[std::size_t(i)]->setAccessibleName(names[i]);
    m_values[std::size_t(i)]->setTextInteractionFlags(Qt::TextSelectableByMouse);
    grid->addWidget(name, i + 1, 0, Qt::AlignTop);
    grid->addWidget(m_values[std::size_t(i)], i + 1, 1);
  }
  grid->setColumnStretch(1, 1);
  clear();
}

void AnswerCard::fitText() { setFixedWidth(static_cast<int>(style::scaledPx(style::kAnswerCardWidth))); }

void AnswerCard::changeEvent(QEvent* event) {
  QFrame::changeEvent(event);
  if (event->type() == QEvent::FontChange) fitText();
}

void AnswerCard::setLine(Line line, const QString& text) {
  QLabel* label = m_values[line];
  if (label->text() != text) label->setText(text);
}

void AnswerCard::clear() {
  for (QLabel* label : m_values) label->setText(QStringLiteral("–"));
}

void AnswerCard::showStats(const models::AnswerStats& stats, qint64 totalBlocks) {
  using namespace style;
  const QString none = QStringLiteral("–");
  QString prompt = none, prefill = none, decode = none, blocks = none;
  if (stats.promptTokens >= 0) {
    prompt = tr("%1 · %2 cached").arg(formatCount(stats.promptTokens), formatCount(std::max<qint64>(0, stats.cachedTokens)));
  }
  if (stats.prefillMs >= 0) {
    prefill = formatMs(stats.prefillMs);
    if (stats.prefillChunks > 0) prefill += tr(" · %n chunk(s)", nullptr, stats.prefillChunks);
  }
  if (stats.completionTokens >= 0) {
    decode = tr("%n token(s)", nullptr, int(stats.completionTokens));
    if (stats.completionTokens > 1 && stats.decodeMs > 0) {
      decode += tr(" · %1 each").arg(formatMs(stats.decodeMs / double(stats.completionTokens - 1)));
    }
  }
  if (stats.kvBlocks >= 0) {
    blocks = totalBlocks > 0 ? tr("%1 of %2").arg(formatCount(stats.kvBlocks), formatCount(totalBlocks))
                             : formatCount(stats.kvBlocks);
    if (stats.sharedBlocks > 0) blocks += tr(" · %1 shared").arg(formatCount(stats.sharedBlocks));
  }
  setLine(Prompt, prompt);
  setLine(Prefill, prefill);
  setLine(Decode, decode);
  setLine(KvBlocks, blocks);
  setLine(Sampling, stats.sampling.isEmpty() ? none : stats.sampling);
}

}  // namespace ui::panels
