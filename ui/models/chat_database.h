// Opening the chats' SQLite file so that nothing is ever lost or overwritten: a damaged file is moved
// aside and read as far as it goes, a newer one is left untouched, an unwritable place becomes memory.
#pragma once

#include <QSqlDatabase>
#include <QString>

namespace ui::models {

constexpr int kChatSchemaVersion = 1;

enum class StoreHealth {
  Fine,
  Salvaged,   // the file was damaged; what could be read was taken over into a new one
  InMemory,   // nothing can be written: this session's chats end with it
  NewerFile,  // a later version of the program wrote the file; also in memory
};

struct OpenedDatabase {
  QSqlDatabase database;
  StoreHealth health = StoreHealth::Fine;
  QString sentence;  // for the user, when health is not Fine
};

// Never fails: the last resort is an empty database in memory. `connectionName` must be unused.
OpenedDatabase openChatDatabase(const QString& path, const QString& connectionName);

}  // namespace ui::models
