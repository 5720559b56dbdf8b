#include "ui/views/message_view.h"

#include <QFontMetrics>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QProgressBar>
#include <QToolButton>
#include <cmath>

#include "ui/style/fonts.h"
#include "ui/style/format.h"
#include "ui/style/theme.h"
#include "ui/views/chip_row.h"
#include "ui/views/message_body.h"
#include "ui/views/message_text.h"

namespace ui::views {

using models::MessageState;
using style::Role;

namespace {

constexpr int kBubblePaddingX = 18, kBubblePaddingY = 10;
constexpr int kRowHeight = 26;
constexpr int kGapBelowText = 4;
constexpr int kNoteHeight = 22;
constexpr double kBubbleShare = 0.79;

}  // namespace

MessageView::MessageView(const models::MessageRecord& message, QWidget* parent)
    : QWidget(parent), m_message(message) {
  const bool isResult = message.role == models::MessageRole::Tool;
  setAccessibleName(isResult ? tr("Result of a tool") : isUser() ? tr("Question") : tr("Answer"));
}

QStringList MessageView::chipsOf(const models::AnswerStats& stats, double liveRate) {
  QStringList chips;
  if (stats.ttftMs >= 0) chips << tr("TTFT %1").arg(style::formatMs(stats.ttftMs));
  const double rate = liveRate > 0 ? liveRate : stats.tokensPerSecond();
  if (rate > 0) chips << style::formatTokensPerSecond(rate);
  if (stats.completionTokens >= 0) chips << tr("%n token(s)", nullptr, int(stats.completionTokens));
  if (stats.cachedTokens > 0) chips << tr("%1 cached").arg(style::formatCount(stats.cachedTokens));
  if (stats.preemptions > 0) chips << tr("preempted %n time(s)", nullptr, stats.preemptions);
  return chips;
}

void MessageView::wake() {
  if (m_body) return;
  buildBody();
  buildRow();
  showState();
  m_heightWidth = -1;
}

void MessageView::buildBody() {
  m_body = new MessageBody(isUser() ? BodyKind::Plain : BodyKind::Answer, this);
  m_body->setAccessibleName(accessibleName());
  m_body->setThoughtsUnfolded(m_areThoughtsUnfolded);
  m_body->setMessage(m_message.text, m_isStreaming || m_message.state == MessageState::Streaming);
  connect(m_body, &MessageBody::thoughtsUnfolded, this, [this](bool unfolded) { m_areThoughtsUnfolded = unfolded; });
  connect(m_body, &MessageBody::heightChanged, this, [this] {
    m_heightWidth = -1;
    emit heightChanged(m_message.id);
  });
  connect(m_body, &MessageBody::resultWanted, this,
          [this](const QString& toolName) { emit toolResultWanted(m_message.id, toolName); });
  m_body->show();
}

MessageText* MessageView::text() { return m_body ? m_body->text() : nullptr; }

void MessageView::sleep() {
  if (!m_body || m_isStreaming || m_body->isInUse()) return;
  delete m_body;
  delete m_row;
  delete m_note;
  delete m_progress;
  m_body = nullptr;
  m_row = nullptr;
  m_chips = nullptr;
  m_note = nullptr;
  m_progress = nullptr;
  m_branchLabel = nullptr;
  m_previous = m_next = m_again = m_edit = m_copy = nullptr;
}

QToolButton* MessageView::addButton(const QString& text, const QString& name) {
  auto* button = new QToolButton(m_row);
  button->setText(text);
  button->setAccessibleName(name);
  button->setToolTip(name);
  button->setFont(style::textFont(12));
  m_row->layout()->addWidget(button);
  return button;
}

void MessageView::buildRow() {
  m_row = new QWidget(this);
  auto* layout = new QHBoxLayout(m_row);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(2);
  m_chips = new ChipRow(m_row);
  layout->addWidget(m_chips, 1);
  m_previous = addButton(QStringLiteral("←"), tr("Show the branch before"));
  m_branchLabel = new QLabel(m_row);
  m_branchLabel->setProperty("role", "muted");
  m_branchLabel->setFont(style::textFont(12));
  layout->addWidget(m_branchLabel);
  m_next = addButton(QStringLiteral("→"), tr("Show the branch after"));
  if (m_message.role == models::MessageRole::Tool) m_chips->setChips({tr("result of a tool")});
  if (isUser()) m_edit = addButton(tr("edit"), tr("Ask something else here, as a branch"));
  else m_again = addButton(tr("regenerate"), tr("Answer again, as a branch"));
  m_copy = addButton(tr("copy"), isUser() ? tr("Copy this question") : tr("Copy this answer as Markdown"));
  m_note = new QLabel(this);
  m_note->setFont(style::textFont(12));
  m_note->setWordWrap(true);
  m_progress = new QProgressBar(this);
  m_progress->setTextVisible(false);
  m_progress->setRange(0, 1000);
  m_progress->setAccessibleName(tr("Reading the prompt"));
  m_progress->hide();
  connect(m_previous, &QToolButton::clicked, this, [this] { emit branchWanted(m_message.id, -1); });
  connect(m_next, &QToolButton::clicked, this, [this] { emit branchWanted(m_message.id, 1); });
  connect(m_copy, &QToolButton::clicked, this, [this] { emit copyWanted(m_message.id); });
  if (m_edit) connect(m_edit, &QToolButton::clicked, this, [this] { emit editWanted(m_message.id); });
  if (m_again) connect(m_again, &QToolButton::clicked, this, [this] { emit regenerateWanted(m_message.id); });
  m_row->show();
}

void MessageView::showState() {
  if (!m_body) return;
  const bool hasBranches = m_branch.count > 1;
  m_previous->setVisible(hasBranches);
  m_next->setVisible(hasBranches);
  m_branchLabel->setVisible(hasBranches);
  m_previous->setEnabled(m_branch.index > 0);
  m_next->setEnabled(m_branch.index + 1 < m_branch.count);
  m_branchLabel->setText(QStringLiteral("%1 / %2").arg(m_branch.index + 1).arg(m_branch.count));
  if (m_again) m_again->setEnabled(!m_isStreaming);
  if (!isUser() && !m_isStreaming) m_chips->setChips(chipsOf(m_message.stats, 0));
  showNote();
}

void MessageView::showNote() {
  QString text = m_message.note;
  const char* role = "muted";
  switch (m_message.state) {
    case MessageState::Failed: role = "error"; text = QStringLiteral("× ") + text; break;
    case MessageState::Stopped: text = text.isEmpty() ? tr("stopped") : tr("stopped: %1").arg(text); break;
    case MessageState::Interrupted: role = "error"; text = tr("× interrupted: the program ended here"); break;
    case MessageState::Complete: case MessageState::Streaming: text.clear(); break;
    case MessageState::Length: break;
  }
  m_note->setProperty("role", role);
  m_note->setText(text);
  m_note->setVisible(!text.isEmpty());
}

void MessageView::setMessage(const models::MessageRecord& message) {
  const bool isTextNew = message.text != m_message.text;
  m_message = message;
  if (m_body && isTextNew) m_body->setMessage(message.text, m_isStreaming);
  m_heightWidth = -1;
  showState();
  emit heightChanged(m_message.id);
}

void MessageView::setBranch(BranchPlace place) {
  m_branch = place;
  showState();
}

void MessageView::setStream(const models::AnswerStream* stream) {
  const bool wasStreaming = m_isStreaming, wasPrefilling = m_isPrefilling;
  m_isStreaming = stream != nullptr;
  m_isPrefilling = stream && stream->text.isEmpty();
  if (!m_body) return;
  if (wasStreaming && !m_isStreaming) m_body->finish();
  if (stream) {
    m_message.stats = stream->stats;
    QStringList chips = chipsOf(stream->stats, stream->tokensPerSecond);
    const qint64 prompt = stream->stats.promptTokens;
    switch (stream->phase) {
      case models::AnswerPhase::WaitsForModel: chips = {tr("waits for the model")}; break;
      case models::AnswerPhase::Queued: chips = {tr("queued")}; break;
      case models::AnswerPhase::Prefilling:
        chips = {tr("reading the prompt: %1 of %2 tokens")
                     .arg(style::formatCount(stream->computedTokens), style::formatCount(prompt))};
        break;
      case models::AnswerPhase::Stopping: chips << tr("stopping …"); break;
      case models::AnswerPhase::Decoding: break;
    }
    m_chips->setChips(chips);
    m_progress->setVisible(m_isPrefilling && prompt > 0);
    if (prompt > 0) m_progress->setValue(int(1000 * stream->computedTokens / prompt));
  } else {
    m_progress->hide();
  }
  if (m_again) m_again->setEnabled(!m_isStreaming);
  if (wasStreaming != m_isStreaming || wasPrefilling != m_isPrefilling) {
    m_heightWidth = -1;
    emit heightChanged(m_message.id);
  }
}

void MessageView::appendText(const QString& delta) {
  m_message.text += delta;
  m_heightWidth = -1;
  if (m_body) m_body->append(delta);
}

int MessageView::textWidth(int width) const {
  if (!isUser()) return width;
  const int limit = std::max(120, int(width * kBubbleShare)) - 2 * kBubblePaddingX;
  return m_body ? std::min(limit, m_body->idealWidth() + 2) : limit;
}

int MessageView::textHeight(int width) {
  if (m_message.text.isEmpty()) return m_isStreaming ? 14 : 0;
  if (m_body) return m_body->heightFor(textWidth(width));
  const QFontMetrics metrics(style::textFont(14));
  const int perLine = std::max(10, textWidth(width) / std::max(1, metrics.averageCharWidth()));
  const qsizetype shown = std::min<qsizetype>(m_message.text.size(), MessageDocument::kLongestRendered);
  const qsizetype lines = 1 + shown / perLine + m_message.text.left(shown).count(QLatin1Char('\n'));
  return int(lines * metrics.height() * 1.35);
}

int MessageView::heightFor(int width) {
  if (width == m_heightWidth) return m_height;
  // a text that was laid out at this width once keeps its height while asleep
  int height = textHeight(width) + kGapBelowText + kRowHeight;
  if (isUser()) height += 2 * kBubblePaddingY;
  const bool hasNote = m_message.state != MessageState::Complete && m_message.state != MessageState::Streaming;
  if (hasNote) {
    const QFontMetrics metrics(style::textFont(12));
    const QRect area = metrics.boundingRect(QRect(0, 0, std::max(50, width), 10'000), Qt::TextWordWrap, m_message.note);
    height += std::max(kNoteHeight, area.height() + 6);
  }
  m_height = height;
  m_heightWidth = width;
  if (m_body) place(width);
  return m_height;
}

void MessageView::place(int width) {
  const int textW = textWidth(width);
  const int textH = textHeight(width);
  int y = 0;
  if (isUser()) {
    m_bubble = QRect(width - textW - 2 * kBubblePaddingX, 0, textW + 2 * kBubblePaddingX, textH + 2 * kBubblePaddingY);
    m_body->setGeometry(m_bubble.left() + kBubblePaddingX, kBubblePaddingY, textW, textH);
    y = m_bubble.height();
  } else {
    m_body->setGeometry(0, 0, textW, textH);
    y = textH;
  }
  if (m_note->isVisibleTo(this)) {
    const int noteHeight = std::max(kNoteHeight, m_height - textH - kGapBelowText - kRowHeight -
                                                     (isUser() ? 2 * kBubblePaddingY : 0));
    m_note->setGeometry(0, y, width, noteHeight);
    y += noteHeight;
  }
  if (m_progress->isVisibleTo(this)) m_progress->setGeometry(0, 4, std::min(width, 320), 6);
  m_row->setGeometry(0, y + kGapBelowText, width, kRowHeight);
}

void MessageView::paintEvent(QPaintEvent*) {
  if (!isUser() || !m_body) return;
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(style::paletteOf(palette()).color(Role::UserBubble));
  painter.drawRoundedRect(m_bubble, 10, 10);
}

void MessageView::refreshColors() {
  m_heightWidth = -1;  // the text may be of another size too
  if (!m_body) return;
  m_body->refreshColors();
  update();
}

}  // namespace ui::views
