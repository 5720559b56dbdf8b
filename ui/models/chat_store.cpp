#include "ui/models/chat_store.h"

#include <QDateTime>
#include <QSqlError>
#include <QSqlQuery>
#include <QStandardPaths>
#include <QUuid>
#include <QVariant>
#include <algorithm>

#include "ui/models/chat_json.h"

namespace ui::models {

namespace {

qint64 nowMs() { return QDateTime::currentMSecsSinceEpoch(); }

QString likePattern(const QString& search) {
  QString escaped = search;
  escaped.replace(QLatin1String("\\"), QLatin1String("\\\\"))
      .replace(QLatin1String("%"), QLatin1String("\\%"))
      .replace(QLatin1String("_"), QLatin1String("\\_"));
  return QLatin1Char('%') + escaped + QLatin1Char('%');
}

// An empty QString must not become NULL in a NOT NULL column.
QString notNull(const QString& text) { return text.isNull() ? QLatin1String("") : text; }

}  // namespace

QString ChatStore::defaultPath() {
  return QStandardPaths::writableLocation(QStandardPaths::GenericDataLocation) +
         QStringLiteral("/tessera/chats.sqlite");
}

ChatStore::ChatStore(const QString& path, QObject* parent)
    : QObject(parent), m_path(path), m_connectionName(QUuid::createUuid().toString()) {
  OpenedDatabase opened = openChatDatabase(path, m_connectionName);
  m_database = opened.database;
  m_health = opened.health;
  m_healthSentence = opened.sentence;
  tidyAfterLastRun();
}

ChatStore::~ChatStore() {
  m_database.close();
  m_database = QSqlDatabase();
  QSqlDatabase::removeDatabase(m_connectionName);
}

void ChatStore::tidyAfterLastRun() {
  QSqlQuery query(m_database);
  query.prepare(QStringLiteral("UPDATE messages SET state=? WHERE state=?"));
  query.addBindValue(int(MessageState::Interrupted));
  query.addBindValue(int(MessageState::Streaming));
  if (query.exec()) m_numInterrupted = std::max(0, query.numRowsAffected());
  query.exec(QStringLiteral(
      "DELETE FROM messages WHERE chat_id IN (SELECT id FROM chats WHERE deleted_ms>0)"));
  query.exec(QStringLiteral("DELETE FROM chats WHERE deleted_ms>0"));
  query.exec(QStringLiteral("DELETE FROM edits WHERE chat_id NOT IN (SELECT id FROM chats)"));
}

bool ChatStore::execute(QSqlQuery& query) {
  if (query.exec()) return true;
  const QString why = query.lastError().databaseText();
  emit writeFailed(tr("Could not save to %1: %2.").arg(m_path, why.isEmpty() ? tr("unknown error") : why));
  return false;
}

std::vector<ChatRecord> ChatStore::chats(const QString& search) const {
  QString sql = QStringLiteral(
      "SELECT id,title,system_prompt,settings,leaf_id,draft,created_ms,updated_ms,"
      "(SELECT count(*) FROM messages m WHERE m.chat_id=c.id),"
      "(SELECT count(*) FROM messages m WHERE m.chat_id=c.id AND NOT EXISTS"
      " (SELECT 1 FROM messages k WHERE k.chat_id=c.id AND k.parent_id=m.id))"
      " FROM chats c WHERE deleted_ms=0");
  if (!search.isEmpty()) {
    sql += QStringLiteral(
        " AND (title LIKE ? ESCAPE '\\' OR EXISTS (SELECT 1 FROM messages m WHERE m.chat_id=c.id AND"
        " m.text LIKE ? ESCAPE '\\'))");
  }
  sql += QStringLiteral(" ORDER BY updated_ms DESC, id DESC");
  QSqlQuery query(m_database);
  query.prepare(sql);
  if (!search.isEmpty()) {
    query.addBindValue(likePattern(search));
    query.addBindValue(likePattern(search));
  }
  std::vector<ChatRecord> out;
  for (query.exec(); query.next();) {
    ChatRecord chat;
    chat.id = query.value(0).toLongLong();
    chat.title = query.value(1).toString();
    chat.systemPrompt = query.value(2).toString();
    chat.settings = settingsFromJson(query.value(3).toString());
    chat.leafId = query.value(4).toLongLong();
    chat.draft = query.value(5).toString();
    chat.createdMs = query.value(6).toLongLong();
    chat.updatedMs = query.value(7).toLongLong();
    chat.numMessages = query.value(8).toInt();
    chat.numBranches = query.value(9).toInt();
    out.push_back(std::move(chat));
  }
  return out;
}

std::vector<MessageRecord> ChatStore::messages(qint64 chatId) const {
  QSqlQuery query(m_database);
  query.prepare(QStringLiteral("SELECT id,parent_id,role,state,text,note,stats,created_ms FROM messages"
                               " WHERE chat_id=? ORDER BY id"));
  query.addBindValue(chatId);
  std::vector<MessageRecord> out;
  for (query.exec(); query.next();) {
    MessageRecord message;
    message.chatId = chatId;
    message.id = query.value(0).toLongLong();
    message.parentId = query.value(1).toLongLong();
    message.role = MessageRole(qBound(0, query.value(2).toInt(), int(MessageRole::Tool)));
    message.state = MessageState(qBound(0, query.value(3).toInt(), int(MessageState::Failed)));
    message.text = query.value(4).toString();
    message.note = query.value(5).toString();
    message.stats = statsFromJson(query.value(6).toString());
    message.createdMs = query.value(7).toLongLong();
    out.push_back(std::move(message));
  }
  return out;
}

qint64 ChatStore::addChat(const ChatRecord& chat) {
  QSqlQuery query(m_database);
  query.prepare(QStringLiteral("INSERT INTO chats(title,system_prompt,settings,leaf_id,draft,created_ms,"
                               "updated_ms) VALUES(?,?,?,?,?,?,?)"));
  query.addBindValue(notNull(chat.title));
  query.addBindValue(notNull(chat.systemPrompt));
  query.addBindValue(settingsToJson(chat.settings));
  query.addBindValue(chat.leafId);
  query.addBindValue(notNull(chat.draft));
  query.addBindValue(chat.createdMs > 0 ? chat.createdMs : nowMs());
  query.addBindValue(chat.updatedMs > 0 ? chat.updatedMs : nowMs());
  return execute(query) ? query.lastInsertId().toLongLong() : 0;
}

qint64 ChatStore::addMessage(const MessageRecord& message) {
  QSqlQuery query(m_database);
  query.prepare(QStringLiteral("INSERT INTO messages(chat_id,parent_id,role,state,text,note,stats,"
                               "created_ms) VALUES(?,?,?,?,?,?,?,?)"));
  query.addBindValue(message.chatId);
  query.addBindValue(message.parentId);
  query.addBindValue(int(message.role));
  query.addBindValue(int(message.state));
  query.addBindValue(notNull(message.text));
  query.addBindValue(notNull(message.note));
  query.addBindValue(statsToJson(message.stats));
  query.addBindValue(message.createdMs > 0 ? message.createdMs : nowMs());
  return execute(query) ? query.lastInsertId().toLongLong() : 0;
}

bool ChatStore::saveMessage(const MessageRecord& message) {
  QSqlQuery query(m_database);
  query.prepare(QStringLiteral("UPDATE messages SET state=?,text=?,note=?,stats=? WHERE id=?"));
  query.addBindValue(int(message.state));
  query.addBindValue(notNull(message.text));
  query.addBindValue(notNull(message.note));
  query.addBindValue(statsToJson(message.stats));
  query.addBindValue(message.id);
  return execute(query);
}

bool ChatStore::saveChat(const ChatRecord& chat) {
  QSqlQuery query(m_database);
  query.prepare(QStringLiteral("UPDATE chats SET title=?,system_prompt=?,settings=?,leaf_id=?,draft=?,"
                               "updated_ms=? WHERE id=?"));
  query.addBindValue(notNull(chat.title));
  query.addBindValue(notNull(chat.systemPrompt));
  query.addBindValue(settingsToJson(chat.settings));
  query.addBindValue(chat.leafId);
  query.addBindValue(notNull(chat.draft));
  query.addBindValue(chat.updatedMs);
  query.addBindValue(chat.id);
  return execute(query);
}

bool ChatStore::saveDraft(qint64 chatId, const QString& draft) {
  QSqlQuery query(m_database);
  query.prepare(QStringLiteral("UPDATE chats SET draft=? WHERE id=?"));
  query.addBindValue(notNull(draft));
  query.addBindValue(chatId);
  return execute(query);
}

bool ChatStore::saveEdit(qint64 chatId, const PendingEdit& edit) {
  QSqlQuery query(m_database);
  if (edit.messageId == 0 || edit.text.isEmpty()) {
    query.prepare(QStringLiteral("DELETE FROM edits WHERE chat_id=?"));
    query.addBindValue(chatId);
    return execute(query);
  }
  query.prepare(QStringLiteral("INSERT OR REPLACE INTO edits(chat_id,message_id,text) VALUES(?,?,?)"));
  query.addBindValue(chatId);
  query.addBindValue(edit.messageId);
  query.addBindValue(edit.text);
  return execute(query);
}

PendingEdit ChatStore::edit(qint64 chatId) const {
  QSqlQuery query(m_database);
  query.prepare(QStringLiteral("SELECT message_id,text FROM edits WHERE chat_id=?"));
  query.addBindValue(chatId);
  if (!query.exec() || !query.next()) return {};
  return {query.value(0).toLongLong(), query.value(1).toString()};
}

bool ChatStore::deleteChat(qint64 chatId) {
  QSqlQuery query(m_database);
  query.prepare(QStringLiteral("UPDATE chats SET deleted_ms=? WHERE id=?"));
  query.addBindValue(nowMs());
  query.addBindValue(chatId);
  return execute(query);
}

bool ChatStore::undeleteChat(qint64 chatId) {
  QSqlQuery query(m_database);
  query.prepare(QStringLiteral("UPDATE chats SET deleted_ms=0 WHERE id=?"));
  query.addBindValue(chatId);
  return execute(query);
}

}  // namespace ui::models
