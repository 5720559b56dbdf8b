// The program as the system sees it: files on its command line, a second start, signals, a kill, and
// settings that are damaged.
// labels: timed
#include <signal.h>

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QProcess>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>
#include <memory>

#include "tests/support/tiny_model.h"

namespace {

constexpr int kWaitMs = 60'000;  // a loaded machine starts slowly

// One user's home: settings, data and runtime folder of its own.
struct Home {
  QTemporaryDir dir;

  QString path(const QString& name) const { return dir.filePath(name); }
  std::unique_ptr<QProcess> run(const QStringList& arguments) const {
    auto process = std::make_unique<QProcess>();
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("QT_QPA_PLATFORM", "offscreen");
    environment.insert("XDG_CONFIG_HOME", path("config"));
    environment.insert("XDG_DATA_HOME", path("data"));
    environment.insert("XDG_CACHE_HOME", path("cache"));
    environment.insert("XDG_RUNTIME_DIR", path("run"));
    environment.remove("DBUS_SESSION_BUS_ADDRESS");
    process->setProcessEnvironment(environment);
    process->setWorkingDirectory(dir.path());
    process->setProcessChannelMode(QProcess::MergedChannels);
    process->start(QCoreApplication::applicationDirPath() + "/../tessera", arguments);
    return process;
  }
  QString recent() const {
    return QSettings(path("config/tessera/tessera.ini"), QSettings::IniFormat).value("model/path").toString();
  }
  bool hasChat() const { return QFile::exists(path("data/tessera/chats.sqlite")); }

  Home() {
    QDir(dir.path()).mkpath("run");
    QFile::setPermissions(path("run"), QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    test_support::TinyModelSpec spec;
    test_support::writeTinyModel(spec, path("one.gguf").toStdString());
    spec.seed = 2;
    test_support::writeTinyModel(spec, path("two.gguf").toStdString());
  }
};

bool ends(QProcess& process) { return process.waitForFinished(kWaitMs) && process.exitStatus() == QProcess::NormalExit; }

}  // namespace

class WindowProcessTest : public QObject {
  Q_OBJECT

 private slots:
  void aSignalSavesAndExitsWithZero_data();
  void aSignalSavesAndExitsWithZero();
  void aSecondStartHandsItsModelToTheFirst();
  void afterAKillTheNextStartIsTheFirst();
  void damagedSettingsDoNotStopTheProgram();
};

void WindowProcessTest::aSignalSavesAndExitsWithZero_data() {
  QTest::addColumn<int>("signal");
  QTest::newRow("SIGTERM") << SIGTERM;
  QTest::newRow("SIGINT") << SIGINT;
  QTest::newRow("SIGHUP") << SIGHUP;
}

void WindowProcessTest::aSignalSavesAndExitsWithZero() {
  QFETCH(int, signal);
  Home home;
  auto program = home.run({"one.gguf"});
  QVERIFY(program->waitForStarted(kWaitMs));
  QTRY_COMPARE_WITH_TIMEOUT(home.recent(), home.path("one.gguf"), kWaitMs);
  ::kill(pid_t(program->processId()), signal);
  QVERIFY(ends(*program));
  QVERIFY2(program->exitCode() == 0, program->readAll().constData());
  QSettings settings(home.path("config/tessera/tessera.ini"), QSettings::IniFormat);
  QVERIFY(settings.contains("window/geometry"));
}

void WindowProcessTest::aSecondStartHandsItsModelToTheFirst() {
  Home home;
  auto first = home.run({});
  QTRY_VERIFY_WITH_TIMEOUT(home.hasChat(), kWaitMs);
  auto second = home.run({"two.gguf"});
  QVERIFY(ends(*second));
  QVERIFY2(second->exitCode() == 0, second->readAll().constData());
  QCOMPARE(first->state(), QProcess::Running);
  QTRY_COMPARE_WITH_TIMEOUT(home.recent(), home.path("two.gguf"), kWaitMs);
  ::kill(pid_t(first->processId()), SIGTERM);
  QVERIFY(ends(*first));
  QCOMPARE(first->exitCode(), 0);
}

void WindowProcessTest::afterAKillTheNextStartIsTheFirst() {
  Home home;
  auto killed = home.run({});
  QTRY_VERIFY_WITH_TIMEOUT(home.hasChat(), kWaitMs);
  killed->kill();
  killed->waitForFinished(kWaitMs);
  auto next = home.run({"one.gguf"});
  QTRY_COMPARE_WITH_TIMEOUT(home.recent(), home.path("one.gguf"), kWaitMs);
  ::kill(pid_t(next->processId()), SIGTERM);
  QVERIFY(ends(*next));
  QCOMPARE(next->exitCode(), 0);
}

void WindowProcessTest::damagedSettingsDoNotStopTheProgram() {
  Home home;
  QDir(home.dir.path()).mkpath("config/tessera");
  QFile damaged(home.path("config/tessera/tessera.ini"));
  QVERIFY(damaged.open(QIODevice::WriteOnly));
  damaged.write(QByteArray(300, '\0'));
  damaged.close();
  auto program = home.run({"one.gguf"});
  QTRY_COMPARE_WITH_TIMEOUT(home.recent(), home.path("one.gguf"), kWaitMs);
  QCOMPARE(QDir(home.path("config/tessera")).entryList({"*.damaged-*"}).size(), 1);
  ::kill(pid_t(program->processId()), SIGTERM);
  QVERIFY(ends(*program));
  QCOMPARE(program->exitCode(), 0);
}

QTEST_GUILESS_MAIN(WindowProcessTest)
#include "tst_window_process.moc"
