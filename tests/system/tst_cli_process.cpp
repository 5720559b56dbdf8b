// tessera-cli as a process: output that cannot be written, streams that are closed, little memory, hostile
// files.
#include <QtTest/QtTest>

#include <QTemporaryDir>

#include "kernels/core/dtype.h"
#include "tests/engine/model/hostile_gguf.h"
#include "tests/support/cli_process.h"
#include "tests/support/tiny_model.h"

using test_support::CliOutcome;
using test_support::cliProgram;
using test_support::runCliProcess;

namespace {

// Floats would be called slow on standard error.
test_support::TinyModelSpec quantised(const test_support::TinyModelSpec& spec) {
  return test_support::withType(spec, kernels::DType::Q4_1);
}

constexpr const char* kPlainly = "exec \"$0\" \"$@\"";

}  // namespace

class TestCliProcess : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void everyCommandNoticesOutputThatFails_data();
  void everyCommandNoticesOutputThatFails();
  void aReaderThatGoesAwayIsToldInOneSentence();
  void aClosedStreamIsNotTheNextFile();
  void aClosedStandardInputIsSaid();
  void hostileFilesEndInOneSentenceWithLittleMemory();
  void moreThreadsThanTheSystemGivesIsOneSentence();
  void oddInputIsOneSentence_data();
  void oddInputIsOneSentence();
  void aPromptHundredsOfMegabytesLongIsRefused();
  void aTraceBeyondTheLargestFileIsToldAndTheRunGoesOn();
  void aWrongEnvironmentIsWrongUse();

 private:
  QString path(const char* name) const { return m_folder.path() + "/" + name; }

  void write(const char* name, const QByteArray& bytes) const {
    QFile file(path(name));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(bytes);
  }

  QTemporaryDir m_folder;
  QString m_model;
};

void TestCliProcess::initTestCase() {
  if (cliProgram().isEmpty()) QSKIP("needs the program: $TESSERA_BINARY_DIR/tessera-cli");
  test_support::TinyModelSpec spec;
  spec.context = 128;
  m_model = path("tiny.gguf");
  test_support::writeTinyModel(quantised(spec), m_model.toStdString());
  write("conversation.json", R"({"messages":[{"role":"user","content":"he"}]})");
  write("workload.jsonl", "{\"prompt\":\"he\",\"max_tokens\":2}\n");
  write("text.txt", QByteArray("the one in the other on and on ").repeated(20));
  const QStringList traced = {"generate", "--model", m_model,   "--prompt", "he", "--max-tokens",
                              "2",        "--trace", path("run.trace")};
  QCOMPARE(runCliProcess(kPlainly, traced).exitCode, 0);
}

void TestCliProcess::everyCommandNoticesOutputThatFails_data() {
  QTest::addColumn<QStringList>("arguments");
  const auto row = [](const QStringList& arguments) {
    QTest::addRow("%s", qPrintable(arguments.mid(0, 2).join(' '))) << arguments;
  };
  const QString model = m_model, text = path("text.txt");
  row({"--help"});
  row({"--version"});
  row({"generate", "--help"});
  row({"tokenize", "he", "--model", model});
  row({"detokenize", "65", "--model", model});
  row({"template", path("conversation.json"), "--model", model});
  row({"generate", "--prompt", "he", "--max-tokens", "3", "--logit-bias", "65=100", "--model", model});
  row({"generate", "--chat", "he", "--max-tokens", "3", "--logit-bias", "65=100", "--model", model, "--json"});
  row({"run", "--workload", path("workload.jsonl"), "--model", model});
  row({"score", text, "--model", model, "--max-context", "128"});
  row({"perplexity", text, "--context", "16", "--model", model});
  row({"divergence", text, "--context", "16", "--kv-dtype", "f16", "--model", model});
  row({"bench", "--prompt-tokens", "8", "--gen-tokens", "2", "--batch", "1", "--repeats", "1", "--model", model});
  row({"inspect", model});
  row({"replay", path("run.trace")});
  row({"export", path("run.trace"), "--format", "csv"});
}

void TestCliProcess::everyCommandNoticesOutputThatFails() {
  QFETCH(QStringList, arguments);
  if (arguments.first() == "score") arguments[1] = path("conversation.json");  // fits the context
  const CliOutcome fine = runCliProcess(kPlainly, arguments);
  QVERIFY2(fine.exitCode == 0 && !fine.out.empty(), fine.err.c_str());
  for (const char* shell : {"exec \"$0\" \"$@\" >/dev/full", "exec \"$0\" \"$@\" >&-"}) {
    const CliOutcome outcome = runCliProcess(shell, arguments);
    QVERIFY2(outcome.isCleanFailure(1), outcome.err.c_str());
    QCOMPARE(outcome.err, std::string("tessera-cli: cannot write to standard output\n"));
  }
}

void TestCliProcess::aReaderThatGoesAwayIsToldInOneSentence() {
  // the answer would go on for a long time
  const QString model = path("long.gguf");
  test_support::TinyModelSpec spec;
  spec.context = 1 << 16;
  test_support::writeTinyModel(quantised(spec), model.toStdString());
  const CliOutcome outcome = runCliProcess(
      "{ \"$0\" \"$@\"; echo $? >&2; } | head -c 1 >/dev/null",
      {"generate", "--prompt", "he", "--max-tokens", "60000", "--ignore-eos", "--logit-bias", "65=100", "--model",
       model});
  QCOMPARE(outcome.err, std::string("tessera-cli: cannot write to standard output\n1\n"));
}

void TestCliProcess::aClosedStreamIsNotTheNextFile() {
  // the first file opened would get the closed stream's number, and the text with it
  const QString trace = path("closed.trace");
  const CliOutcome outcome = runCliProcess("exec \"$0\" \"$@\" >&- <&-",
                                           {"generate", "--prompt", "he", "--max-tokens", "2", "--logit-bias",
                                            "65=100", "--json", "--model", m_model, "--trace", trace});
  QCOMPARE(outcome.exitCode, 1);
  const CliOutcome replay = runCliProcess(kPlainly, {"replay", trace, "--json"});
  QCOMPARE(replay.exitCode, 0);
  QCOMPARE(replay.json()["whole"], nlohmann::json(true));
}

void TestCliProcess::aClosedStandardInputIsSaid() {
  for (const QStringList& arguments :
       {QStringList{"tokenize", "-"}, QStringList{"generate", "--prompt", "-"}, QStringList{"score", "-"},
        QStringList{"run", "--workload", "-"}, QStringList{"template", "-"}}) {
    const CliOutcome outcome = runCliProcess("exec \"$0\" \"$@\" <&-", arguments + QStringList{"--model", m_model});
    QVERIFY2(outcome.isCleanFailure(1), outcome.err.c_str());
    QVERIFY2(outcome.err.find("cannot read standard input") != std::string::npos, outcome.err.c_str());
  }
}

// H07: every file made from nothing that the file's own test refuses, through whole commands.
void TestCliProcess::hostileFilesEndInOneSentenceWithLittleMemory() {
  std::vector<hostile_gguf::Case> cases = hostile_gguf::headerCases();
  for (const auto& more : {hostile_gguf::metadataCases(), hostile_gguf::tensorCases()}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  QVERIFY(cases.size() > 50);
  int number = 0;
  for (const auto& one : cases) {
    write("hostile.gguf", QByteArray::fromStdString(one.bytes));
    const QStringList all[] = {{"inspect", path("hostile.gguf")},
                               {"tokenize", "he", "--model", path("hostile.gguf")},
                               {"generate", "--prompt", "he", "--model", path("hostile.gguf")}};
    // 100 MB beyond what the program itself maps; the clock is the process's own
    const CliOutcome outcome =
        runCliProcess("ulimit -v 400000; ulimit -t 5; exec \"$0\" \"$@\"", all[number++ % 3]);
    QVERIFY2(outcome.isCleanFailure(1), qPrintable(QString("%1: %2 %3").arg(one.name).arg(outcome.exitCode)
                                                       .arg(QString::fromStdString(outcome.err))));
    QVERIFY2(outcome.err.find("hostile.gguf") != std::string::npos, outcome.err.c_str());
  }
}

void TestCliProcess::moreThreadsThanTheSystemGivesIsOneSentence() {
  for (const char* isa : {"auto", "reference"}) {
    const CliOutcome outcome = runCliProcess(
        "ulimit -v 2000000; exec \"$0\" \"$@\"", {"generate", "--prompt", "he", "--max-tokens", "2", "--threads",
                                                  "1024", "--kv-blocks", "16", "--model", m_model, "--isa", isa});
    QVERIFY2(outcome.exitCode == 0 || outcome.isCleanFailure(1), outcome.err.c_str());
  }
}

void TestCliProcess::oddInputIsOneSentence_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<QByteArray>("input");
  QTest::addColumn<int>("code");
  QTest::addColumn<QByteArray>("says");
  const auto row = [](const char* name, const QStringList& arguments, int code, const char* says,
                      const QByteArray& input = {}) {
    QTest::newRow(name) << arguments << input << code << QByteArray(says);
  };
  const QString folder = m_folder.path();
  const QStringList model = {"--model", m_model};
  row("no command", {}, 2, "name a command");
  row("an empty command", {""}, 2, "there is no command");
  row("a command of control characters", {"a\n\x1b[31mb"}, 2, "there is no command");
  row("bytes that are no ids", QStringList{"detokenize", "-"} + model, 2, "is no token id", QByteArray("\x1b[31m\x07", 6));
  row("a folder as text", QStringList{"score", folder} + model, 1, "directory");
  row("a folder as model", {"inspect", folder}, 1, "folder");
  row("a folder as trace", {"replay", folder}, 1, "not a regular file");
  row("a device as trace", {"export", "/dev/zero", "--format", "csv"}, 1, "not a regular file");
  row("an endless text", QStringList{"perplexity", "/dev/zero"} + model, 1, "268435456");
  row("an endless workload", QStringList{"run", "--workload", "/dev/zero"} + model, 1, "268435456");
  row("an endless template", QStringList{"generate", "--chat", "he", "--template", "/dev/zero"} + model, 1, "268435456");
  row("an empty template", QStringList{"generate", "--chat", "he", "--template", "/dev/null"} + model, 1, "is empty");
  row("an empty text", QStringList{"score", "/dev/null"} + model, 1, "0 tokens");
  row("bytes that are no text", QStringList{"score", "-"} + model, 1, "byte 2", QByteArray("ab\xff"));
  row("a full-width digit", QStringList{"generate", "--prompt", "he", "--seed", QString::fromUtf8("１")} + model, 2, "--seed");
  row("a long dash", QStringList{"generate", "--prompt", "he", QString::fromUtf8("–seed"), "1"} + model, 2, "not expected");
  row("the last of two counts", QStringList{"generate", "--prompt", "he", "--seed", "1", "--seed", "x"} + model, 2, "--seed is x");
  row("a huge pool", QStringList{"generate", "--prompt", "he", "--kv-memory", "8589934591G"} + model, 1, "memory");
  row("a base that is a folder", QStringList{"divergence", path("text.txt"), "--context", "16", "--write-base", folder} + model, 1, "cannot write");
  row("a trace on a full disk", QStringList{"generate", "--prompt", "he", "--trace", "/dev/full"} + model, 1, "/dev/full");
}

void TestCliProcess::oddInputIsOneSentence() {
  QFETCH(QStringList, arguments);
  QFETCH(QByteArray, input);
  QFETCH(int, code);
  QFETCH(QByteArray, says);
  const CliOutcome outcome = runCliProcess(kPlainly, arguments, input);
  QVERIFY2(outcome.isCleanFailure(code), qPrintable(QString("%1: %2").arg(outcome.exitCode)
                                                         .arg(QString::fromStdString(outcome.err))));
  QVERIFY2(outcome.err.find(says.constData()) != std::string::npos, outcome.err.c_str());
  QVERIFY2(outcome.err.find('\x1b') == std::string::npos, "a terminal would obey it");
  QVERIFY(outcome.err.size() < 500);
}

void TestCliProcess::aPromptHundredsOfMegabytesLongIsRefused() {
  const CliOutcome outcome = runCliProcess("head -c 300000000 /dev/zero | \"$0\" \"$@\"",
                                           {"generate", "--prompt", "-", "--model", m_model});
  QVERIFY2(outcome.isCleanFailure(1), outcome.err.c_str());
  QVERIFY2(outcome.err.find("268435456") != std::string::npos, outcome.err.c_str());
}

void TestCliProcess::aTraceBeyondTheLargestFileIsToldAndTheRunGoesOn() {
  const QStringList run = {"run",     "--workload", path("workload.jsonl"), "--model", m_model, "--json",
                           "--trace", path("small.trace")};
  const CliOutcome whole = runCliProcess(kPlainly, run);
  QCOMPARE(whole.exitCode, 0);
  QFile::remove(path("small.trace"));
  const CliOutcome outcome = runCliProcess("ulimit -f 2; exec \"$0\" \"$@\"", run);
  QVERIFY2(outcome.exitCode == 0, outcome.err.c_str());
  QCOMPARE(outcome.json()["requests"][0]["ids"], whole.json()["requests"][0]["ids"]);
  QCOMPARE(outcome.err, "tessera-cli: the trace file " + path("small.trace").toStdString() +
                            " cannot be written any further: File too large; the recording ends there\n");
  QVERIFY(QFileInfo(path("small.trace")).size() <= 2048);
}

void TestCliProcess::aWrongEnvironmentIsWrongUse() {
  const QStringList generate = {"generate", "--prompt", "he", "--max-tokens", "2", "--model", m_model};
  for (const char* setting : {"TESSERA_ISA=foo", "TESSERA_PACKED_CACHE=rel/dir"}) {
    const CliOutcome outcome = runCliProcess(QString("%1 exec \"$0\" \"$@\"").arg(setting), generate);
    QVERIFY2(outcome.isCleanFailure(2), outcome.err.c_str());
  }
}

QTEST_GUILESS_MAIN(TestCliProcess)
#include "tst_cli_process.moc"
