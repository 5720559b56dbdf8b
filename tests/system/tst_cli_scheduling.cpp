// The scheduling knobs of the command line through the real engine: each does what its name says,
// shows it in the engine's figures, and changes no answer.
#include <QtTest/QtTest>
#include <algorithm>
#include <stdexcept>

#include "tests/support/cli_runner.h"
#include "tests/support/mixed_workload.h"
#include "tests/support/tiny_model.h"

using nlohmann::json;
using test_support::answersOf;
using test_support::CliOutcome;
using test_support::mixedWorkload;
using test_support::runCli;
using Strings = std::vector<std::string>;

class TestCliScheduling : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void noKnobChangesAnAnswer_data();
  void noKnobChangesAnAnswer();
  void aStaticBatchHoldsItsAnswersAndCountsItsWaste();
  void theNaivePresetServesOneAtATime();
  void explicitFlagsBeatThePreset();
  void contiguousMemoryWastesMore();
  void swappingIsCounted();
  void aPoolTooSmallRefusesWithBothNumbers();
  void anSloThatCannotBeKeptIsRefusedWithTheReason();

 private:
  json documentOf(const Strings& arguments, const std::string& workload) const {
    Strings all = {"run", "--json", "--model", m_model, "--workload", "-", "--as-fast-as-possible"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const CliOutcome outcome = runCli(all, workload);
    if (outcome.exitCode != 0) throw std::runtime_error(outcome.err);
    return outcome.json();
  }

  QTemporaryDir m_folder;
  std::string m_model, m_workload = mixedWorkload(70, 24);
  json m_plain;
};

void TestCliScheduling::initTestCase() {
  test_support::TinyModelSpec spec;
  spec.context = 256;
  m_model = m_folder.filePath("tiny.gguf").toStdString();
  test_support::writeTinyModel(test_support::withType(spec, kernels::DType::Q4_1), m_model);
  m_plain = documentOf({"--kv-blocks", "256"}, m_workload);
}

void TestCliScheduling::noKnobChangesAnAnswer_data() {
  QTest::addColumn<QString>("knobs");
  for (const char* knobs :
       {"--batching static --max-batch 3", "--batching dynamic --max-batch 3 --queue-delay-ms 5",
        "--preset naive", "--allocator contiguous", "--kv-cache off",
        "--kv-cache off --max-batched-tokens 33 --allocator contiguous", "--policy priority",
        "--policy slo", "--preemption swap --block-size 8 --kv-blocks 16",
        "--preemption swap --block-size 8 --kv-blocks 16 --swap-memory 4K",
        "--batching static --max-batched-tokens 32 --speculate ngram --speculate-adaptive off"}) {
    QTest::addRow("%s", knobs) << QString(knobs);
  }
}

void TestCliScheduling::noKnobChangesAnAnswer() {
  QFETCH(QString, knobs);
  Strings arguments;
  if (!knobs.contains("--kv-blocks")) arguments = {"--kv-blocks", "256"};
  for (const QString& word : knobs.split(' ')) arguments.push_back(word.toStdString());
  const json document = documentOf(arguments, m_workload);
  QCOMPARE(answersOf(document), answersOf(m_plain));
  QCOMPARE(document["engine"]["leaked_blocks"], json(0));
}

void TestCliScheduling::aStaticBatchHoldsItsAnswersAndCountsItsWaste() {
  const std::string workload = R"({"id":"a","prompt_tokens":10,"max_tokens":2,"ignore_eos":true})"
                               "\n"
                               R"({"id":"b","prompt_tokens":25,"max_tokens":9,"ignore_eos":true})"
                               "\n"
                               R"({"id":"c","prompt_tokens":7,"max_tokens":5,"ignore_eos":true})"
                               "\n";
  const json engine = documentOf({"--batching", "static", "--max-batch", "3"}, workload)["engine"];
  QCOMPARE(engine["padded_tokens"], json(15 + 18));
  QCOMPARE(engine["idle_slot_steps"], json(7 + 4));
  const json document = documentOf({"--batching", "static", "--max-batch", "3"}, workload);
  for (const json& request : document["requests"]) {
    for (const json& gap : request["itl_ms"]) QCOMPARE(gap, json(0.0));  // all at the batch's end
  }
  const json plain = documentOf({}, workload)["engine"];
  QCOMPARE(plain["padded_tokens"], json(0));
  QCOMPARE(plain["idle_slot_steps"], json(0));
}

void TestCliScheduling::theNaivePresetServesOneAtATime() {
  const json document = documentOf({"--preset", "naive", "--kv-blocks", "64"}, m_workload);
  // one sequence's whole context at most
  QCOMPARE(document["engine"]["peak_blocks"], json(256 / 16));
  QVERIFY(document["engine"]["fragmentation"]["internal"].get<double>() > 0.4);
}

void TestCliScheduling::explicitFlagsBeatThePreset() {
  const json document = documentOf(
      {"--allocator", "paged", "--preset", "naive", "--kv-blocks", "64", "--max-seqs", "1"},
      m_workload);
  QVERIFY(document["engine"]["peak_blocks"].get<int>() < 256 / 16);
}

void TestCliScheduling::contiguousMemoryWastesMore() {
  const json paged = documentOf({"--kv-blocks", "256"}, m_workload)["engine"]["fragmentation"];
  const json whole = documentOf({"--kv-blocks", "256", "--allocator", "contiguous"},
                                m_workload)["engine"]["fragmentation"];
  QVERIFY(whole["internal"].get<double>() > 2 * paged["internal"].get<double>());
  QCOMPARE(paged["external"], json(0.0));
  QVERIFY(whole["external"].is_number());
}

void TestCliScheduling::swappingIsCounted() {
  const json engine = documentOf({"--preemption", "swap", "--block-size", "8", "--kv-blocks", "16"},
                                 m_workload)["engine"];
  QVERIFY(engine["swaps"].get<int>() > 0);
  QVERIFY(engine["swaps"] <= engine["preemptions"]);
}

void TestCliScheduling::aPoolTooSmallRefusesWithBothNumbers() {
  const json document = documentOf({"--kv-blocks", "4", "--block-size", "16"}, m_workload);
  int refused = 0;
  for (const json& request : document["requests"]) {
    if (request["finish_reason"] != "refused") continue;
    ++refused;
    QVERIFY(request["reason"].get<std::string>().find("the pool has 4") != std::string::npos);
  }
  QCOMPARE(refused, 2);  // the two long ones
}

void TestCliScheduling::anSloThatCannotBeKeptIsRefusedWithTheReason() {
  std::string workload;
  for (int i = 0; i < 40; ++i) {
    const json row = {{"id", std::to_string(i)},
                      {"prompt_tokens", 120},
                      {"max_tokens", 40},
                      {"ignore_eos", true},
                      {"slo", {{"ttft_ms", i == 0 ? 1e6 : 0.05}}}};
    workload += row.dump() + "\n";
  }
  const json document = documentOf({"--policy", "slo", "--max-seqs", "1"}, workload);
  int refused = 0;
  for (const json& request : document["requests"]) {
    if (request["finish_reason"] != "refused") continue;
    ++refused;
    QVERIFY(request["reason"].get<std::string>().find("first token after") != std::string::npos);
    QVERIFY(request["ids"].empty());
  }
  QVERIFY(refused >= 30);
  QCOMPARE(document["requests"][0]["finish_reason"], json("length"));
}

QTEST_GUILESS_MAIN(TestCliScheduling)
#include "tst_cli_scheduling.moc"
