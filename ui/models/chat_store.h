// The chats on disk: a tree of messages per chat in one SQLite file, written as things happen.
#pragma once

#include <QObject>
#include <QSqlDatabase>
#include <QString>
#include <vector>

#include "ui/models/chat_database.h"
#include "ui/models/chat_record.h"

class QSqlQuery;

namespace ui::models {

// Ui thread only. Every call commits before it returns; a failing one emits writeFailed and leaves the
// caller's own copy as the only one, to be written again with the next save.
class ChatStore : public QObject {
  Q_OBJECT

 public:
  // "${XDG_DATA_HOME}/tessera/chats.sqlite".
  static QString defaultPath();

  explicit ChatStore(const QString& path, QObject* parent = nullptr);
  ~ChatStore() override;

  StoreHealth health() const { return m_health; }
  // One sentence for the user, empty when all is well.
  const QString& healthSentence() const { return m_healthSentence; }
  const QString& path() const { return m_path; }

  // Newest first. `search` is looked for in titles and in messages, in any case; empty = all.
  std::vector<ChatRecord> chats(const QString& search = {}) const;
  std::vector<MessageRecord> messages(qint64 chatId) const;

  // Returns the id, 0 on failure.
  qint64 addChat(const ChatRecord& chat);
  qint64 addMessage(const MessageRecord& message);
  // Text, state, note and figures of an existing message.
  bool saveMessage(const MessageRecord& message);
  // Everything of the chat but its deletion.
  bool saveChat(const ChatRecord& chat);
  bool saveDraft(qint64 chatId, const QString& draft);
  // An edit without text is forgotten.
  bool saveEdit(qint64 chatId, const PendingEdit& edit);
  // As the last run left it; messageId 0 when there is none.
  PendingEdit edit(qint64 chatId) const;
  // Answers that the last run did not finish writing, marked as interrupted now.
  int numInterrupted() const { return m_numInterrupted; }
  // A deleted chat comes back with undeleteChat until the store is opened the next time.
  bool deleteChat(qint64 chatId);
  bool undeleteChat(qint64 chatId);

 signals:
  // One sentence: what could not be written and why.
  void writeFailed(const QString& sentence);

 private:
  bool execute(QSqlQuery& query);
  void tidyAfterLastRun();

  QString m_path, m_connectionName, m_healthSentence;
  StoreHealth m_health = StoreHealth::Fine;
  int m_numInterrupted = 0;
  QSqlDatabase m_database;
};

}  // namespace ui::models
