// What the window does when the machine fails it: a home that cannot be written, a full disk.
#include <sys/stat.h>

#include <QDir>
#include <QFileInfo>
#include <QRegularExpression>
#include <QSqlDatabase>
#include <QSqlQuery>
#include <QTemporaryDir>
#include <QTest>

#include "tests/ui/window_stage.h"
#include "ui/panels/banner.h"
#include "ui/panels/first_run_page.h"
#include "ui/program_desk.h"

using test_support::Stage;

class WindowFaultsTest : public QObject {
  Q_OBJECT

 private slots:
  void aHomeThatCannotBeWrittenIsSaidAndTheChatWorks();
  void aFullDiskIsSaidAndWhatWasTypedStays();
  void anAnswerThatEndsWhileTheDiskIsFullIsWrittenLater();
  void chatsThatCannotBeOpenedAreSaidInOneSentence_data();
  void chatsThatCannotBeOpenedAreSaidInOneSentence();
  void aFailedLoadIsToldOnceWhereTheUserLooks();
};

void WindowFaultsTest::aHomeThatCannotBeWrittenIsSaidAndTheChatWorks() {
  QTemporaryDir dir;
  QFile blocker(dir.filePath("file"));  // nobody can make a folder in it, whatever their rights
  QVERIFY(blocker.open(QIODevice::WriteOnly));
  Stage stage(dir.filePath("file/home"), dir.filePath("file/home/chats.sqlite"));
  stage.start();
  QVERIFY2(stage.window.banner().text().contains("memory only"), qPrintable(stage.window.banner().text()));
  QVERIFY2(stage.window.banner().text().contains(dir.filePath("file/home")), qPrintable(stage.window.banner().text()));
  stage.say("hello");
  stage.play(40);
  QCOMPARE(stage.lastMessage()->text, QString("A short answer."));
  stage.panel().composer().setText("typed");
  stage.window.saveAll();
  const qint64 first = stage.panel().chatId();
  stage.window.chatList().newChat();
  stage.window.chatList().setCurrentChat(first);
  QCOMPARE(stage.panel().composer().text(), QString("typed"));
}

void WindowFaultsTest::aFullDiskIsSaidAndWhatWasTypedStays() {
  QTemporaryDir dir;
  Stage stage(dir.path());
  stage.start();
  stage.say("before");
  stage.play(40);
  // SQLite answers a reached page limit as it answers a full disk
  QSqlQuery query(QSqlDatabase::database(QSqlDatabase::connectionNames().constFirst()));
  QVERIFY(query.exec("PRAGMA page_count") && query.next());
  const int pages = query.value(0).toInt();
  query.exec(QString("PRAGMA max_page_count=%1").arg(pages + 1));
  query.finish();
  const QString text = QString("a long message ").repeated(20'000);
  stage.say(text);
  QCOMPARE(stage.panel().composer().text(), text);  // not sent, and still there
  QVERIFY2(stage.panel().composer().error().contains("could not be saved"), qPrintable(stage.panel().composer().error()));
  QVERIFY2(stage.window.banner().text().contains("full"), qPrintable(stage.window.banner().text()));
  QCOMPARE(stage.fake.countCommands<engine::Submit>(), 1);
  stage.play(3);
  query.exec("PRAGMA max_page_count=1000000");  // somebody made room
  query.finish();
  stage.panel().send();
  stage.play(40);
  QCOMPARE(stage.lastMessage()->text, QString("A short answer."));
  ui::models::ChatStore again(dir.path() + "/chats.sqlite");
  QCOMPARE(again.messages(stage.panel().chatId()).size(), 4u);
}

void WindowFaultsTest::anAnswerThatEndsWhileTheDiskIsFullIsWrittenLater() {
  QTemporaryDir dir;
  Stage stage(dir.path());
  stage.start();
  const QString text = QString("word ").repeated(20'000).trimmed();
  stage.fake.replyTo = [&](const engine::RequestSpec&) {
    tests::FakeReply reply;
    reply.pieces = {text.toStdString()};
    return reply;
  };
  QSqlQuery query(QSqlDatabase::database(QSqlDatabase::connectionNames().constFirst()));
  stage.say("go");
  QVERIFY(query.exec("PRAGMA page_count") && query.next());
  const int pages = query.value(0).toInt();
  query.exec(QString("PRAGMA max_page_count=%1").arg(pages + 1));
  query.finish();
  stage.play(40);
  QCOMPARE(stage.lastMessage()->text, text);
  QVERIFY(stage.window.conversations().isSaveFailing());
  const auto onDisk = [&] {
    ui::models::ChatStore again(dir.path() + "/chats.sqlite");
    return again.messages(stage.panel().chatId()).back().text;
  };
  QVERIFY(onDisk() != text);
  query.exec("PRAGMA max_page_count=1000000");  // somebody made room
  query.finish();
  QTRY_VERIFY_WITH_TIMEOUT(!stage.window.conversations().isSaveFailing(), 10'000);
  QCOMPARE(onDisk(), text);
}

void WindowFaultsTest::chatsThatCannotBeOpenedAreSaidInOneSentence_data() {
  QTest::addColumn<QString>("words");
  QTest::newRow("a folder") << "it is a folder";
  QTest::newRow("a pipe") << "it is no file";
  QTest::newRow("a link to nowhere") << "cannot be written";
}

void WindowFaultsTest::chatsThatCannotBeOpenedAreSaidInOneSentence() {
  QFETCH(QString, words);
  QTemporaryDir dir;
  const QString chats = dir.filePath("chats.sqlite");
  const QByteArray kind = QTest::currentDataTag();
  if (kind == "a folder") QVERIFY(QDir().mkdir(chats));
  if (kind == "a pipe") QVERIFY(::mkfifo(QFile::encodeName(chats).constData(), 0600) == 0);
  if (kind == "a link to nowhere") QVERIFY(QFile::link(dir.filePath("no folder/chats.sqlite"), chats));
  QTest::failOnWarning(QRegularExpression("Sql"));  // Qt is not to grumble beside it
  Stage stage(dir.path());
  stage.start();
  const QString told = stage.window.banner().text();
  QVERIFY2(told.contains(words) && told.contains(chats) && told.contains("memory only"), qPrintable(told));
  QCOMPARE(told.count('\n'), 0);
  int numLogged = 0;
  for (const auto& line : stage.window.desk().log().lines()) numLogged += line.text.contains(told);
  QCOMPARE(numLogged, 1);
  stage.say("hello");
  stage.play(40);
  QCOMPARE(stage.lastMessage()->text, QString("A short answer."));
  stage.window.saveAll();
  QVERIFY(QFileInfo(chats).isSymLink() || QFileInfo::exists(chats));  // it is left as it was
}

void WindowFaultsTest::aFailedLoadIsToldOnceWhereTheUserLooks() {
  QTemporaryDir dir;
  Stage stage(dir.path());
  stage.start(false);
  auto& page = stage.panel().firstRun();
  auto& banner = stage.window.banner();
  const auto fail = [&stage] {
    engine::EngineConfig config;
    config.load.modelPath = "/models/broken.gguf";
    stage.window.loader().load(config);
    stage.play(10);
  };
  fail();
  const QString sentence = stage.window.loader().failure();
  QVERIFY(!sentence.isEmpty() && page.isVisible());
  QCOMPARE(page.remark(), sentence);
  QCOMPARE(banner.text(), QString());
  // where the page is not seen the banner has it, and gives it back
  stage.window.setPerspective(ui::panels::Perspective::Tune);
  QTRY_VERIFY(!page.isVisible());
  QCOMPARE(banner.text(), sentence);
  stage.window.setPerspective(ui::panels::Perspective::Chat);
  QTRY_VERIFY(page.isVisible());
  QCOMPARE(banner.text(), QString());
  QCOMPARE(page.remark(), sentence);
  // told in the banner and closed there, it does not come back
  stage.window.setPerspective(ui::panels::Perspective::Tune);
  QTRY_COMPARE(banner.text(), sentence);
  fail();
  QCOMPARE(banner.text(), sentence);
  banner.clear();
  stage.window.setPerspective(ui::panels::Perspective::Chat);
  QTRY_VERIFY(page.isVisible());
  stage.window.setPerspective(ui::panels::Perspective::Tune);
  QTRY_VERIFY(!page.isVisible());
  QCOMPARE(banner.text(), QString());
}

QTEST_MAIN(WindowFaultsTest)
#include "tst_window_faults.moc"
