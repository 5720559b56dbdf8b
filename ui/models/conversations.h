// All chats of the window: the list, each chat's tree, and what the user does with them. Keeps the
// store written and the engine asked.
#pragma once

#include <QObject>
#include <QString>
#include <QTimer>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ui/models/answer_streams.h"
#include "ui/models/chat_store.h"
#include "ui/models/chat_tree.h"

namespace ui::models {

// Ui thread only. Actions return an empty string when done, else one sentence; nothing typed is lost then.
class Conversations : public QObject {
  Q_OBJECT

 public:
  // `store` and `bridge` must outlive this.
  Conversations(ChatStore& store, bridge::EngineBridge& bridge, QObject* parent = nullptr);

  // Newest first.
  const std::vector<ChatRecord>& chats() const { return m_chats; }
  std::vector<qint64> search(const QString& text) const;
  const ChatRecord* chat(qint64 chatId) const;
  const ChatTree& tree(qint64 chatId);
  std::vector<qint64> path(qint64 chatId);
  const AnswerStream* stream(qint64 chatId) const { return m_streams.ofChat(chatId); }
  int numStreaming() const { return static_cast<int>(m_streams.all().size()); }

  // What chats that are made from now on begin with; an empty chat that is there follows.
  void setDefaults(const ChatSettings& settings, const QString& systemPrompt);
  // The empty chat that is there already, or a new one.
  qint64 newChat();
  void renameChat(qint64 chatId, const QString& title);
  void removeChat(qint64 chatId);
  // The chat removed last comes back; 0 when there is none.
  qint64 undoRemove();
  bool canUndoRemove() const { return !m_removed.empty(); }
  void setSystemPrompt(qint64 chatId, const QString& prompt);
  QString setSettings(qint64 chatId, const ChatSettings& settings);
  // Written within half a second, however long the typing goes on.
  void setDraft(qint64 chatId, const QString& draft);
  // The same for a question that is typed anew or a tool's result; without text it is forgotten.
  void setPendingEdit(qint64 chatId, const PendingEdit& edit);
  PendingEdit pendingEdit(qint64 chatId) const;

  QString send(qint64 chatId, const QString& text);
  // Another answer beside this one.
  QString regenerate(qint64 chatId, qint64 answerId);
  // What a tool that `answerId` called gave; the model goes on from there.
  QString sendToolResult(qint64 chatId, qint64 answerId, const QString& text);
  // Another question (or result) beside this one, answered anew.
  QString editQuestion(qint64 chatId, qint64 questionId, const QString& text);
  void stop(qint64 chatId);
  // Shows the sibling `offset` places on.
  void showSibling(qint64 chatId, qint64 messageId, int offset);

  // The document for the model's template: system prompt, the branch up to `leafId`, then `draft` as a
  // question when it is not empty.
  std::string conversationJson(qint64 chatId, qint64 leafId, const QString& draft);

  // Writes what is not written yet (streams as Streaming, drafts). For the timer, SIGTERM and closing.
  void saveNow();
  qint64 lastSavedMs() const { return m_lastSavedMs; }
  // Something could not be written yet; it is tried again.
  bool isSaveFailing() const { return m_isSaveFailing || !m_unsavedAnswers.empty(); }
  // Chats end with this session: nothing is written anywhere.
  bool isInMemory() const { return m_store.health() == StoreHealth::InMemory || m_store.health() == StoreHealth::NewerFile; }

 signals:
  void chatsChanged();
  void chatRemoved(qint64 chatId);
  // Other messages are on the branch that is shown.
  void pathChanged(qint64 chatId);
  void textArrived(qint64 chatId, qint64 messageId, const QString& delta);
  void answerChanged(qint64 chatId, qint64 messageId);
  // The answer got its final text, state and figures.
  void answerFinished(qint64 chatId, qint64 messageId);

 private:
  ChatRecord* mutableChat(qint64 chatId);
  ChatTree& mutableTree(qint64 chatId);
  QString whyNotAnswer(qint64 chatId) const;
  QString ask(const MessageRecord& question);
  bool isUntouched(const ChatRecord& chat) const;
  void answer(qint64 chatId, qint64 questionId);
  engine::RequestSpec makeSpec(const ChatRecord& chat, qint64 questionId);
  void onText(qint64 chatId, qint64 messageId, const QString& delta);
  void onFinished(const AnswerEnd& end);
  void touch(ChatRecord& chat);
  void noteSave(bool isSaved);
  void stopSavingWhenDone();
  void countBranches(ChatRecord& chat);
  void resort();
  qint64 temporaryId() { return --m_temporaryId; }

  ChatStore& m_store;
  bridge::EngineBridge& m_bridge;
  AnswerStreams m_streams;
  std::vector<ChatRecord> m_chats;
  std::unordered_map<qint64, ChatTree> m_trees;
  std::vector<ChatRecord> m_removed;
  ChatSettings m_defaults = defaultChatSettings();
  QString m_defaultPrompt;
  std::unordered_set<qint64> m_unsavedDrafts;
  std::unordered_map<qint64, PendingEdit> m_unsavedEdits;
  std::unordered_map<qint64, qint64> m_unsavedAnswers;  // chats by message; they are whole but not written
  std::unordered_map<qint64, qint64> m_savedLengths;  // of streaming messages
  QTimer m_saveTimer, m_draftTimer;
  qint64 m_temporaryId = 0;
  qint64 m_lastSavedMs = 0;
  bool m_isSaveFailing = false;
};

}  // namespace ui::models
