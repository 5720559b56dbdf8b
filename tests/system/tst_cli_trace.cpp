// replay and export: recorded runs told and turned into other files, and what cannot be read.
#include <QtTest>

#include "engine/trace/trace_record.h"
#include "tests/support/cli_runner.h"
#include "tests/support/recorded_run.h"

using nlohmann::json;
using test_support::CliOutcome;
using test_support::runCli;

class TestCliTrace : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void replayTellsWhatHappened();
  void replayWithoutJsonIsForPeople();
  void aCutFileIsToldUpToThereWithAWarning();
  void exportWritesChromeJson();
  void exportWritesTwoTables();
  void whatCannotBeReadExitsOne();
  void wrongUsageExitsTwo();
  void answersOfOneRequestAreKeptApart();

 private:
  QTemporaryDir m_folder;
  std::string m_path;
  std::map<engine::RequestId, test_support::ClientRequest> m_live;
};

void TestCliTrace::initTestCase() {
  m_path = m_folder.filePath(QStringLiteral("run.trace")).toStdString();
  test_support::RecordedRun run(m_path);
  QVERIFY(run.play(/*kvBlocks=*/24));
  m_live = run.client.requests();
}

void TestCliTrace::replayTellsWhatHappened() {
  const CliOutcome outcome = runCli({"replay", m_path, "--json"});
  QCOMPARE(outcome.exitCode, 0);
  QVERIFY2(outcome.err.empty(), outcome.err.c_str());
  const json document = outcome.json();
  QCOMPARE(document["version"], json(engine::trace::kTraceVersion));
  QCOMPARE(document["whole"], json(true));
  QVERIFY(document["steps"].get<int>() > 10);
  QCOMPARE(document["requests"].size(), m_live.size());
  QCOMPARE(document["ends"]["refused"], json(1));
  std::size_t tokens = 0;
  for (const json& request : document["requests"]) {
    const auto& live = m_live.at(engine::RequestId(request["id"].get<std::uint64_t>()));
    QCOMPARE(request["ids"], json(live.ids));
    QCOMPARE(request["finish_reason"], json(finishReasonName(live.finished.reason)));
    tokens += live.ids.size();
  }
  QCOMPARE(document["generated_tokens"], json(tokens));
}

void TestCliTrace::replayWithoutJsonIsForPeople() {
  const CliOutcome outcome = runCli({"replay", m_path});
  QCOMPARE(outcome.exitCode, 0);
  QVERIFY2(outcome.out.find("requests      7") != std::string::npos, outcome.out.c_str());
}

void TestCliTrace::aCutFileIsToldUpToThereWithAWarning() {
  QFile whole(QString::fromStdString(m_path));
  QVERIFY(whole.open(QIODevice::ReadOnly));
  QFile cut(m_folder.filePath(QStringLiteral("cut.trace")));
  QVERIFY(cut.open(QIODevice::WriteOnly));
  cut.write(whole.read(whole.size() * 2 / 3));
  cut.close();
  const CliOutcome outcome = runCli({"replay", cut.fileName().toStdString(), "--json"});
  QCOMPARE(outcome.exitCode, 0);
  QCOMPARE(outcome.json()["whole"], json(false));
  QVERIFY(outcome.err.find("up to there") != std::string::npos);
}

void TestCliTrace::exportWritesChromeJson() {
  const CliOutcome outcome = runCli({"export", m_path, "--format", "chrome"});
  QCOMPARE(outcome.exitCode, 0);
  QVERIFY(outcome.json()["traceEvents"].size() > 100);
}

void TestCliTrace::exportWritesTwoTables() {
  const CliOutcome outcome = runCli({"export", m_path, "--format", "csv"});
  QCOMPARE(outcome.exitCode, 0);
  QVERIFY(outcome.out.starts_with("iteration,"));
  QVERIFY(outcome.out.find("\n\nrequest,label,") != std::string::npos);
}

void TestCliTrace::whatCannotBeReadExitsOne() {
  QFile foreign(m_folder.filePath(QStringLiteral("foreign.trace")));
  QVERIFY(foreign.open(QIODevice::WriteOnly));
  foreign.write("GGUF and so on");
  foreign.close();
  for (const std::string& file : {foreign.fileName().toStdString(), m_path + ".not-there"}) {
    QVERIFY(runCli({"replay", file}).isCleanFailure(1));
    QVERIFY(runCli({"export", file, "--format", "csv"}).isCleanFailure(1));
  }
}

void TestCliTrace::wrongUsageExitsTwo() {
  QVERIFY(runCli({"export", m_path}).isCleanFailure(2));
  QVERIFY(runCli({"export", m_path, "--format", "pdf"}).isCleanFailure(2));
  QVERIFY(runCli({"replay"}).isCleanFailure(2));
  QVERIFY(runCli({"replay", m_path, "--fast"}).isCleanFailure(2));
}

void TestCliTrace::answersOfOneRequestAreKeptApart() {
  const std::string path = m_folder.filePath(QStringLiteral("two.trace")).toStdString();
  test_support::ClientRequest live;
  {
    test_support::RecordedRun run(path);
    engine::EngineConfig config;
    config.load.modelPath = "toy";
    QVERIFY(run.client.load(config));
    engine::SamplingParams two = test_support::seeded(9, 3);
    two.n = 2;
    const engine::RequestId id = run.client.submit("two answers to this", two);
    QVERIFY(run.client.waitForAll());
    live = run.client.request(id);
  }
  QCOMPARE(live.others.size(), std::size_t{1});
  QVERIFY(live.text != live.others[0].text);
  const json document = runCli({"replay", path, "--json"}).json();
  QCOMPARE(document["requests"].size(), std::size_t{1});
  QVERIFY(!document["ends"].contains("open"));
  const json& request = document["requests"][0];
  QCOMPARE(request["text"], json(live.text));
  QCOMPARE(request["completion_tokens"], json(live.ids.size() + live.others[0].ids.size()));
  QCOMPARE(request["choices"].size(), std::size_t{2});
  QCOMPARE(request["choices"][0]["text"], json(live.text));
  QCOMPARE(request["choices"][1]["text"], json(live.others[0].text));
  QCOMPARE(request["choices"][1]["ids"], json(live.others[0].ids));
  QCOMPARE(request["choices"][1]["finish_reason"], json(finishReasonName(live.finished.choices[1].reason)));
  QVERIFY(runCli({"replay", path}).out.find("requests      1, 1 ") != std::string::npos);
}

QTEST_GUILESS_MAIN(TestCliTrace)
#include "tst_cli_trace.moc"
