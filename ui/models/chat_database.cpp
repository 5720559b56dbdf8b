#include "ui/models/chat_database.h"

#include <QCoreApplication>
#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QSqlError>
#include <QSqlQuery>
#include <QStringList>
#include <QVariant>
#include <QtEndian>

namespace ui::models {

namespace {

constexpr qint64 kFullCheckBytes = 256'000'000;
constexpr const char* kTables[] = {"chats", "messages"};

QString translate(const char* text) { return QCoreApplication::translate("ChatStore", text); }

enum class FileKind { Absent, Database, NewerDatabase, Foreign, NoFile };

// Looks at the header only, so that a file of a later version is not touched at all.
FileKind kindOf(const QString& path) {
  const QFileInfo place(path);
  if (!place.exists()) return FileKind::Absent;
  if (!place.isFile()) return FileKind::NoFile;  // to open a pipe would wait for ever
  QFile file(path);
  if (file.size() == 0) return FileKind::Absent;
  if (!file.open(QIODevice::ReadOnly)) return FileKind::Database;  // SQLite will say why
  const QByteArray header = file.read(100);
  if (header.size() < 100 || !header.startsWith("SQLite format 3")) return FileKind::Foreign;
  const quint32 version = qFromBigEndian<quint32>(header.constData() + 60);
  return version > quint32(kChatSchemaVersion) ? FileKind::NewerDatabase : FileKind::Database;
}

bool run(QSqlDatabase& db, const char* sql) {
  QSqlQuery query(db);
  return query.exec(QLatin1String(sql));
}

bool createTables(QSqlDatabase& db) {
  return run(db,
             "CREATE TABLE IF NOT EXISTS chats(id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL,"
             " system_prompt TEXT NOT NULL DEFAULT '', settings TEXT NOT NULL DEFAULT '{}',"
             " leaf_id INTEGER NOT NULL DEFAULT 0, draft TEXT NOT NULL DEFAULT '',"
             " created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL,"
             " deleted_ms INTEGER NOT NULL DEFAULT 0)") &&
         run(db,
             "CREATE TABLE IF NOT EXISTS messages(id INTEGER PRIMARY KEY AUTOINCREMENT,"
             " chat_id INTEGER NOT NULL, parent_id INTEGER NOT NULL, role INTEGER NOT NULL,"
             " state INTEGER NOT NULL, text TEXT NOT NULL, note TEXT NOT NULL DEFAULT '',"
             " stats TEXT NOT NULL DEFAULT '{}', created_ms INTEGER NOT NULL)") &&
         run(db, "CREATE INDEX IF NOT EXISTS messages_by_chat ON messages(chat_id, id)") &&
         // a question that is being typed anew; older versions leave the table alone
         run(db,
             "CREATE TABLE IF NOT EXISTS edits(chat_id INTEGER PRIMARY KEY, message_id INTEGER NOT NULL,"
             " text TEXT NOT NULL)") &&
         run(db, "PRAGMA user_version=1");
}

// WAL: a killed process loses nothing that was committed, and a commit costs no disk flush.
bool prepare(QSqlDatabase& db) {
  return run(db, "PRAGMA journal_mode=WAL") && run(db, "PRAGMA synchronous=NORMAL") &&
         run(db, "PRAGMA busy_timeout=60") && createTables(db);
}

bool isSound(QSqlDatabase& db, const QString& path) {
  QSqlQuery query(db);
  if (QFileInfo(path).size() <= kFullCheckBytes) {
    return query.exec(QStringLiteral("PRAGMA quick_check(1)")) && query.next() &&
           query.value(0).toString() == QLatin1String("ok");
  }
  return query.exec(QStringLiteral("SELECT max(id) FROM messages")) && query.next();
}

QSqlDatabase connect(const QString& path, const QString& name, const QString& options = {}) {
  QSqlDatabase db = QSqlDatabase::addDatabase(QStringLiteral("QSQLITE"), name);
  db.setDatabaseName(path);
  db.setConnectOptions(options);
  db.open();
  return db;
}

void drop(QSqlDatabase& db) {
  const QString name = db.connectionName();
  db.close();
  db = QSqlDatabase();
  QSqlDatabase::removeDatabase(name);
}

// Copies every row that can still be read, one by one: a torn page costs its own rows only.
int copyTable(QSqlDatabase& from, QSqlDatabase& to, const QString& table) {
  QSqlQuery top(from);
  if (!top.exec(QStringLiteral("SELECT max(id) FROM %1").arg(table)) || !top.next()) {
    // the rightmost page may be the torn one: fall back on the sequence SQLite keeps
    top.exec(QStringLiteral("SELECT seq FROM sqlite_sequence WHERE name='%1'").arg(table));
    if (!top.next()) return 0;
  }
  const qint64 last = top.value(0).toLongLong();
  int copied = 0;
  QSqlQuery read(from), write(to);
  for (qint64 id = 1; id <= last; ++id) {
    read.prepare(QStringLiteral("SELECT * FROM %1 WHERE id=?").arg(table));
    read.addBindValue(id);
    if (!read.exec() || !read.next()) continue;
    QStringList marks;
    QVariantList values;
    for (int i = 0; read.value(i).isValid(); ++i) {
      marks << QStringLiteral("?");
      values << read.value(i);
    }
    write.prepare(QStringLiteral("INSERT OR IGNORE INTO %1 VALUES(%2)").arg(table, marks.join(QChar(','))));
    for (const QVariant& value : values) write.addBindValue(value);
    copied += write.exec() ? 1 : 0;
  }
  return copied;
}

// Messages whose chat could not be read get a chat again.
void adoptOrphans(QSqlDatabase& db) {
  QSqlQuery query(db);
  query.prepare(QStringLiteral(
      "INSERT INTO chats(id,title,created_ms,updated_ms,leaf_id) SELECT chat_id,?,min(created_ms),"
      "max(created_ms),max(id) FROM messages WHERE chat_id NOT IN (SELECT id FROM chats) GROUP BY chat_id"));
  query.addBindValue(translate("Recovered chat"));
  query.exec();
}

// Returns how many messages came over.
int copyReadableRows(const QString& damagedPath, QSqlDatabase& to, const QString& name) {
  QSqlDatabase from = connect(damagedPath, name, QStringLiteral("QSQLITE_OPEN_READONLY"));
  if (!from.isOpen()) {  // asked all the same, Qt would complain at every question
    drop(from);
    return 0;
  }
  int messages = 0;
  run(from, "PRAGMA writable_schema=ON");  // lets SQLite read a file that is shorter than it says
  to.transaction();
  for (const char* table : kTables) {
    const int copied = copyTable(from, to, QLatin1String(table));
    if (QLatin1String(table) == QLatin1String("messages")) messages = copied;
  }
  adoptOrphans(to);
  to.commit();
  drop(from);
  return messages;
}

// The database and what SQLite keeps beside it. Returns the new path, empty when it cannot be moved.
QString moveAside(const QString& path) {
  const QString stamp = QDateTime::currentDateTime().toString(QStringLiteral("yyyyMMdd-HHmmss-zzz"));
  const QString aside = path + QStringLiteral(".damaged-") + stamp;
  if (!QFile::rename(path, aside)) return {};
  for (const char* suffix : {"-wal", "-shm"}) {
    QFile::rename(path + QLatin1String(suffix), aside + QLatin1String(suffix));
  }
  return aside;
}

OpenedDatabase openInMemory(const QString& name, StoreHealth health, const QString& sentence) {
  OpenedDatabase opened{connect(QStringLiteral(":memory:"), name), health, sentence};
  createTables(opened.database);
  return opened;
}

OpenedDatabase openUnwritable(const QString& path, const QString& name) {
  return openInMemory(name, StoreHealth::InMemory,
                      translate("The chats file %1 cannot be written; chats of this session are kept in "
                                "memory only.").arg(path));
}

OpenedDatabase replaceDamaged(const QString& path, const QString& name) {
  const QString aside = moveAside(path);
  if (aside.isEmpty()) {
    return openInMemory(name, StoreHealth::InMemory,
                        translate("The chats file %1 is damaged and cannot be moved aside; chats of this "
                                  "session are kept in memory only.").arg(path));
  }
  OpenedDatabase opened{connect(path, name), StoreHealth::Salvaged, {}};
  prepare(opened.database);
  const int saved = copyReadableRows(aside, opened.database, name + QStringLiteral("-damaged"));
  opened.sentence = translate("The chats file was damaged: it was moved to %1, and %2 messages could be "
                              "read from it.").arg(aside).arg(saved);
  return opened;
}

bool isBusyOrReadOnly(const QSqlDatabase& db, const QString& path) {
  return db.isOpen() && QFileInfo::exists(path) && !QFileInfo(path).isWritable();
}

}  // namespace

OpenedDatabase openChatDatabase(const QString& path, const QString& name) {
  if (!QDir().mkpath(QFileInfo(path).absolutePath())) {
    return openInMemory(name, StoreHealth::InMemory,
                        translate("The folder %1 cannot be written; chats of this session are kept in "
                                  "memory only.").arg(QFileInfo(path).absolutePath()));
  }
  const FileKind kind = kindOf(path);
  if (kind == FileKind::NewerDatabase) {
    return openInMemory(name, StoreHealth::NewerFile,
                        translate("The chats file %1 was written by a later version of Tessera and is left "
                                  "untouched; chats of this session are kept in memory only.").arg(path));
  }
  if (kind == FileKind::NoFile) {
    return openInMemory(name, StoreHealth::InMemory,
                        translate("The chats file %1 cannot be opened: it is %2; chats of this session are kept in "
                                  "memory only.").arg(path, QFileInfo(path).isDir() ? translate("a folder") : translate("no file")));
  }
  if (kind == FileKind::Foreign) return replaceDamaged(path, name);
  OpenedDatabase opened{connect(path, name), StoreHealth::Fine, {}};
  if (isBusyOrReadOnly(opened.database, path) || !opened.database.isOpen()) {
    drop(opened.database);
    opened = openUnwritable(path, name);
    copyReadableRows(path, opened.database, name + QStringLiteral("-readonly"));
    return opened;
  }
  if (kind == FileKind::Database && !isSound(opened.database, path)) {
    drop(opened.database);
    return replaceDamaged(path, name);
  }
  if (!prepare(opened.database)) {
    drop(opened.database);
    return openUnwritable(path, name);
  }
  return opened;
}

}  // namespace ui::models
