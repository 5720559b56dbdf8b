// Many requests at once through the real engine give what each would get alone, whatever the knobs:
// equal ids, log-probabilities and logits rows, bit for bit.
#include <QtTest/QtTest>

#include <map>
#include <set>
#include <stdexcept>

#include "kernels/core/ops.h"
#include "tests/support/cli_runner.h"
#include "tests/support/cli_workload.h"
#include "tests/support/mixed_workload.h"
#include "tests/support/tiny_model.h"

using nlohmann::json;
using test_support::answersOf;
using test_support::CliOutcome;
using test_support::mixedWorkload;
using test_support::preemptionsOf;
using test_support::runCli;
using test_support::CliWorkload;
using test_support::lineOf;
using test_support::Strings;
using test_support::operator+;

class TestCliSameAnswers : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void theAnswersDoNotDependOnTheKnobs_data();
  void theAnswersDoNotDependOnTheKnobs();
  void setBackRequestsGiveTheSameAnswer();
  void aRequestAloneGivesTheSameAnswer();
  void speculationGivesTheSameAnswers();
  void speculationIsCounted();
  void theRealModelAnswersAlikeUnderOtherKnobs();

 private:
  json documentOf(const Strings& arguments, const std::string& workload) const {
    return m_rig.documentOf(arguments, workload);
  }

  CliWorkload m_rig;
  std::string m_model = m_rig.model(), m_floats = m_rig.path("floats.gguf");
};

void TestCliSameAnswers::initTestCase() {
  test_support::writeTinyModel(CliWorkload::spec(), m_floats);
}

void TestCliSameAnswers::theAnswersDoNotDependOnTheKnobs_data() {
  QTest::addColumn<QString>("isa");
  QTest::addColumn<bool>("isFloats");
  QTest::addColumn<QString>("kvType");  // empty: the default
  QTest::addColumn<QString>("knobs");
  QStringList isas = {"reference"};
  for (const kernels::cpu::Isa isa : kernels::cpu::supportedIsas()) {
    if (isa == kernels::cpu::Isa::Avx2) isas << "avx2";
    if (isa == kernels::cpu::Isa::Avx512Vnni) isas << "avx512vnni";
    if (isa == kernels::cpu::Isa::AmxBf16) isas << "amx-bf16";
  }
  for (const QString& isa : isas) {
    for (const char* knobs :
         {"--max-batched-tokens 7", "--block-size 4 --kv-blocks 1024", "--block-size 64",
          "--prefill-chunk 5", "--threads 1", "--threads 3", "--max-seqs 1",
          "--max-seqs 3 --prefix-cache off", "--long-prefill-threshold 9",
          "--block-size 8 --kv-blocks 16 --max-batched-tokens 33"}) {
      QTest::addRow("%s %s", qPrintable(isa), knobs) << isa << false << "" << QString(knobs);
    }
    QTest::addRow("%s floats", qPrintable(isa))
        << isa << true << "" << "--max-batched-tokens 9 --threads 2";
    for (const char* kvType : {"f16", "fp8", "int8", "int4"}) {
      for (const char* knobs : {"--block-size 4 --kv-blocks 1024 --prefill-chunk 5 --threads 3",
                                "--block-size 8 --kv-blocks 20 --max-batched-tokens 33"}) {
        QTest::addRow("%s %s %s", qPrintable(isa), kvType, knobs)
            << isa << false << kvType << QString(knobs);
      }
    }
  }
}

void TestCliSameAnswers::theAnswersDoNotDependOnTheKnobs() {
  QFETCH(QString, isa);
  QFETCH(bool, isFloats);
  QFETCH(QString, kvType);
  QFETCH(QString, knobs);
  Strings common = {"--isa", isa.toStdString()};
  if (!kvType.isEmpty()) common = common + Strings{"--kv-dtype", kvType.toStdString()};
  if (isFloats) common = common + Strings{"--model", m_floats};
  const std::string workload = mixedWorkload(70, 24);
  static std::map<QString, json> plain;
  json& expected = plain[isa + kvType + (isFloats ? " floats" : "")];
  if (expected.is_null()) expected = answersOf(documentOf(common, workload));
  QCOMPARE(expected.size(), std::size_t{8});
  std::set<std::string> different;
  for (const json& answer : expected) different.insert(answer[2].dump());
  QVERIFY(different.size() >= 6);  // a model that always says the same would prove nothing
  QCOMPARE(answersOf(documentOf(common + lineOf(knobs), workload)), expected);
}

void TestCliSameAnswers::setBackRequestsGiveTheSameAnswer() {
  const std::string workload = mixedWorkload(60, 60);
  const json expected = documentOf({}, workload);
  QCOMPARE(preemptionsOf(expected), 0);
  const json tight = documentOf({"--block-size", "8", "--kv-blocks", "20"}, workload);
  QVERIFY(preemptionsOf(tight) > 0);
  QCOMPARE(tight["engine"]["preemptions"], json(preemptionsOf(tight)));
  QCOMPARE(tight["engine"]["leaked_blocks"], json(0));
  QVERIFY(tight["engine"]["peak_blocks"].get<int>() <= 20);
  QCOMPARE(answersOf(tight), answersOf(expected));
  QCOMPARE(tight["metrics"]["total_output_tokens"], expected["metrics"]["total_output_tokens"]);
}

void TestCliSameAnswers::aRequestAloneGivesTheSameAnswer() {
  const json together = documentOf({}, mixedWorkload(50, 20));
  const CliOutcome alone =
      runCli({"generate", "--json", "--model", m_model, "--kv-blocks", "64", "--prompt",
              "the one in the other", "--max-tokens", "20", "--temperature", "0.8", "--seed", "5",
              "--repetition-penalty", "1.3"});
  QCOMPARE(alone.exitCode, 0);
  QCOMPARE(together["requests"][4]["ids"], alone.json()["ids"]);
  QCOMPARE(together["requests"][4]["logprobs"], alone.json()["logprobs"]);
  QCOMPARE(together["requests"][4]["text"], alone.json()["text"]);
}

void TestCliSameAnswers::speculationGivesTheSameAnswers() {
  const Strings guessing = {"--speculate", "ngram", "--speculate-adaptive", "off"};
  const std::string workload = mixedWorkload(60, 60);
  const json plain = documentOf({}, workload);
  QCOMPARE(plain["speculation"]["passes"], json(0));
  QCOMPARE(plain["speculation"]["drafted"], json(0));
  const json guessed = documentOf(guessing, workload);
  QCOMPARE(answersOf(guessed), answersOf(plain));
  QVERIFY(guessed["speculation"]["passes"].get<int>() > 0);
}

void TestCliSameAnswers::speculationIsCounted() {
  // a model that cannot but repeat itself is easy to guess
  const Strings repeating = {"--speculate", "ngram",        "--speculate-adaptive",
                             "off",         "--logit-bias", "65=100"};
  const json document = documentOf(repeating, "{\"prompt\":\"he\",\"max_tokens\":40}\n");
  QCOMPARE(document["requests"][0]["text"], json(std::string(40, 'A')));
  const json& done = document["speculation"];
  QVERIFY(done["accepted"].get<int>() > 20);
  QVERIFY(done["drafted"].get<int>() >= done["accepted"].get<int>());
  QVERIFY(done["tokens_per_pass"].get<double>() > 1.0);
  int accepted = 0;
  for (const json& count : done["accepted_by_position"]) accepted += count.get<int>();
  QCOMPARE(json(accepted), done["accepted"]);
  QVERIFY(document["requests"][0]["itl_ms"].size() < 39);  // several tokens come at once
}

void TestCliSameAnswers::theRealModelAnswersAlikeUnderOtherKnobs() {
  QString model = qEnvironmentVariable("TESSERA_DEFAULT_MODEL");
  if (model.isEmpty()) {
    model = qEnvironmentVariable("TESSERA_MODELS") + "/SmolLM2-135M-Instruct.Q4_1.gguf";
  }
  if (!QFile::exists(model))
    QSKIP("needs the default model: $TESSERA_DEFAULT_MODEL or $TESSERA_MODELS");
  std::string workload;
  for (const char* prompt :
       {"The capital of France is", "Once upon a time", "def fibonacci(n):", "1 2 3 4"}) {
    workload += json{{"prompt", prompt}, {"max_tokens", 24}, {"ignore_eos", true}}.dump() + "\n";
  }
  const Strings common = {"--model", model.toStdString()};
  const json expected = documentOf(common, workload);
  QCOMPARE(expected["metrics"]["completed"], json(4));
  const json other = documentOf(
      common + lineOf("--max-batched-tokens 3 --block-size 4 --kv-blocks 10 --threads 1"),
      workload);
  QVERIFY(preemptionsOf(other) > 0);
  QCOMPARE(answersOf(other), answersOf(expected));
}

QTEST_GUILESS_MAIN(TestCliSameAnswers)
#include "tst_cli_same_answers.moc"
