#include "ui/models/conversations.h"

#include <QDateTime>
#include <QRandomGenerator>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "ui/models/chat_json.h"

namespace ui::models {

namespace {

constexpr int kSaveIntervalMs = 750;  // a kill at any moment loses less than a second of text
constexpr int kDraftDelayMs = 400;
constexpr int kTitleLength = 48;

qint64 nowMs() { return QDateTime::currentMSecsSinceEpoch(); }

// The first line of the first question, cut at a word.
QString titleFrom(const QString& text) {
  QString title = text.left(400).trimmed().section(QLatin1Char('\n'), 0, 0).simplified();
  if (title.size() <= kTitleLength) return title;
  title.truncate(kTitleLength);
  if (title.back().isHighSurrogate()) title.chop(1);
  const auto space = title.lastIndexOf(QLatin1Char(' '));
  if (space > kTitleLength / 2) title.truncate(space);
  return title + QStringLiteral("…");
}

MessageRecord typed(qint64 chatId, qint64 parentId, MessageRole role, const QString& text) {
  MessageRecord message;
  message.chatId = chatId;
  message.parentId = parentId;
  message.role = role;
  message.text = text;
  return message;
}

const char* roleName(MessageRole role) {
  switch (role) {
    case MessageRole::User: return "user";
    case MessageRole::Assistant: return "assistant";
    case MessageRole::Tool: return "tool";
  }
  return "user";
}

}  // namespace

Conversations::Conversations(ChatStore& store, bridge::EngineBridge& bridge, QObject* parent)
    : QObject(parent), m_store(store), m_bridge(bridge), m_streams(bridge) {
  m_chats = m_store.chats();
  connect(&m_streams, &AnswerStreams::textArrived, this, &Conversations::onText);
  connect(&m_streams, &AnswerStreams::finished, this, &Conversations::onFinished);
  connect(&m_streams, &AnswerStreams::progressed, this, &Conversations::answerChanged);
  m_saveTimer.setInterval(kSaveIntervalMs);
  connect(&m_saveTimer, &QTimer::timeout, this, &Conversations::saveNow);
  m_draftTimer.setSingleShot(true);
  m_draftTimer.setInterval(kDraftDelayMs);
  connect(&m_draftTimer, &QTimer::timeout, this, &Conversations::saveNow);
}

const ChatRecord* Conversations::chat(qint64 chatId) const {
  const auto found = std::find_if(m_chats.begin(), m_chats.end(),
                                  [chatId](const ChatRecord& c) { return c.id == chatId; });
  return found == m_chats.end() ? nullptr : &*found;
}

ChatRecord* Conversations::mutableChat(qint64 chatId) {
  return const_cast<ChatRecord*>(std::as_const(*this).chat(chatId));
}

std::vector<qint64> Conversations::search(const QString& text) const {
  std::vector<qint64> ids;
  if (text.isEmpty()) {
    for (const auto& chat : m_chats) ids.push_back(chat.id);
  } else {
    for (const auto& chat : m_store.chats(text)) ids.push_back(chat.id);
  }
  return ids;
}

ChatTree& Conversations::mutableTree(qint64 chatId) {
  const auto found = m_trees.find(chatId);
  if (found != m_trees.end()) return found->second;
  return m_trees.emplace(chatId, ChatTree(m_store.messages(chatId))).first->second;
}

const ChatTree& Conversations::tree(qint64 chatId) { return mutableTree(chatId); }

std::vector<qint64> Conversations::path(qint64 chatId) {
  const ChatRecord* record = chat(chatId);
  return record ? mutableTree(chatId).path(record->leafId) : std::vector<qint64>{};
}

bool Conversations::isUntouched(const ChatRecord& chat) const {
  return chat.leafId == 0 && chat.draft.isEmpty() && chat.systemPrompt == m_defaultPrompt && chat.settings == m_defaults;
}

void Conversations::setDefaults(const ChatSettings& settings, const QString& systemPrompt) {
  std::vector<ChatRecord*> followers;
  for (ChatRecord& chat : m_chats) {
    if (isUntouched(chat)) followers.push_back(&chat);
  }
  m_defaults = settings;
  m_defaultPrompt = systemPrompt;
  for (ChatRecord* chat : followers) {
    chat->settings = settings;
    chat->systemPrompt = systemPrompt;
    m_store.saveChat(*chat);
  }
  if (!followers.empty()) emit chatsChanged();
}

qint64 Conversations::newChat() {
  for (const auto& chat : m_chats) {
    if (isUntouched(chat)) return chat.id;
  }
  ChatRecord record;
  record.title = tr("New chat");
  record.settings = m_defaults;
  record.systemPrompt = m_defaultPrompt;
  record.createdMs = record.updatedMs = nowMs();
  record.id = m_store.addChat(record);
  if (record.id == 0) record.id = temporaryId();  // lives on in memory; the failure was reported
  m_chats.insert(m_chats.begin(), record);
  emit chatsChanged();
  return record.id;
}

void Conversations::renameChat(qint64 chatId, const QString& title) {
  ChatRecord* record = mutableChat(chatId);
  if (!record || title.trimmed().isEmpty()) return;
  record->title = title.trimmed();
  m_store.saveChat(*record);
  emit chatsChanged();
}

void Conversations::removeChat(qint64 chatId) {
  const ChatRecord* record = chat(chatId);
  if (!record) return;
  m_streams.stop(chatId);
  m_removed.push_back(*record);
  m_store.deleteChat(chatId);
  m_chats.erase(m_chats.begin() + (record - m_chats.data()));
  emit chatsChanged();
  emit chatRemoved(chatId);
}

qint64 Conversations::undoRemove() {
  if (m_removed.empty()) return 0;
  const ChatRecord record = m_removed.back();
  m_removed.pop_back();
  m_store.undeleteChat(record.id);
  m_chats.push_back(record);
  resort();
  emit chatsChanged();
  return record.id;
}

void Conversations::setSystemPrompt(qint64 chatId, const QString& prompt) {
  ChatRecord* record = mutableChat(chatId);
  if (!record || record->systemPrompt == prompt) return;
  record->systemPrompt = prompt;
  m_store.saveChat(*record);
  emit chatsChanged();
}

QString Conversations::setSettings(qint64 chatId, const ChatSettings& settings) {
  ChatRecord* record = mutableChat(chatId);
  if (!record) return {};
  const auto& live = m_bridge.liveSnapshot();
  const auto vocabSize = live && live->model ? live->model->vocabSize : 0;
  if (auto checked = engine::checkSamplingParams(settings.sampling, vocabSize); !checked) {
    return QString::fromStdString(checked.error().message);
  }
  if (const QString wrong = whatIsWrongWithTools(settings.toolsJson); !wrong.isEmpty()) return wrong;
  record->settings = settings;
  m_store.saveChat(*record);
  emit chatsChanged();
  return {};
}

void Conversations::setDraft(qint64 chatId, const QString& draft) {
  ChatRecord* record = mutableChat(chatId);
  if (!record || record->draft == draft) return;
  record->draft = draft;
  m_unsavedDrafts.insert(chatId);
  if (!m_draftTimer.isActive()) m_draftTimer.start();  // not put off by the next keystroke
}

void Conversations::setPendingEdit(qint64 chatId, const PendingEdit& edit) {
  m_unsavedEdits[chatId] = edit;
  if (!m_draftTimer.isActive()) m_draftTimer.start();
}

PendingEdit Conversations::pendingEdit(qint64 chatId) const {
  const auto unsaved = m_unsavedEdits.find(chatId);
  return unsaved != m_unsavedEdits.end() ? unsaved->second : m_store.edit(chatId);
}

QString Conversations::whyNotAnswer(qint64 chatId) const {
  if (m_streams.ofChat(chatId)) return tr("This chat is still being answered; stop it first.");
  const auto& live = m_bridge.liveSnapshot();
  const bool isLoading = live && live->state == engine::EngineState::Loading;
  if (live && live->state == engine::EngineState::Failed) {
    return tr("The engine has stopped: %1").arg(QString::fromStdString(live->failure));
  }
  if (!isLoading && !(live && live->model)) return tr("No model is open; open one first (Ctrl+O).");
  return {};
}

QString Conversations::send(qint64 chatId, const QString& text) {
  const ChatRecord* record = chat(chatId);
  if (!record) return tr("This chat is gone.");
  return ask(typed(chatId, record->leafId, MessageRole::User, text));
}

QString Conversations::sendToolResult(qint64 chatId, qint64 answerId, const QString& text) {
  const MessageRecord* answer = mutableTree(chatId).find(answerId);
  if (!answer || answer->role != MessageRole::Assistant) return tr("The answer that called the tool is gone.");
  const auto& live = m_bridge.liveSnapshot();
  if (live && live->model && !live->model->hasTools) {
    return tr("The chat template of %1 takes no results of tools; send it as a question instead.")
        .arg(QString::fromStdString(live->model->name));
  }
  return ask(typed(chatId, answerId, MessageRole::Tool, text));
}

QString Conversations::ask(const MessageRecord& asked) {
  const qint64 chatId = asked.chatId;
  if (asked.text.trimmed().isEmpty()) return tr("The message is empty.");
  if (const QString why = whyNotAnswer(chatId); !why.isEmpty()) return why;
  ChatRecord* record = mutableChat(chatId);
  MessageRecord question = asked;
  question.createdMs = nowMs();
  question.id = m_store.addMessage(question);
  if (question.id == 0) return tr("The message could not be saved, so it was not sent.");
  const bool isFirst = mutableTree(chatId).isEmpty();
  mutableTree(chatId).add(question);
  if (isFirst && record->title == tr("New chat")) record->title = titleFrom(question.text);
  answer(chatId, question.id);
  return {};
}

void Conversations::answer(qint64 chatId, qint64 questionId) {
  ChatRecord* record = mutableChat(chatId);
  MessageRecord reply;
  reply.chatId = chatId;
  reply.parentId = questionId;
  reply.role = MessageRole::Assistant;
  reply.state = MessageState::Streaming;
  reply.createdMs = nowMs();
  reply.id = m_store.addMessage(reply);
  if (reply.id == 0) {
    reply.id = std::max(questionId, record->leafId) + 1'000'000'000;  // in memory only, as reported
  }
  mutableTree(chatId).add(reply);
  record->leafId = reply.id;
  m_streams.start(chatId, reply.id, makeSpec(*record, questionId));
  m_saveTimer.start();
  touch(*record);
  emit pathChanged(chatId);
}

engine::RequestSpec Conversations::makeSpec(const ChatRecord& record, qint64 questionId) {
  engine::RequestSpec spec;
  spec.label = tr("chat %1").arg(record.id).toStdString();
  spec.sampling = record.settings.sampling;
  if (!record.settings.isSeedFixed) spec.sampling.seed = QRandomGenerator::global()->bounded(1u << 30);
  spec.prompt = engine::ChatPrompt{conversationJson(record.id, questionId, {}), {}};
  return spec;
}

QString Conversations::regenerate(qint64 chatId, qint64 answerId) {
  if (const QString why = whyNotAnswer(chatId); !why.isEmpty()) return why;
  const MessageRecord* message = mutableTree(chatId).find(answerId);
  if (!message || message->role != MessageRole::Assistant) return tr("There is no answer to do again.");
  answer(chatId, message->parentId);
  return {};
}

QString Conversations::editQuestion(qint64 chatId, qint64 questionId, const QString& text) {
  const MessageRecord* message = mutableTree(chatId).find(questionId);
  if (!message || message->role == MessageRole::Assistant) return tr("There is no question to edit.");
  return ask(typed(chatId, message->parentId, message->role, text));
}

void Conversations::stop(qint64 chatId) { m_streams.stop(chatId); }

void Conversations::showSibling(qint64 chatId, qint64 messageId, int offset) {
  ChatRecord* record = mutableChat(chatId);
  if (!record) return;
  const auto& siblings = mutableTree(chatId).siblings(messageId);
  const auto here = std::find(siblings.begin(), siblings.end(), messageId) - siblings.begin();
  const auto wanted = here + offset;
  if (wanted < 0 || wanted >= static_cast<std::ptrdiff_t>(siblings.size())) return;
  record->leafId = mutableTree(chatId).latestLeaf(siblings[static_cast<std::size_t>(wanted)]);
  m_store.saveChat(*record);
  emit pathChanged(chatId);
}

std::string Conversations::conversationJson(qint64 chatId, qint64 leafId, const QString& draft) {
  const ChatRecord* record = chat(chatId);
  auto messages = nlohmann::ordered_json::array();
  // A question whose answer failed and the next one are one turn: templates want roles to alternate.
  const auto add = [&messages](const char* role, const QString& text) {
    if (!messages.empty() && messages.back()["role"] == role) {
      auto& content = messages.back()["content"].get_ref<std::string&>();
      content += "\n\n" + text.toStdString();
      return;
    }
    messages.push_back({{"role", role}, {"content", text.toStdString()}});
  };
  if (record && !record->systemPrompt.trimmed().isEmpty()) add("system", record->systemPrompt);
  const ChatTree& messagesTree = mutableTree(chatId);
  for (qint64 id : messagesTree.path(leafId)) {
    const MessageRecord* message = messagesTree.find(id);
    // a failed answer said nothing; its question stays
    if (message->role == MessageRole::Assistant && message->text.isEmpty()) continue;
    add(roleName(message->role), message->text);
  }
  if (!draft.trimmed().isEmpty()) add("user", draft);
  nlohmann::ordered_json document = {{"messages", messages}, {"add_generation_prompt", true}};
  if (record && !record->settings.toolsJson.trimmed().isEmpty()) {
    const auto tools = nlohmann::ordered_json::parse(record->settings.toolsJson.toStdString(), nullptr, false);
    if (tools.is_array()) document["tools"] = tools;  // checked when it was set
  }
  return document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void Conversations::onText(qint64 chatId, qint64 messageId, const QString& delta) {
  if (MessageRecord* message = mutableTree(chatId).find(messageId)) message->text += delta;
  emit textArrived(chatId, messageId, delta);
}

void Conversations::onFinished(const AnswerEnd& end) {
  MessageRecord* message = mutableTree(end.chatId).find(end.messageId);
  if (!message) return;
  message->text = end.text;
  message->state = end.state;
  message->note = end.note;
  message->stats = end.stats;
  m_savedLengths.erase(end.messageId);
  noteSave(m_store.saveMessage(*message));
  if (m_isSaveFailing) m_unsavedAnswers[end.messageId] = end.chatId;
  stopSavingWhenDone();
  if (ChatRecord* record = mutableChat(end.chatId)) touch(*record);
  emit answerFinished(end.chatId, end.messageId);
}

void Conversations::touch(ChatRecord& record) {
  record.updatedMs = nowMs();
  countBranches(record);
  noteSave(m_store.saveChat(record));
  resort();
  emit chatsChanged();
}

void Conversations::countBranches(ChatRecord& record) {
  const ChatTree& messages = mutableTree(record.id);
  record.numMessages = static_cast<int>(messages.size());
  record.numBranches = messages.numLeaves();
}

void Conversations::resort() {
  std::stable_sort(m_chats.begin(), m_chats.end(),
                   [](const ChatRecord& a, const ChatRecord& b) { return a.updatedMs > b.updatedMs; });
}

void Conversations::stopSavingWhenDone() {
  if (m_streams.all().empty() && m_unsavedAnswers.empty()) m_saveTimer.stop();
}

void Conversations::noteSave(bool isSaved) {
  m_isSaveFailing = !isSaved;
  if (isSaved) m_lastSavedMs = nowMs();
}

void Conversations::saveNow() {
  for (const auto& stream : m_streams.all()) {
    MessageRecord* message = mutableTree(stream.chatId).find(stream.messageId);
    if (!message || m_savedLengths[stream.messageId] == message->text.size()) continue;
    message->stats = stream.stats;
    noteSave(m_store.saveMessage(*message));
    if (!m_isSaveFailing) m_savedLengths[stream.messageId] = message->text.size();
  }
  for (const auto& [messageId, chatId] : std::exchange(m_unsavedAnswers, {})) {
    const MessageRecord* message = mutableTree(chatId).find(messageId);
    if (!message) continue;
    noteSave(m_store.saveMessage(*message));
    if (m_isSaveFailing) m_unsavedAnswers[messageId] = chatId;
  }
  stopSavingWhenDone();
  for (qint64 chatId : std::exchange(m_unsavedDrafts, {})) {
    const ChatRecord* record = chat(chatId);
    if (!record) continue;
    noteSave(m_store.saveDraft(chatId, record->draft));
    if (m_isSaveFailing) m_unsavedDrafts.insert(chatId);
  }
  for (const auto& [chatId, edit] : std::exchange(m_unsavedEdits, {})) {
    noteSave(m_store.saveEdit(chatId, edit));
    if (m_isSaveFailing) m_unsavedEdits[chatId] = edit;
  }
}

}  // namespace ui::models
