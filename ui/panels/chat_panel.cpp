#include "ui/panels/chat_panel.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "ui/models/chat_json.h"
#include "ui/panels/chat_settings_dialog.h"
#include "ui/panels/composer.h"
#include "ui/panels/first_run_page.h"
#include "ui/style/metrics.h"
#include "ui/views/context_gauge.h"
#include "ui/views/transcript_view.h"

namespace ui::panels {

using models::MessageRecord;
using models::MessageRole;

namespace {

constexpr int kCountDelayMs = 200;

}  // namespace

ChatPanel::ChatPanel(models::Conversations& conversations, bridge::EngineBridge& bridge, QWidget* parent)
    : QWidget(parent), m_conversations(conversations), m_bridge(bridge) {
  buildWidgets();
  layOutWidgets();
  connectWidgets();
}

void ChatPanel::buildWidgets() {
  m_transcript = new views::TranscriptView(this);
  m_composer = new Composer(this);
  m_composer->setMaximumWidth(style::kTranscriptMaxWidth + 2);
  m_empty = new QLabel(m_transcript);
  m_empty->setAlignment(Qt::AlignCenter);
  m_empty->setWordWrap(true);
  m_empty->setProperty("role", "muted");
  m_firstRun = new FirstRunPage(m_transcript);
  m_firstRun->hide();
  m_transcript->installEventFilter(this);
  m_countTimer.setSingleShot(true);
  m_countTimer.setInterval(kCountDelayMs);
}

void ChatPanel::layOutWidgets() {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 20);
  layout->setSpacing(10);
  layout->addWidget(m_transcript, 1);
  auto* row = new QHBoxLayout;
  row->setContentsMargins(12, 0, 12, 0);
  row->addStretch(1);
  row->addWidget(m_composer, 1000);
  row->addStretch(1);
  layout->addLayout(row);
}

void ChatPanel::connectWidgets() {
  connect(m_composer, &Composer::sendWanted, this, &ChatPanel::send);
  connect(m_composer, &Composer::stopWanted, this, &ChatPanel::stop);
  connect(m_composer, &Composer::cancelWanted, this, [this] {
    if (m_typedAt != 0) endEdit();
    else stop();
  });
  connect(m_composer, &Composer::settingsWanted, this, &ChatPanel::editSettings);
  connect(m_composer, &Composer::systemPromptWanted, this, &ChatPanel::editSystemPrompt);
  connect(m_composer, &Composer::textEdited, this, [this](const QString& text) {
    if (m_isLoadingText) return;
    if (m_typedAt == 0) m_conversations.setDraft(m_chatId, text);
    else m_conversations.setPendingEdit(m_chatId, {m_typedAt, text});
    if (!text.isEmpty()) report({});
    m_countTimer.start();
  });
  connect(&m_countTimer, &QTimer::timeout, this, &ChatPanel::countTokens);
  connect(m_transcript, &views::TranscriptView::branchWanted, this,
          [this](qint64 id, int offset) { m_conversations.showSibling(m_chatId, id, offset); });
  connect(m_transcript, &views::TranscriptView::regenerateWanted, this,
          [this](qint64 id) { report(m_conversations.regenerate(m_chatId, id)); });
  connect(m_transcript, &views::TranscriptView::editWanted, this, &ChatPanel::beginEdit);
  connect(m_transcript, &views::TranscriptView::toolResultWanted, this, &ChatPanel::beginToolResult);
  connect(m_firstRun, &FirstRunPage::openWanted, this, &ChatPanel::openModelWanted);
  connect(&m_bridge, &bridge::EngineBridge::frameReady, this, &ChatPanel::onFrame);
  connectConversations();
}

void ChatPanel::connectConversations() {
  using models::Conversations;
  connect(&m_conversations, &Conversations::chatsChanged, this, [this] {
    if (const auto* chat = m_conversations.chat(m_chatId)) {
      m_composer->setSettingsText(models::samplingText(chat->settings));
    }
  });
  connect(&m_conversations, &Conversations::pathChanged, this, [this](qint64 chatId) {
    if (chatId == m_chatId) reloadPath();
  });
  connect(&m_conversations, &Conversations::textArrived, this,
          [this](qint64 chatId, qint64 messageId, const QString& delta) {
            if (chatId == m_chatId) m_transcript->appendText(messageId, delta);
          });
  connect(&m_conversations, &Conversations::answerChanged, this, [this](qint64 chatId) {
    if (chatId == m_chatId) showStream();
  });
  connect(&m_conversations, &Conversations::answerFinished, this, [this](qint64 chatId, qint64 messageId) {
    if (chatId != m_chatId) return;
    m_transcript->setStream(messageId, nullptr);
    if (const auto* message = m_conversations.tree(chatId).find(messageId)) m_transcript->updateMessage(*message);
    showStream();
    m_countTimer.start();
  });
}

void ChatPanel::showChat(qint64 chatId) {
  m_typedAt = 0;  // what was typed there is kept and comes back with its chat
  m_composer->setHint({});
  m_chatId = chatId;
  const models::ChatRecord* chat = m_conversations.chat(chatId);
  setComposerText(chat ? chat->draft : QString());
  report({});
  m_conversationTokens = -1;
  if (chat) m_composer->setSettingsText(models::samplingText(chat->settings));
  reloadPath();
  takeUpPendingEdit();
  m_transcript->jumpToEnd();
}

void ChatPanel::reloadPath() {
  std::vector<MessageRecord> messages;
  std::vector<views::BranchPlace> places;
  const models::ChatTree& tree = m_conversations.tree(m_chatId);
  for (qint64 id : m_conversations.path(m_chatId)) {
    messages.push_back(*tree.find(id));
    const auto& siblings = tree.siblings(id);
    const auto here = std::find(siblings.begin(), siblings.end(), id) - siblings.begin();
    places.push_back({int(here), int(siblings.size())});
  }
  m_transcript->setMessages(messages, places);
  showStream();
  showEmptyState();
  m_countTimer.start();
}

void ChatPanel::showStream() {
  const models::AnswerStream* stream = m_conversations.stream(m_chatId);
  m_composer->setAnswering(stream != nullptr);
  if (stream) m_transcript->setStream(stream->messageId, stream);
  const auto& live = m_bridge.liveSnapshot();
  if (stream && stream->stats.promptTokens >= 0 && live && live->model) {
    // what the engine holds, without asking
    m_conversationTokens = stream->stats.promptTokens + std::max<qint64>(0, stream->stats.completionTokens);
    m_composer->gauge().setTokens(m_conversationTokens, 0, live->model->maxContext);
  }
  emit figuresChanged();
}

qint64 ChatPanel::shownAnswer() {
  const auto path = m_conversations.path(m_chatId);
  for (auto id = path.rbegin(); id != path.rend(); ++id) {
    const MessageRecord* message = m_conversations.tree(m_chatId).find(*id);
    if (message && message->role == MessageRole::Assistant) return *id;
  }
  return 0;
}

void ChatPanel::send() {
  const QString text = m_composer->text();
  const MessageRecord* place = m_typedAt != 0 ? m_conversations.tree(m_chatId).find(m_typedAt) : nullptr;
  const bool isResult = place && place->role == MessageRole::Assistant;
  const QString problem = m_typedAt == 0 ? m_conversations.send(m_chatId, text)
                          : isResult     ? m_conversations.sendToolResult(m_chatId, m_typedAt, text)
                                         : m_conversations.editQuestion(m_chatId, m_typedAt, text);
  if (!problem.isEmpty()) {
    report(problem);  // and the text stays where it is
    return;
  }
  if (m_typedAt != 0) {
    endEdit();
  } else {
    setComposerText({});
    m_conversations.setDraft(m_chatId, {});
  }
  report({});
  m_transcript->jumpToEnd();
}

void ChatPanel::setComposerText(const QString& text) {
  m_isLoadingText = true;
  m_composer->setText(text);
  m_isLoadingText = false;
}

// Esc is the menu's key for this, so it leaves an edit as the hint promises.
void ChatPanel::stop() {
  if (m_typedAt != 0) endEdit();
  else m_conversations.stop(m_chatId);
}

void ChatPanel::regenerateLast() {
  if (const qint64 id = shownAnswer(); id != 0) report(m_conversations.regenerate(m_chatId, id));
}

void ChatPanel::beginEdit(qint64 messageId) {
  const MessageRecord* message = m_conversations.tree(m_chatId).find(messageId);
  if (!message) return;
  typeAt(messageId, tr("Sending asks this instead, as a branch; the old question stays. Esc leaves it."), message->text);
}

void ChatPanel::beginToolResult(qint64 answerId, const QString& toolName) {
  const auto& live = m_bridge.liveSnapshot();
  if (live && live->model && !live->model->hasTools) {
    report(tr("The chat template of %1 takes no results of tools; send it as a question instead.")
               .arg(QString::fromStdString(live->model->name)));
    return;
  }
  typeAt(answerId, tr("Type what %1 gave; Enter sends it to the model as the tool's result. Esc leaves it.").arg(toolName), {});
}

void ChatPanel::typeAt(qint64 messageId, const QString& hint, const QString& text) {
  m_typedAt = messageId;
  m_composer->setHint(hint);
  setComposerText(text);
  report({});
  focusComposer();
}

// A run that ended while a question was being edited does not cost the edit.
void ChatPanel::takeUpPendingEdit() {
  const models::PendingEdit pending = m_conversations.pendingEdit(m_chatId);
  const MessageRecord* place = m_conversations.tree(m_chatId).find(pending.messageId);
  if (!place || pending.text.isEmpty()) return;
  if (place->role == MessageRole::Assistant) beginToolResult(pending.messageId, tr("the tool"));
  else beginEdit(pending.messageId);
  if (m_typedAt == pending.messageId) setComposerText(pending.text);
}

void ChatPanel::endEdit() {
  m_conversations.setPendingEdit(m_chatId, {m_typedAt, {}});
  m_typedAt = 0;
  m_composer->setHint({});
  const models::ChatRecord* chat = m_conversations.chat(m_chatId);
  setComposerText(chat ? chat->draft : QString());
  m_countTimer.start();
}

void ChatPanel::editSettings() { showSettings(false); }

void ChatPanel::editSystemPrompt() { showSettings(true); }

void ChatPanel::showSettings(bool focusSystemPrompt) {
  const models::ChatRecord* chat = m_conversations.chat(m_chatId);
  if (!chat) return;
  const qint64 chatId = m_chatId;
  auto* dialog = new ChatSettingsDialog(chat->systemPrompt, chat->settings, window());
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &QDialog::accepted, this, [this, dialog, chatId] {
    m_conversations.setSystemPrompt(chatId, dialog->systemPrompt());
    report(m_conversations.setSettings(chatId, dialog->settings()));
    m_countTimer.start();
  });
  if (focusSystemPrompt) dialog->focusSystemPrompt();
  dialog->open();
}

void ChatPanel::report(const QString& sentence) { m_composer->setError(sentence); }

void ChatPanel::focusComposer() { m_composer->edit().setFocus(); }

void ChatPanel::refreshColors() { m_transcript->refreshColors(); }

void ChatPanel::setCompact(bool compact) { m_composer->setCompact(compact); }

// One question for the conversation as it stands, one with the draft: the gauge shows both.
void ChatPanel::countTokens() {
  const auto& live = m_bridge.liveSnapshot();
  const bool canCount = live && live->model && live->state != engine::EngineState::Loading && !m_bridge.replay();
  if (!canCount) {
    m_composer->gauge().setTokens(-1, 0, 0);
    return;
  }
  if (m_countsInFlight > 0) {
    m_isRecountWanted = true;
    return;
  }
  const models::ChatRecord* chat = m_conversations.chat(m_chatId);
  if (!chat) return;
  const qint64 chatId = m_chatId;
  const QString draft = m_composer->text();
  const auto ask = [this, chatId](const std::string& json, qint64 ChatPanel::*total) {
    ++m_countsInFlight;
    const auto question = engine::CountTokensQuery{engine::ChatPrompt{json, {}}};
    m_bridge.ask(question, this, [this, chatId, total](const engine::QueryAnswer& answer) {
      --m_countsInFlight;
      const auto* ids = std::get_if<std::vector<engine::TokenId>>(&answer.answer);
      if (chatId == m_chatId) this->*total = ids ? qint64(ids->size()) : -1;
      const auto& now = m_bridge.liveSnapshot();
      const qint64 conversation = std::max<qint64>(0, m_conversationTokens);
      m_composer->gauge().setTokens(conversation, std::max<qint64>(0, m_draftTokens - conversation),
                                    now && now->model ? now->model->maxContext : 0);
      if (m_countsInFlight == 0 && std::exchange(m_isRecountWanted, false)) m_countTimer.start();
    });
  };
  m_conversationTokens = m_draftTokens = 0;
  if (chat->leafId != 0) ask(m_conversations.conversationJson(chatId, chat->leafId, {}), &ChatPanel::m_conversationTokens);
  if (!draft.trimmed().isEmpty()) {
    ask(m_conversations.conversationJson(chatId, chat->leafId, draft), &ChatPanel::m_draftTokens);
  }
  if (m_countsInFlight == 0) m_composer->gauge().setTokens(0, 0, live->model->maxContext);
}

void ChatPanel::onFrame(const bridge::Frame& frame) {
  if (frame.hasRestarted) {  // another engine, with another model or none
    m_countTimer.start();
    showEmptyState();
  }
  for (const auto& message : frame.messages) {
    if (std::holds_alternative<engine::ModelLoaded>(message) || std::holds_alternative<engine::ModelUnloaded>(message)) {
      m_countTimer.start();
      showEmptyState();
    }
  }
}

bool ChatPanel::eventFilter(QObject* watched, QEvent* event) {
  if (watched == m_transcript && event->type() == QEvent::Resize) showEmptyState();
  return QWidget::eventFilter(watched, event);
}

void ChatPanel::showEmptyState() {
  const bool isEmpty = m_conversations.path(m_chatId).empty();
  const auto& live = m_bridge.liveSnapshot();
  const bool hasModel = live && live->model;
  m_firstRun->setVisible(isEmpty && !hasModel);
  m_empty->setVisible(isEmpty && hasModel);
  if (!isEmpty) return;
  m_firstRun->setGeometry(m_transcript->rect());
  m_empty->setText(tr("Ask something. Several chats may be answered at once; they share one batch."));
  m_empty->setGeometry(40, 120, std::max(100, m_transcript->width() - 80), 60);
}

}  // namespace ui::panels
