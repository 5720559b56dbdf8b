// The whole window as a process that is killed, told to end, or started where it cannot write (H20).
// labels: timed slow
#include <QApplication>
#include <QDateTime>
#include <QDir>
#include <QElapsedTimer>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <csignal>
#include <cstdio>

#include "app/window/application.h"
#include "tests/support/tiny_model.h"
#include "ui/panels/chat_list_panel.h"
#include "ui/panels/chat_panel.h"
#include "ui/panels/composer.h"
#include "ui/views/transcript_view.h"

using ui::models::ChatStore;
using ui::models::MessageState;

namespace {

qint64 nowMs() { return QDateTime::currentMSecsSinceEpoch(); }

ui::MainWindow& theWindow() {
  for (QWidget* widget : QApplication::topLevelWidgets()) {
    if (auto* window = qobject_cast<ui::MainWindow*>(widget)) return *window;
  }
  qFatal("there is no window");
}

void say(ui::MainWindow& window, const QString& text, std::int64_t maxTokens) {
  const qint64 chat = window.chatPanel().chatId();
  ui::models::ChatSettings settings = window.conversations().chat(chat)->settings;
  settings.sampling = {};
  settings.sampling.temperature = 1.0f;
  settings.sampling.ignoreEos = true;
  settings.sampling.maxTokens = maxTokens;
  for (engine::TokenId id = 0; id < 256; ++id) {
    if (id < 32 || id > 126) settings.sampling.logitBias.emplace_back(id, -100.0f);  // plain text
  }
  window.conversations().setSettings(chat, settings);
  window.chatPanel().composer().setText(text);
  window.chatPanel().send();
}

// Tells what the transcript has of the chat, a line each: "found <state> <has a view> <characters>".
void tellTranscript(ui::MainWindow& window) {
  const qint64 chat = window.chatPanel().chatId();
  for (const qint64 id : window.conversations().path(chat)) {
    const auto* message = window.conversations().tree(chat).find(id);
    const bool isShown = window.chatPanel().transcript().view(id) != nullptr;
    std::printf("found %d %d %lld\n", int(message->state), isShown, static_cast<long long>(message->text.size()));
  }
  std::printf("told\n");
  std::fflush(stdout);
}

// The window as the program has it, driven until it is killed.
int runWindow(QApplication& app, const QString& mode, const QString& model) {
  app::window::WindowOptions options;
  options.modelPath = model;
  app::window::Application application(app, options);
  application.start();
  ui::MainWindow& window = theWindow();
  QTimer::singleShot(0, &window, [&window] { tellTranscript(window); });
  if (mode == "draft") {
    QTimer::singleShot(100, &window, [&window] {
      window.chatPanel().composer().setText("half a thought");
      std::printf("typed\n");
      std::fflush(stdout);
    });
    return QApplication::exec();
  }
  auto& conversations = window.conversations();
  QObject::connect(&window.loader(), &ui::models::ModelLoader::loaded, &window,
                   [&window] { say(window, "first question", 20); }, Qt::QueuedConnection);
  QObject::connect(&conversations, &ui::models::Conversations::answerFinished, &window,
                   [&window, n = 0]() mutable { if (n++ == 0) say(window, "second question", 1'000'000); },
                   Qt::QueuedConnection);
  QObject::connect(&conversations, &ui::models::Conversations::textArrived, &window,
                   [&conversations](qint64 chat, qint64 id, const QString&) {
                     const auto* message = conversations.tree(chat).find(id);
                     const auto* question = conversations.tree(chat).find(message->parentId);
                     if (question->text != "second question") return;
                     std::printf("shown %lld %lld\n", static_cast<long long>(nowMs()),
                                 static_cast<long long>(message->text.size()));
                     std::fflush(stdout);
                   });
  return QApplication::exec();
}

// Starts this test or the program again with places of its own under `home`.
void startIn(QProcess& process, const QString& home, const QString& program, const QStringList& arguments) {
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  environment.insert("XDG_DATA_HOME", home + "/data");
  environment.insert("XDG_CONFIG_HOME", home + "/config");
  environment.insert("XDG_CACHE_HOME", home + "/cache");
  environment.insert("QT_QPA_PLATFORM", "offscreen");
  process.setProcessEnvironment(environment);
  process.start(program, arguments);
}

// Reads until a line begins with `word`.
bool waitForLine(QProcess& process, const QByteArray& word, QByteArrayList& lines) {
  QElapsedTimer clock;
  clock.start();
  while (clock.elapsed() < 60'000) {
    while (process.canReadLine()) {
      lines.append(process.readLine().trimmed());
      if (lines.back().startsWith(word)) return true;
    }
    if (process.state() == QProcess::NotRunning) return false;
    process.waitForReadyRead(100);
  }
  return false;
}

}  // namespace

class WindowCrashTest : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void killedWhileAnsweringItKeepsAllButTheLastSecond();
  void toldToEndItKeepsWhatIsBeingTyped();
  void theProgramStartsWhereItCannotWrite();

 private:
  void checkAfterKill(const QString& home, qint64 killedMs, const QByteArrayList& lines, qsizetype numTurns);

  QTemporaryDir m_folder;
  QString m_model = m_folder.filePath("slow.gguf");
};

void WindowCrashTest::initTestCase() {
  test_support::TinyModelSpec spec;  // a few hundred tokens a second
  spec.context = 1 << 16;
  spec.layers = 4;
  spec.hidden = spec.ffn = 256;
  spec.heads = 4;
  spec.headDim = 64;
  test_support::writeTinyModel(spec, m_model.toStdString());
}

void WindowCrashTest::checkAfterKill(const QString& home, qint64 killedMs, const QByteArrayList& lines,
                                     qsizetype numTurns) {
  ChatStore store(home + "/data/tessera/chats.sqlite");
  QCOMPARE(store.health(), ui::models::StoreHealth::Fine);
  const auto chats = store.chats();
  QCOMPARE(chats.size(), 1u);
  const auto messages = store.messages(chats[0].id);
  QCOMPARE(qsizetype(messages.size()), 4 * numTurns);
  const auto& cut = messages.back();
  QCOMPARE(messages[messages.size() - 2].text, QString("second question"));
  QCOMPARE(messages[messages.size() - 3].state, MessageState::Length);  // the first answer, whole
  QCOMPARE(cut.state, MessageState::Interrupted);
  qint64 longAgo = 0, atLast = 0;
  for (const QByteArray& line : lines) {
    if (!line.startsWith("shown ")) continue;
    const QByteArrayList words = line.split(' ');
    atLast = words[2].toLongLong();
    if (words[1].toLongLong() < killedMs - 1000) longAgo = atLast;
  }
  qInfo("killed with %lld characters shown, %lld of them a second before; %lld are kept", atLast, longAgo,
        qint64(cut.text.size()));
  QVERIFY(cut.text.size() >= longAgo);
}

void WindowCrashTest::killedWhileAnsweringItKeepsAllButTheLastSecond() {
  const QString home = m_folder.filePath("killed");
  QDir().mkpath(home + "/config/tessera");
  {
    QSettings settings(home + "/config/tessera/tessera.ini", QSettings::IniFormat);
    settings.setValue("model/kv_blocks", 2048);
  }
  qsizetype numTurns = 0;
  for (const int ms : {0, 150, 900, 2600, 4300}) {
    QProcess child;
    startIn(child, home, QCoreApplication::applicationFilePath(), {"--window", "answer", m_model});
    QByteArrayList lines;
    QVERIFY2(waitForLine(child, "told", lines), child.readAllStandardError().constData());
    // what was kept of the last run is shown: the question, and the answer marked as interrupted
    QCOMPARE(lines.size(), 4 * numTurns + 1);
    if (numTurns > 0) {
      QVERIFY(lines[4 * numTurns - 1].startsWith("found " + QByteArray::number(int(MessageState::Interrupted)) + " 1"));
    }
    QVERIFY2(waitForLine(child, "shown", lines), child.readAllStandardError().constData());
    QTest::qWait(ms);
    const qint64 killedMs = nowMs();
    ::kill(pid_t(child.processId()), SIGKILL);
    QVERIFY(child.waitForFinished(10'000));
    while (child.canReadLine()) lines.append(child.readLine().trimmed());
    checkAfterKill(home, killedMs, lines, ++numTurns);
    if (QTest::currentTestFailed()) return;
  }
}

void WindowCrashTest::toldToEndItKeepsWhatIsBeingTyped() {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    const QString home = m_folder.filePath(QString("told%1").arg(signal));
    QProcess child;
    startIn(child, home, QCoreApplication::applicationFilePath(), {"--window", "draft", m_model});
    QByteArrayList lines;
    QVERIFY2(waitForLine(child, "typed", lines), child.readAllStandardError().constData());
    ::kill(pid_t(child.processId()), signal);
    QVERIFY(child.waitForFinished(30'000));
    QCOMPARE(child.exitStatus(), QProcess::NormalExit);
    QCOMPARE(child.exitCode(), 0);
    ChatStore store(home + "/data/tessera/chats.sqlite");
    QCOMPARE(store.chats().front().draft, QString("half a thought"));
  }
}

void WindowCrashTest::theProgramStartsWhereItCannotWrite() {
  const QString program = qEnvironmentVariable("TESSERA_BINARY_DIR") + "/tessera";
  if (!QFile::exists(program)) QSKIP("needs the program: $TESSERA_BINARY_DIR/tessera");
  QFile blocker(m_folder.filePath("file"));  // no folder can be made in a file, whatever one's rights
  QVERIFY(blocker.open(QIODevice::WriteOnly));
  for (const QStringList& arguments : {QStringList{"--offscreen"}, QStringList{"--offscreen", m_model},
                                       QStringList{"--offscreen", m_folder.filePath("missing.gguf")}}) {
    QProcess child;
    startIn(child, m_folder.filePath("file/home"), program, arguments);
    QVERIFY(child.waitForStarted(10'000));
    QVERIFY2(!child.waitForFinished(3000), child.readAllStandardError().constData());  // it lives
    ::kill(pid_t(child.processId()), SIGTERM);
    QVERIFY(child.waitForFinished(30'000));
    QCOMPARE(child.exitStatus(), QProcess::NormalExit);
    QCOMPARE(child.exitCode(), 0);
  }
}

int main(int argc, char** argv) {
  QApplication app(argc, argv);
  QApplication::setApplicationName(QStringLiteral("tessera"));
  if (argc == 4 && QByteArray(argv[1]) == "--window") {
    return runWindow(app, QString::fromLocal8Bit(argv[2]), QString::fromLocal8Bit(argv[3]));
  }
  WindowCrashTest test;
  return QTest::qExec(&test, argc, argv);
}

#include "tst_window_crash.moc"
