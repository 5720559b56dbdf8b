// bench: figures of real steps, none made up.
#include <QtTest/QtTest>

#include <set>

#include "app/cli/bench_case.h"
#include "app/cli/median.h"
#include "kernels/core/ops.h"
#include "tests/support/cli_runner.h"
#include "tests/support/tiny_model.h"

using app::cli::BenchCase;
using app::cli::BenchSample;
using engine::IterationRecord;
using nlohmann::json;
using test_support::CliOutcome;
using test_support::runCli;
using Strings = std::vector<std::string>;

namespace {

constexpr std::int64_t kMs = 1'000'000;

IterationRecord iteration(std::int64_t beginMs, std::int64_t endMs, int prefill, int decode) {
  IterationRecord record{};
  record.t0Ns = beginMs * kMs;
  record.t1Ns = endMs * kMs;
  record.prefillTokens = static_cast<std::uint32_t>(prefill);
  record.decodeTokens = static_cast<std::uint32_t>(decode);
  record.bytes = 1000.0 * decode;
  record.linearOps = 5000.0 * prefill;
  record.linearNs = static_cast<std::uint32_t>((endMs - beginMs) * kMs / 2);
  return record;
}

bool isNear(std::optional<double> value, double expected) {
  return value && std::abs(*value - expected) < 1e-9 * std::abs(expected);
}

}  // namespace

class TestCliBench : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void onlyStepsWithAllUsersCountAsDecoding();
  void whatDidNotHappenHasNoFigure();
  void theMedianIsTheMiddle();
  void eachBatchAndDepthHasARow();
  void figuresAreThoseOfRealSteps();
  void floatsHaveNoInt8Peak();
  void theTextIsATable();
  void theSchedulerAloneNeedsNoModel();
  void aPoolThatIsTooSmallSaysSo();
  void aContextThatIsTooShortSaysSo();
  void wrongUsageExitsTwo_data();
  void wrongUsageExitsTwo();
  void ctrlCGivesTheRowsSoFar();

 private:
  Strings with(const QString& words) const {
    Strings all = {"bench", "--model", m_model};
    for (const QString& word : words.split(' ', Qt::SkipEmptyParts)) {
      all.push_back(word.toStdString());
    }
    return all;
  }

  QTemporaryDir m_folder;
  std::string m_model;
};

void TestCliBench::initTestCase() {
  test_support::TinyModelSpec spec;
  spec.context = 512;
  m_model = (m_folder.path() + "/tiny.gguf").toStdString();
  test_support::writeTinyModel(test_support::withType(spec, kernels::DType::Q4_1), m_model);
}

void TestCliBench::onlyStepsWithAllUsersCountAsDecoding() {
  BenchCase two;
  two.batch = 2;
  two.genTokens = 2;
  const std::vector<IterationRecord> run = {
      iteration(10, 30, 40, 0),  // the first user's prompt
      iteration(30, 60, 39, 1),  // the second's, while the first decodes
      iteration(61, 70, 0, 2),  iteration(70, 76, 0, 2),
      iteration(76, 99, 0, 2),  // beyond what was asked
      iteration(99, 100, 0, 1)};
  const BenchSample sample = sampleOf(run, two);
  QVERIFY(isNear(sample.prefillTps, 79 / 0.050));
  QVERIFY(isNear(sample.linearOpsPerSecond, 79 * 5000 / 0.025));
  QVERIFY(isNear(sample.decodeTps, 4 / 0.016));  // the millisecond between steps counts
  QVERIFY(isNear(sample.stepMs, 8.0));
  QVERIFY(isNear(sample.bytesPerStep, 2000));
  QVERIFY(isNear(sample.bytesPerSecond, 4000 / 0.016));
}

void TestCliBench::whatDidNotHappenHasNoFigure() {
  const BenchSample nothing = sampleOf({}, BenchCase{});
  QVERIFY(!nothing.prefillTps && !nothing.decodeTps && !nothing.stepMs && !nothing.bytesPerStep &&
          !nothing.bytesPerSecond && !nothing.linearOpsPerSecond);
  BenchCase three;
  three.batch = 3;
  const BenchSample never = sampleOf({iteration(0, 5, 9, 0), iteration(5, 9, 0, 2)}, three);
  QVERIFY(never.prefillTps && !never.decodeTps && !never.stepMs);
}

void TestCliBench::theMedianIsTheMiddle() {
  QVERIFY(!app::cli::medianOf({}));
  QCOMPARE(*app::cli::medianOf({3, 1, 2}), 2.0);
  QCOMPARE(*app::cli::medianOf({4, 1, 2, 3}), 2.5);
}

void TestCliBench::eachBatchAndDepthHasARow() {
  const CliOutcome outcome = runCli(with(
      "--json --prompt-tokens 20 --gen-tokens 5 --batch 1,3 --depth 0,40 --repeats 2 --threads 1"));
  QVERIFY2(outcome.exitCode == 0, outcome.err.c_str());
  const json document = outcome.json();
  QCOMPARE(document.size(), std::size_t{5});
  QVERIFY(document["isa"].is_string());
  QCOMPARE(document["threads"], json(1));
  QCOMPARE(document["prompt_tokens"], json(20));
  QCOMPARE(document["gen_tokens"], json(5));
  std::set<std::pair<int, int>> places;
  for (const json& row : document["rows"]) {
    places.emplace(row["batch"].get<int>(), row["depth"].get<int>());
    QCOMPARE(row.size(), std::size_t{8});
    for (const char* key :
         {"prefill_tps", "decode_tps", "step_ms_p50", "bytes_per_step", "bandwidth_fraction"}) {
      QVERIFY2(row[key].get<double>() > 0.0, key);
    }
    QVERIFY(row.contains("peak_fraction"));
  }
  QCOMPARE(places, (std::set<std::pair<int, int>>{{1, 0}, {3, 0}, {1, 40}, {3, 40}}));
}

void TestCliBench::figuresAreThoseOfRealSteps() {
  const CliOutcome outcome = runCli(with(
      "--json --prompt-tokens 30 --gen-tokens 40 --batch 4 --depth 0,320 --repeats 1 --threads 1"));
  QVERIFY2(outcome.exitCode == 0, outcome.err.c_str());
  const json rows = outcome.json()["rows"];
  for (const json& row : rows) {
    // mean and median of the same steps, on a machine that others use too
    const double users = row["decode_tps"].get<double>() * row["step_ms_p50"].get<double>() / 1e3;
    QVERIFY2(users > 0.4 && users < 12, qPrintable(QString::number(users)));
  }
  // 320 more positions of 2 layers, 2 heads of 16 in K and V, bf16, read for 4 users
  const double more =
      rows[1]["bytes_per_step"].get<double>() - rows[0]["bytes_per_step"].get<double>();
  const double perPosition = 2 * 2 * 16 * 2 * 2;
  QCOMPARE(more, 4 * 320 * perPosition);
}

void TestCliBench::floatsHaveNoInt8Peak() {
  const QString arguments = "--json --prompt-tokens 20 --gen-tokens 3 --batch 1 --repeats 1 --isa ";
  const json plain = runCli(with(arguments + "reference")).json();
  QCOMPARE(plain["isa"], json("reference"));
  QVERIFY(plain["rows"][0]["peak_fraction"].is_null());
  if (kernels::cpu::supportedIsas().empty()) QSKIP("this processor has none of our vector kernels");
  const json fast = runCli(with(arguments + "auto")).json();
  const double share = fast["rows"][0]["peak_fraction"].get<double>();
  QVERIFY(share > 0.0 && share < 1.0);
}

void TestCliBench::theTextIsATable() {
  const CliOutcome outcome =
      runCli(with("--prompt-tokens 9 --gen-tokens 3 --batch 1,2 --repeats 1"));
  QCOMPARE(outcome.exitCode, 0);
  const QString text = QString::fromStdString(outcome.out);
  QCOMPARE(text.count('\n'), 4);  // the model, the heads, two rows
  QVERIFY(text.contains("decode tok/s"));
}

void TestCliBench::theSchedulerAloneNeedsNoModel() {
  Strings words = {"bench", "--scheduler", "--json", "--model", "/no/such/file"};
  words.insert(words.end(), {"--batch", "2,30", "--prompt-tokens", "20", "--gen-tokens", "12",
                             "--depth", "0,7", "--repeats", "1"});
  const CliOutcome outcome = runCli(words);
  QVERIFY2(outcome.exitCode == 0, outcome.err.c_str());
  const json document = outcome.json();
  QCOMPARE(document["rows"].size(), std::size_t{4});
  for (const json& row : document["rows"]) {
    QVERIFY(row["schedule_us_p50"].get<double>() > 0);
    QVERIFY(row["schedule_us_p95"].get<double>() >= row["schedule_us_p50"].get<double>());
  }
  QCOMPARE(document["lookup_tokens"], json(32768));
  QVERIFY(document["lookup_us"].get<double>() > 0);
  words.insert(words.end(), {"--kv-blocks", "40"});
  const CliOutcome small = runCli(words);
  QVERIFY2(small.isCleanFailure(1), small.err.c_str());
  QVERIFY2(small.err.find("pool is too small for 30 users") != std::string::npos, small.err.c_str());
}

void TestCliBench::aPoolThatIsTooSmallSaysSo() {
  const CliOutcome outcome = runCli(
      with("--json --prompt-tokens 60 --gen-tokens 60 --batch 4 --repeats 1 --kv-blocks 20"));
  QVERIFY2(outcome.isCleanFailure(1), outcome.err.c_str());
  QVERIFY2(outcome.err.find("pool") != std::string::npos, outcome.err.c_str());
}

void TestCliBench::aContextThatIsTooShortSaysSo() {
  const CliOutcome outcome = runCli(with("--prompt-tokens 500 --gen-tokens 20 --batch 1"));
  QVERIFY2(outcome.isCleanFailure(1), outcome.err.c_str());
  QVERIFY2(outcome.err.find("512") != std::string::npos, outcome.err.c_str());
  QVERIFY2(outcome.err.find("521") != std::string::npos, outcome.err.c_str());
}

void TestCliBench::wrongUsageExitsTwo_data() {
  QTest::addColumn<QString>("arguments");
  QTest::addColumn<QString>("names");
  const auto row = [](const char* arguments, const char* names) {
    QTest::addRow("%s", arguments) << arguments << names;
  };
  row("--batch 0", "--batch");
  row("--batch 1,x", "--batch");
  row("--batch 1,,2", "--batch");
  row("--batch 600", "--max-batched-tokens");
  row("--depth -1", "--depth");
  row("--depth 16 --prefix-cache off", "--prefix-cache");
  row("--prompt-tokens 0", "--prompt-tokens");
  row("--gen-tokens 0", "--gen-tokens");
  row("--repeats 0", "--repeats");
  row("--threads -1", "--threads");
  row("--speculate ngram", "--speculate");
  row("--temperature 1", "--temperature");
}

void TestCliBench::wrongUsageExitsTwo() {
  QFETCH(QString, arguments);
  QFETCH(QString, names);
  const CliOutcome outcome = runCli(with(arguments));
  QVERIFY2(outcome.isCleanFailure(2), outcome.err.c_str());
  QVERIFY2(outcome.err.find(names.toStdString()) != std::string::npos, outcome.err.c_str());
}

void TestCliBench::ctrlCGivesTheRowsSoFar() {
  const CliOutcome outcome = test_support::runCliAndCancel(
      with("--json --prompt-tokens 100 --gen-tokens 300 --batch 8 --repeats 1000"),
      std::chrono::milliseconds(1500));
  QCOMPARE(outcome.exitCode, 130);
  QVERIFY(outcome.json()["rows"].empty());
  QCOMPARE(outcome.json()["cancelled"], json(true));
}

QTEST_GUILESS_MAIN(TestCliBench)
#include "tst_cli_bench.moc"
