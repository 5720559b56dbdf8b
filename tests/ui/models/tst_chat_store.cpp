// The chats on disk: trees, odd texts, damaged and newer files, places that cannot be written, and a
// process killed in the middle of writing.
#include "ui/models/chat_store.h"

#include <QCoreApplication>
#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QProcess>
#include <QRandomGenerator>
#include <QSignalSpy>
#include <QSqlQuery>
#include <QTemporaryDir>
#include <QTest>
#include <QThread>
#include <csignal>

#include "ui/models/chat_json.h"
#include "ui/models/chat_tree.h"

using namespace ui::models;

namespace {

MessageRecord message(qint64 chat, qint64 parent, MessageRole role, const QString& text) {
  MessageRecord m;
  m.chatId = chat;
  m.parentId = parent;
  m.role = role;
  m.text = text;
  return m;
}

// Runs in a child process until it is killed: sends, then streams an answer, forever. What was promised
// to be on the disk is printed first.
int writeUntilKilled(const QString& path) {
  ChatStore store(path);
  ChatRecord chat;
  chat.title = QStringLiteral("killed");
  const qint64 chatId = store.addChat(chat);
  qint64 parent = 0;
  for (int turn = 0;; ++turn) {
    const QString question = QStringLiteral("question %1").arg(turn);
    parent = store.addMessage(message(chatId, parent, MessageRole::User, question));
    printf("sent %d\n", turn);
    fflush(stdout);
    MessageRecord answer = message(chatId, parent, MessageRole::Assistant, {});
    answer.state = MessageState::Streaming;
    answer.id = store.addMessage(answer);
    for (int i = 0; i < 20; ++i) {
      answer.text += QStringLiteral("word %1 of answer %2. ").arg(i).arg(turn);
      store.saveMessage(answer);
      QThread::usleep(500);
    }
    answer.state = MessageState::Complete;
    store.saveMessage(answer);
    parent = answer.id;
  }
}

}  // namespace

class ChatStoreTest : public QObject {
  Q_OBJECT

 private slots:
  void keepsTreesSettingsAndDrafts();
  void keepsOddTextsExactly_data();
  void keepsOddTextsExactly();
  void searchesTitlesAndTextsLiterally();
  void aDeletedChatComesBackUntilTheNextStart();
  void anAnswerThatWasBeingWrittenIsInterruptedAfterARestart();
  void killedAtTwentyRandomMomentsItKeepsWhatWasSent();
  void aFileCutInHalfIsMovedAsideAndReadAsFarAsItGoes();
  void aForeignFileIsMovedAsideUntouched();
  void aNewerFileIsNotTouched();
  void anUnwritablePlaceBecomesMemory();
  void aFullDiskIsSaidAndTheTextStays();
  void brokenParentsEndAPathAndNeverLoop();
};

void ChatStoreTest::keepsTreesSettingsAndDrafts() {
  QTemporaryDir dir;
  const QString path = dir.filePath("deep/er/chats.sqlite");
  ChatSettings settings = defaultChatSettings();
  settings.sampling.temperature = 0.35f;
  settings.sampling.seed = 18'446'744'073'709'551'615ull;
  settings.isSeedFixed = true;
  settings.sampling.stop = {"\n\n", "END"};
  qint64 chatId = 0, leaf = 0;
  {
    ChatStore store(path);
    QCOMPARE(store.health(), StoreHealth::Fine);
    ChatRecord chat;
    chat.title = "T";
    chat.settings = settings;
    chat.systemPrompt = "be brief";
    chatId = store.addChat(chat);
    const qint64 q = store.addMessage(message(chatId, 0, MessageRole::User, "q"));
    store.addMessage(message(chatId, q, MessageRole::Assistant, "a1"));
    leaf = store.addMessage(message(chatId, q, MessageRole::Assistant, "a2"));
    chat.id = chatId;
    chat.leafId = leaf;
    QVERIFY(store.saveChat(chat));
    QVERIFY(store.saveDraft(chatId, "half a thought"));
  }
  ChatStore store(path);
  const auto chats = store.chats();
  QCOMPARE(chats.size(), 1u);
  QCOMPARE(chats[0].settings, settings);
  QCOMPARE(chats[0].systemPrompt, QString("be brief"));
  QCOMPARE(chats[0].draft, QString("half a thought"));
  QCOMPARE(chats[0].numBranches, 2);
  const ChatTree tree(store.messages(chatId));
  QCOMPARE(tree.path(leaf).size(), 2u);
  QCOMPARE(tree.find(leaf)->text, QString("a2"));
  QCOMPARE(tree.siblings(leaf).size(), 2u);
}

void ChatStoreTest::keepsOddTextsExactly_data() {
  QTest::addColumn<QString>("text");
  QTest::newRow("emoji") << QString::fromUtf8("a 👩‍👩‍👧‍👦 family, Hà Nội, 東京");
  QTest::newRow("NUL") << QString("before") + QChar(0) + QString("after") + QChar(0);
  QTest::newRow("quotes") << QString("'); DROP TABLE messages; --\"%_\\");
  QTest::newRow("five megabytes") << QString(5'000'000, QLatin1Char('x'));
  QTest::newRow("empty") << QString("");
  QTest::newRow("separators") << QString("a") + QChar(0x2028) + QString("b") + QChar(0x00a0) + QString("\r\n\tc");
}

void ChatStoreTest::keepsOddTextsExactly() {
  QFETCH(QString, text);
  QTemporaryDir dir;
  qint64 chatId = 0;
  {
    ChatStore store(dir.filePath("c.sqlite"));
    QSignalSpy failures(&store, &ChatStore::writeFailed);
    ChatRecord chat;
    chat.title = text.left(100);
    chatId = store.addChat(chat);
    QVERIFY(store.addMessage(message(chatId, 0, MessageRole::User, text)) > 0);
    QCOMPARE(failures.count(), 0);
  }
  ChatStore store(dir.filePath("c.sqlite"));
  QCOMPARE(store.messages(chatId).at(0).text, text);
  QCOMPARE(store.chats().at(0).title, text.left(100));
}

void ChatStoreTest::searchesTitlesAndTextsLiterally() {
  QTemporaryDir dir;
  ChatStore store(dir.filePath("c.sqlite"));
  for (const char* text : {"100% sure", "100 sheep", "under_score", "UnderXscore"}) {
    ChatRecord chat;
    chat.title = "chat";
    store.addMessage(message(store.addChat(chat), 0, MessageRole::User, QString::fromUtf8(text)));
  }
  QCOMPARE(store.chats("100%").size(), 1u);
  QCOMPARE(store.chats("under_").size(), 1u);
  QCOMPARE(store.chats("UNDER").size(), 2u);
  QCOMPARE(store.chats("CHAT").size(), 4u);
  QCOMPARE(store.chats("nowhere").size(), 0u);
}

void ChatStoreTest::aDeletedChatComesBackUntilTheNextStart() {
  QTemporaryDir dir;
  qint64 id = 0;
  {
    ChatStore store(dir.filePath("c.sqlite"));
    ChatRecord chat;
    chat.title = "x";
    id = store.addChat(chat);
    store.addMessage(message(id, 0, MessageRole::User, "kept"));
    store.deleteChat(id);
    QVERIFY(store.chats().empty());
    store.undeleteChat(id);
    QCOMPARE(store.messages(id).size(), 1u);
    QCOMPARE(store.chats().size(), 1u);
    store.deleteChat(id);
  }
  ChatStore store(dir.filePath("c.sqlite"));
  QVERIFY(store.chats().empty());
  QVERIFY(store.messages(id).empty());
}

void ChatStoreTest::anAnswerThatWasBeingWrittenIsInterruptedAfterARestart() {
  QTemporaryDir dir;
  qint64 chatId = 0;
  {
    ChatStore store(dir.filePath("c.sqlite"));
    chatId = store.addChat({});
    auto m = message(chatId, 0, MessageRole::Assistant, "half");
    m.state = MessageState::Streaming;
    store.addMessage(m);
  }
  ChatStore store(dir.filePath("c.sqlite"));
  QCOMPARE(store.messages(chatId).at(0).state, MessageState::Interrupted);
  QCOMPARE(store.messages(chatId).at(0).text, QString("half"));
}

void ChatStoreTest::killedAtTwentyRandomMomentsItKeepsWhatWasSent() {
  QTemporaryDir dir;
  QRandomGenerator random(7);
  for (int round = 0; round < 20; ++round) {
    const QString path = dir.filePath(QString("k%1.sqlite").arg(round));
    QProcess child;
    child.start(QCoreApplication::applicationFilePath(), {"--write-until-killed", path});
    QVERIFY(child.waitForReadyRead(20'000));
    QThread::msleep(random.bounded(5, 120));
    ::kill(pid_t(child.processId()), SIGKILL);
    QVERIFY(child.waitForFinished(10'000));
    const int sent = int(child.readAllStandardOutput().count('\n'));

    ChatStore store(path);
    QCOMPARE(store.health(), StoreHealth::Fine);
    const auto chats = store.chats();
    QCOMPARE(chats.size(), 1u);
    const auto messages = store.messages(chats[0].id);
    int questions = 0, cut = 0;
    for (const auto& m : messages) {
      if (m.role == MessageRole::User) {
        QCOMPARE(m.text, QString("question %1").arg(questions));
        ++questions;
        continue;
      }
      QVERIFY(m.state != MessageState::Streaming);
      cut += m.state == MessageState::Interrupted;
      if (m.state == MessageState::Complete) QVERIFY(m.text.endsWith(QString("word 19 of answer %1. ").arg(questions - 1)));
    }
    QVERIFY(questions >= sent);  // one more may be written and not yet said
    QVERIFY(cut <= 1);
  }
}

void ChatStoreTest::aFileCutInHalfIsMovedAsideAndReadAsFarAsItGoes() {
  QTemporaryDir dir;
  const QString path = dir.filePath("c.sqlite");
  {
    ChatStore store(path);
    ChatRecord chat;
    chat.title = "long";
    const qint64 id = store.addChat(chat);
    qint64 parent = 0;
    for (int i = 0; i < 300; ++i) {
      parent = store.addMessage(message(id, parent, MessageRole::User, QString("text %1 ").arg(i).repeated(60)));
    }
  }
  QVERIFY(!QFile::exists(path + "-wal"));
  QFile file(path);
  const qint64 size = file.size();
  QVERIFY(file.resize(size / 2));
  ChatStore store(path);
  QCOMPARE(store.health(), StoreHealth::Salvaged);
  QVERIFY2(store.healthSentence().contains("damaged"), qPrintable(store.healthSentence()));
  const QStringList aside = QDir(dir.path()).entryList({"*.damaged-*[0-9]"});
  QCOMPARE(aside.size(), 1);
  QCOMPARE(QFile(dir.filePath(aside[0])).size(), size / 2);
  const auto chats = store.chats();
  QCOMPARE(chats.size(), 1u);
  const auto messages = store.messages(chats[0].id);
  QVERIFY2(messages.size() > 60, qPrintable(QString::number(messages.size())));
  for (const auto& m : messages) QVERIFY(m.text.startsWith("text "));
  // and it works on
  QVERIFY(store.addMessage(message(chats[0].id, 0, MessageRole::User, "next")) > 0);
}

void ChatStoreTest::aForeignFileIsMovedAsideUntouched() {
  QTemporaryDir dir;
  const QString path = dir.filePath("c.sqlite");
  const QByteArray bytes = QByteArray("this is no database\n").repeated(50);
  QFile file(path);
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.write(bytes);
  file.close();
  ChatStore store(path);
  QCOMPARE(store.health(), StoreHealth::Salvaged);
  QFile aside(dir.filePath(QDir(dir.path()).entryList({"*.damaged-*[0-9]"}).value(0)));
  QVERIFY(aside.open(QIODevice::ReadOnly));
  QCOMPARE(aside.readAll(), bytes);
  QVERIFY(store.addChat({}) > 0);
}

void ChatStoreTest::aNewerFileIsNotTouched() {
  QTemporaryDir dir;
  const QString path = dir.filePath("c.sqlite");
  { ChatStore store(path); store.addChat({}); }
  {
    QSqlDatabase db = QSqlDatabase::addDatabase("QSQLITE", "newer");
    db.setDatabaseName(path);
    QVERIFY(db.open());
    QSqlQuery(db).exec("PRAGMA user_version=99");
    db.close();
  }
  QSqlDatabase::removeDatabase("newer");
  QFile file(path);
  QVERIFY(file.open(QIODevice::ReadOnly));
  const QByteArray before = file.readAll();
  file.close();
  {
    ChatStore store(path);
    QCOMPARE(store.health(), StoreHealth::NewerFile);
    QVERIFY(store.healthSentence().contains("later version"));
    QVERIFY(store.addChat({}) > 0);  // the session works, in memory
  }
  QVERIFY(file.open(QIODevice::ReadOnly));
  QCOMPARE(file.readAll(), before);
  QCOMPARE(QDir(dir.path()).entryList(QDir::Files), QStringList{"c.sqlite"});
}

void ChatStoreTest::anUnwritablePlaceBecomesMemory() {
  QTemporaryDir dir;
  QFile blocker(dir.filePath("file"));
  QVERIFY(blocker.open(QIODevice::WriteOnly));
  ChatStore store(dir.filePath("file/tessera/chats.sqlite"));
  QCOMPARE(store.health(), StoreHealth::InMemory);
  QVERIFY(store.healthSentence().contains("memory only"));
  const qint64 id = store.addChat({});
  QVERIFY(store.addMessage(message(id, 0, MessageRole::User, "typed")) > 0);
  QCOMPARE(store.messages(id).at(0).text, QString("typed"));
}

void ChatStoreTest::aFullDiskIsSaidAndTheTextStays() {
  QTemporaryDir dir;
  ChatStore store(dir.filePath("c.sqlite"));
  const qint64 id = store.addChat({});
  // SQLite answers a reached page limit as it answers a full disk
  QSqlDatabase db = QSqlDatabase::database(QSqlDatabase::connectionNames().constFirst());
  QSqlQuery query(db);
  QVERIFY(query.exec("PRAGMA page_count") && query.next());
  const int pages = query.value(0).toInt();
  query.exec(QString("PRAGMA max_page_count=%1").arg(pages + 2));
  query.finish();
  QSignalSpy failures(&store, &ChatStore::writeFailed);
  QCOMPARE(store.addMessage(message(id, 0, MessageRole::User, QString(200'000, 'y'))), qint64(0));
  QCOMPARE(failures.count(), 1);
  QVERIFY2(failures[0][0].toString().contains("full"), qPrintable(failures[0][0].toString()));
  QVERIFY(store.addMessage(message(id, 0, MessageRole::User, "small")) > 0);
}

void ChatStoreTest::brokenParentsEndAPathAndNeverLoop() {
  auto a = message(1, 2, MessageRole::User, "a");
  a.id = 1;
  auto b = message(1, 1, MessageRole::Assistant, "b");
  b.id = 2;
  auto self = message(1, 3, MessageRole::User, "self");
  self.id = 3;
  const ChatTree tree({a, b, self});
  QVERIFY(tree.path(2).size() <= 2);
  QCOMPARE(tree.path(3).size(), 1u);
  QCOMPARE(tree.latestLeaf(3), qint64(3));
  QVERIFY(tree.path(99).empty());
}

int main(int argc, char** argv) {
  QCoreApplication app(argc, argv);
  if (argc == 3 && QByteArray(argv[1]) == "--write-until-killed") return writeUntilKilled(QString::fromLocal8Bit(argv[2]));
  ChatStoreTest test;
  return QTest::qExec(&test, argc, argv);
}
#include "tst_chat_store.moc"
