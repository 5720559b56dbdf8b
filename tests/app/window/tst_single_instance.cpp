// One window per user: who is first, what reaches it, and what is left by a kill.
#include "app/window/single_instance.h"

#include <QFile>
#include <QLocalServer>
#include <QLocalSocket>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QThread>
#include <memory>

using app::window::SingleInstance;

namespace {

// A second start: it waits for the first, so it needs a thread of its own here.
class SecondStart : public QThread {
 public:
  SecondStart(QString name, QStringList files, int timeoutMs = 5000)
      : m_name(std::move(name)), m_files(std::move(files)), m_timeoutMs(timeoutMs) {}
  void run() override {
    SingleInstance second(m_name);
    role = second.claim(m_files, m_timeoutMs);
    sentence = second.sentence();
  }
  SingleInstance::Role role = SingleInstance::Role::First;
  QString sentence;

 private:
  QString m_name;
  QStringList m_files;
  int m_timeoutMs;
};

}  // namespace

class SingleInstanceTest : public QObject {
  Q_OBJECT

 private slots:
  void aSecondStartHandsItsFilesOn();
  void aSecondStartWithoutFilesOnlyRaises();
  void whatAKilledOneLeftIsNoObstacle();
  void aDeafFirstIsNamed();
  void nonsenseOnTheSocketIsIgnored();
  void aFolderThatCannotBeWrittenStillOpensAWindow();
};

void SingleInstanceTest::aSecondStartHandsItsFilesOn() {
  QTemporaryDir dir;
  SingleInstance first(dir.filePath("tessera"));
  QVERIFY(first.claim({}) == SingleInstance::Role::First);
  QSignalSpy arrived(&first, &SingleInstance::filesArrived);
  const QString odd = QString::fromUtf8("/tmp/a \"b\" \n日本.gguf");
  SecondStart second(dir.filePath("tessera"), {odd, "relative.gguf"});
  second.start();
  QTRY_VERIFY_WITH_TIMEOUT(second.isFinished(), 10'000);
  QVERIFY(second.role == SingleInstance::Role::HandedOn);
  QCOMPARE(arrived.size(), 1);
  const QStringList files = arrived[0][0].toStringList();
  QCOMPARE(files[0], odd);
  QVERIFY(files[1].startsWith('/') && files[1].endsWith("/relative.gguf"));
}

void SingleInstanceTest::aSecondStartWithoutFilesOnlyRaises() {
  QTemporaryDir dir;
  SingleInstance first(dir.filePath("tessera"));
  QVERIFY(first.claim({}) == SingleInstance::Role::First);
  QSignalSpy arrived(&first, &SingleInstance::filesArrived);
  for (int i = 1; i <= 3; ++i) {
    SecondStart second(dir.filePath("tessera"), {});
    second.start();
    QTRY_VERIFY_WITH_TIMEOUT(second.isFinished(), 10'000);
    QVERIFY(second.role == SingleInstance::Role::HandedOn);
    QCOMPARE(arrived.size(), i);
  }
  QVERIFY(arrived[0][0].toStringList().isEmpty());
}

void SingleInstanceTest::whatAKilledOneLeftIsNoObstacle() {
  QTemporaryDir dir;
  {
    QLocalServer dead;
    QVERIFY(dead.listen(dir.filePath("tessera.socket")));
  }
  QFile socket(dir.filePath("tessera.socket"));
  QVERIFY(socket.open(QIODevice::WriteOnly));  // a name that nobody listens on
  socket.close();
  QFile lock(dir.filePath("tessera.lock"));
  QVERIFY(lock.open(QIODevice::WriteOnly));
  lock.write("999999999\ntessera\n");  // of a process that is gone
  lock.close();
  SingleInstance first(dir.filePath("tessera"));
  QVERIFY(first.claim({}) == SingleInstance::Role::First);
  QVERIFY2(first.sentence().isEmpty(), qPrintable(first.sentence()));
  SecondStart second(dir.filePath("tessera"), {});
  second.start();
  QTRY_VERIFY_WITH_TIMEOUT(second.isFinished(), 10'000);
  QVERIFY(second.role == SingleInstance::Role::HandedOn);
}

void SingleInstanceTest::aDeafFirstIsNamed() {
  QTemporaryDir dir;
  QLockFile taken(dir.filePath("tessera.lock"));
  QVERIFY(taken.tryLock(0));
  SingleInstance second(dir.filePath("tessera"));
  QVERIFY(second.claim({"/tmp/x"}, 1000) == SingleInstance::Role::Deaf);
  QVERIFY2(second.sentence().contains(QString::number(QCoreApplication::applicationPid())), qPrintable(second.sentence()));
  taken.unlock();
  SingleInstance third(dir.filePath("tessera"));
  QVERIFY(third.claim({}, 1000) == SingleInstance::Role::First);
}

void SingleInstanceTest::nonsenseOnTheSocketIsIgnored() {
  QTemporaryDir dir;
  SingleInstance first(dir.filePath("tessera"));
  QVERIFY(first.claim({}) == SingleInstance::Role::First);
  QSignalSpy arrived(&first, &SingleInstance::filesArrived);
  for (const QByteArray& bytes : {QByteArray("hello\n"), QByteArray("[1]\n"), QByteArray(2 << 20, 'x'), QByteArray("{")}) {
    QLocalSocket socket;
    socket.connectToServer(dir.filePath("tessera.socket"));
    QVERIFY(socket.waitForConnected(2000));
    socket.write(bytes);
    socket.flush();
    QTest::qWait(50);
  }
  QCOMPARE(arrived.size(), 0);
  SecondStart second(dir.filePath("tessera"), {"/tmp/x"});
  second.start();
  QTRY_VERIFY_WITH_TIMEOUT(second.isFinished(), 10'000);
  QCOMPARE(arrived.size(), 1);
}

void SingleInstanceTest::aFolderThatCannotBeWrittenStillOpensAWindow() {
  SingleInstance first("/proc/no/such/tessera");
  QVERIFY(first.claim({}) == SingleInstance::Role::First);
  QVERIFY(first.sentence().contains("/proc/no/such"));
}

QTEST_GUILESS_MAIN(SingleInstanceTest)
#include "tst_single_instance.moc"
