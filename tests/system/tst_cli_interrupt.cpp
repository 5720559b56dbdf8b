// Ctrl-C: once asks, again insists; and a writer that takes nothing more is an error.
#include <QtTest/QtTest>

#include <csignal>
#include <ostream>
#include <streambuf>

#include <sys/wait.h>
#include <unistd.h>

#include "app/cli/interrupt.h"
#include "tests/support/cli_runner.h"
#include "tests/support/tiny_model.h"

class TestCliInterrupt : public QObject {
  Q_OBJECT

 private slots:
  void oneCtrlCRaisesTheToken();
  void twoSignalsOfOnePressAreOne();
  void aLaterPressEndsTheProcess();
  void aFullDiskIsAnError();
};

void TestCliInterrupt::oneCtrlCRaisesTheToken() {
  engine::CancelToken cancel;
  const app::cli::ScopedInterrupt interrupt(cancel);
  QVERIFY(!cancel.isCancelled());
  std::raise(SIGINT);
  QVERIFY(cancel.isCancelled());
}

void TestCliInterrupt::twoSignalsOfOnePressAreOne() {
  engine::CancelToken cancel;
  const app::cli::ScopedInterrupt interrupt(cancel);
  std::raise(SIGINT);
  std::raise(SIGINT);  // would end this process
  QVERIFY(cancel.isCancelled());
}

void TestCliInterrupt::aLaterPressEndsTheProcess() {
  const pid_t child = fork();
  if (child == 0) {
    engine::CancelToken cancel;
    const app::cli::ScopedInterrupt interrupt(cancel);
    std::raise(SIGINT);
    usleep(700'000);
    std::raise(SIGINT);
    _exit(0);
  }
  int status = 0;
  QCOMPARE(waitpid(child, &status, 0), child);
  QVERIFY(WIFSIGNALED(status));
  QCOMPARE(WTERMSIG(status), SIGINT);
}

void TestCliInterrupt::aFullDiskIsAnError() {
  QTemporaryDir folder;
  const std::string model = (folder.path() + "/tiny.gguf").toStdString();
  test_support::writeTinyModel({}, model);

  struct FullBuffer : std::streambuf {};  // takes no byte

  for (const bool isJson : {false, true}) {
    FullBuffer buffer;
    std::ostream out(&buffer);
    std::istringstream in;
    std::ostringstream err;
    engine::CancelToken cancel;
    app::cli::CliIo io{in, out, err, cancel};
    std::vector<std::string> arguments = {"generate", "--model",      model,   "--kv-blocks",
                                          "64",       "--prompt",     "he",    "--max-tokens",
                                          "3",        "--logit-bias", "65=100"};
    if (isJson) arguments.push_back("--json");
    QCOMPARE(app::cli::runCli(arguments, io), 1);
    QVERIFY(err.str().find("cannot write") != std::string::npos);
  }
}

QTEST_GUILESS_MAIN(TestCliInterrupt)
#include "tst_cli_interrupt.moc"
