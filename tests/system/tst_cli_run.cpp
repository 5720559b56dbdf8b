// run: what it tells of a workload, when it sends what, how it refuses and ends.
#include <QtTest/QtTest>

#include <QElapsedTimer>

#include <set>
#include <stdexcept>

#include "tests/support/cli_runner.h"
#include "tests/support/cli_workload.h"
#include "tests/support/mixed_workload.h"

using nlohmann::json;
using test_support::answersOf;
using test_support::CliOutcome;
using test_support::mixedWorkload;
using test_support::runCli;
using test_support::CliWorkload;
using test_support::lineOf;
using test_support::Strings;
using test_support::operator+;

class TestCliRun : public QObject {
  Q_OBJECT

 private slots:
  void theDocumentHasExactlyItsFields();
  void figuresFollowFromTheRequests();
  void manySeedsGiveManyTexts();
  void refusedLinesStandBesideServedOnes();
  void aBadRowNamesItsNumber_data();
  void aBadRowNamesItsNumber();
  void aWorkloadThatCannotBeReadIsNamed();
  void flagsAreTheDefaultsOfLines();
  void arrivalTimesAreKept();
  void asFastAsPossibleDoesNotWait();
  void drawnWorkloadsComeFromTheSeed();
  void aSharedPrefixIsFoundInTheCache();
  void goodputNeedsTargets();
  void wrongUsageExitsTwo_data();
  void wrongUsageExitsTwo();
  void aRecordedRunReplays();
  void ctrlCGivesTheDocumentSoFar();
  void ctrlCBeforeTheModelIsThereTellsOfEveryLine();
  void aPromptBeyondTheContextIsRefusedWithoutBeingMade();
  void drawnPromptsHaveALimitTogether();

 private:
  CliOutcome run(const Strings& arguments, const std::string& workload) const {
    return m_rig.run(arguments, workload);
  }

  json documentOf(const Strings& arguments, const std::string& workload) const {
    return m_rig.documentOf(arguments, workload);
  }

  std::string path(const char* name) const { return m_rig.path(name); }

  CliWorkload m_rig;
  std::string m_model = m_rig.model();
};

void TestCliRun::theDocumentHasExactlyItsFields() {
  const json document = documentOf({}, mixedWorkload(50, 8));
  const auto keysOf = [](const json& object) {
    std::set<std::string> keys;
    for (const auto& [key, value] : object.items()) keys.insert(key);
    return keys;
  };
  using Keys = std::set<std::string>;
  QCOMPARE(keysOf(document), (Keys{"requests", "engine", "metrics", "speculation"}));
  for (const json& request : document["requests"]) {
    QCOMPARE(keysOf(request),
             (Keys{"id", "prompt_ids", "ids", "text", "logprobs", "row_hashes", "finish_reason",
                   "ttft_ms", "itl_ms", "preemptions", "cached_tokens"}));
  }
  QCOMPARE(keysOf(document["engine"]),
           (Keys{"steps", "preemptions", "swaps", "cow_copies", "peak_blocks", "leaked_blocks",
                 "padded_tokens", "idle_slot_steps", "fragmentation"}));
  QCOMPARE(keysOf(document["engine"]["fragmentation"]), (Keys{"internal", "external"}));
  QCOMPARE(keysOf(document["speculation"]),
           (Keys{"passes", "drafted", "accepted", "accepted_by_position", "drafted_by_position",
                 "tokens_per_pass", "plain_ms_per_token", "speculative_ms_per_token",
                 "saved_ms"}));
  for (const char* key : {"duration",
                          "completed",
                          "total_input_tokens",
                          "total_output_tokens",
                          "request_throughput",
                          "request_goodput",
                          "output_throughput",
                          "total_token_throughput",
                          "mean_ttft_ms",
                          "median_ttft_ms",
                          "std_ttft_ms",
                          "p99_ttft_ms",
                          "mean_tpot_ms",
                          "p99_tpot_ms",
                          "mean_itl_ms",
                          "p99_itl_ms",
                          "mean_e2el_ms",
                          "p99_e2el_ms",
                          "input_lens",
                          "output_lens",
                          "ttfts",
                          "itls",
                          "start_times",
                          "errors"}) {
    QVERIFY2(document["metrics"].contains(key), key);
  }
}

void TestCliRun::figuresFollowFromTheRequests() {
  const json document = documentOf({}, mixedWorkload(50, 8));
  const json& metrics = document["metrics"];
  const json& requests = document["requests"];
  QCOMPARE(metrics["completed"], json(requests.size()));
  std::size_t inputs = 0, outputs = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const json& request = requests[i];
    const std::size_t count = request["ids"].size();
    inputs += request["prompt_ids"].size();
    outputs += count;
    QCOMPARE(request["logprobs"].size(), count);
    QCOMPARE(request["row_hashes"].size(), count);
    QCOMPARE(request["itl_ms"].size(), count - 1);
    QCOMPARE(metrics["output_lens"][i], json(count));
    QCOMPARE(metrics["input_lens"][i], json(request["prompt_ids"].size()));
    QVERIFY(std::abs(metrics["ttfts"][i].get<double>() * 1e3 - request["ttft_ms"].get<double>()) <
            1e-6);
    for (const json& hash : request["row_hashes"]) {
      QCOMPARE(hash.get<std::string>().size(), std::size_t{16});
    }
  }
  QCOMPARE(metrics["total_input_tokens"], json(inputs));
  QCOMPARE(metrics["total_output_tokens"], json(outputs));
  const double seconds = metrics["duration"].get<double>();
  QVERIFY(seconds > 0.0);
  QVERIFY(std::abs(metrics["output_throughput"].get<double>() * seconds -
                   static_cast<double>(outputs)) < 1e-6);
  QVERIFY(document["engine"]["steps"].get<int>() >= 8);
  QVERIFY(document["engine"]["peak_blocks"].get<int>() >= 8);
  QCOMPARE(document["engine"]["leaked_blocks"], json(0));
  const double internal = document["engine"]["fragmentation"]["internal"].get<double>();
  QVERIFY(internal > 0.0 && internal < 1.0);
}

void TestCliRun::manySeedsGiveManyTexts() {
  std::string drawn, greedy;
  for (int seed = 1; seed <= 40; ++seed) {
    json row = {
        {"prompt", "Once upon a time"}, {"max_tokens", 8}, {"seed", seed}, {"ignore_eos", true}};
    greedy += row.dump() + "\n";
    row.update({{"temperature", 1}, {"top_k", 0}, {"top_p", 1}, {"min_p", 0}});
    drawn += row.dump() + "\n";
  }
  const json drawnDocument = documentOf({}, drawn), greedyDocument = documentOf({}, greedy);
  std::set<std::string> drawnIds, greedyIds;
  for (const json& request : drawnDocument["requests"]) {
    drawnIds.insert(request["ids"].dump());
  }
  for (const json& request : greedyDocument["requests"]) {
    greedyIds.insert(request["ids"].dump());
  }
  QVERIFY2(drawnIds.size() >= 10, qPrintable(QString::number(drawnIds.size())));
  QCOMPARE(greedyIds.size(), std::size_t{1});
}

void TestCliRun::refusedLinesStandBesideServedOnes() {
  const std::string workload =
      "{\"id\":\"too long\",\"prompt_tokens\":300,\"max_tokens\":4}\n"
      "{\"id\":\"empty\",\"prompt\":\"\"}\n"
      "{\"id\":\"no such id\",\"prompt_ids\":[99999]}\n"
      "{\"id\":\"two answers\",\"prompt\":\"he\",\"n\":2,\"max_tokens\":4}\n"
      "{\"id\":\"fine\",\"prompt\":\"he\",\"max_tokens\":4,\"ignore_eos\":true}\n";
  const CliOutcome outcome = run({}, workload);
  QCOMPARE(outcome.exitCode, 0);
  const json document = outcome.json();
  for (int i = 0; i < 3; ++i) {
    const json& refused = document["requests"][static_cast<std::size_t>(i)];
    QCOMPARE(refused["finish_reason"], json("refused"));
    QVERIFY(!refused["reason"].get<std::string>().empty());
    QVERIFY(refused["ids"].empty());
    QVERIFY(refused["ttft_ms"].is_null());
  }
  const std::string tooLong = document["requests"][0]["reason"].get<std::string>();
  QVERIFY2(tooLong.find("300") != std::string::npos && tooLong.find("256") != std::string::npos,
           tooLong.c_str());
  QCOMPARE(document["requests"][3]["choices"].size(), std::size_t{2});
  QCOMPARE(document["requests"][4]["ids"].size(), std::size_t{4});
  QVERIFY(!document["requests"][4].contains("reason"));
  QCOMPARE(document["metrics"]["completed"], json(2));
  QCOMPARE(document["metrics"]["failed"], json(3));
  QCOMPARE(document["metrics"]["errors"][4], json(""));
  QCOMPARE(document["metrics"]["errors"][0], json(tooLong));
}

void TestCliRun::aBadRowNamesItsNumber_data() {
  QTest::addColumn<QString>("workload");
  QTest::addColumn<QString>("names");
  const QString good = "{\"prompt\":\"he\"}\n";
  QTest::addRow("not JSON") << good + "{:\n"
                            << "row 2";
  QTest::addRow("out of range") << good + good + "{\"prompt\":\"he\",\"temperature\":3}\n"
                                << "row 3";
  QTest::addRow("no prompt") << QString("{\"max_tokens\":3}\n") << "row 1";
  QTest::addRow("unknown field") << QString("{\"prompt\":\"he\",\"colour\":1}\n") << "colour";
  QTest::addRow("no tokens") << QString("{\"prompt\":\"he\",\"max_tokens\":0}\n") << "max_tokens";
  QTest::addRow("empty") << QString("\n") << "empty";
  const QString named = "{\"id\":\"a\",\"prompt\":\"he\"}\n";
  QTest::addRow("an id twice") << named + good + named << "row 3: \"id\" a is that of row 1";
  QTest::addRow("seed") << QString("{\"prompt\":\"he\",\"seed\":-1}\n") << "18446744073709551615";
  QTest::addRow("huge") << QString("{\"prompt\":\"he\",\"top_k\":9223372036854775808}\n")
                        << "\"top_k\" is 9223372036854775808";
  QTest::addRow("more hash ids than blocks")
      << QString("{\"prompt_tokens\":512,\"hash_ids\":[1,2]}\n") << "1 blocks";
  const QString deep = QString("[").repeated(200'000) + QString("]").repeated(200'000);
  QTest::addRow("messages without end") << QString("{\"messages\":%1}\n").arg(deep) << "nests 200001 levels";
  QTest::addRow("an id without end") << QString("{\"prompt\":\"he\",\"id\":%1}\n").arg(deep) << "nests";
  QTest::addRow("a list without end") << deep + "\n" << "nests 200000 levels";
}

void TestCliRun::aBadRowNamesItsNumber() {
  QFETCH(QString, workload);
  QFETCH(QString, names);
  const CliOutcome outcome = run({}, workload.toStdString());
  QVERIFY2(outcome.isCleanFailure(1), outcome.err.c_str());
  QVERIFY2(outcome.err.find(names.toStdString()) != std::string::npos, outcome.err.c_str());
}

void TestCliRun::aWorkloadThatCannotBeReadIsNamed() {
  const std::string missing = path("missing.jsonl"), folder = m_rig.folder();
  for (const std::string& file : {missing, folder}) {
    const CliOutcome outcome = runCli({"run", "--model", m_model, "--workload", file});
    QVERIFY2(outcome.isCleanFailure(1), outcome.err.c_str());
    QVERIFY2(outcome.err.find(file + ":") != std::string::npos, outcome.err.c_str());
  }
}

void TestCliRun::flagsAreTheDefaultsOfLines() {
  const json document =
      documentOf({"--max-tokens", "5", "--ignore-eos", "--temperature", "1", "--seed", "3"},
                 "{\"prompt\":\"he\"}\n{\"prompt\":\"he\",\"max_tokens\":3}\n"
                 "{\"prompt\":\"he\",\"temperature\":0}\n{\"prompt\":\"he\",\"seed\":4}\n");
  const json& requests = document["requests"];
  QCOMPARE(requests[0]["ids"].size(), std::size_t{5});
  QCOMPARE(requests[1]["ids"].size(), std::size_t{3});
  QVERIFY(requests[2]["ids"] != requests[0]["ids"]);
  QVERIFY(requests[3]["ids"] != requests[0]["ids"]);
}

void TestCliRun::arrivalTimesAreKept() {
  const std::string file = path("arrivals.jsonl");
  QFile out(QString::fromStdString(file));
  QVERIFY(out.open(QIODevice::WriteOnly));
  out.write(
      "{\"id\":\"late\",\"at_ms\":300,\"prompt\":\"he\",\"max_tokens\":2}\n"
      "{\"id\":\"early\",\"prompt\":\"he\",\"max_tokens\":2}\n");
  out.close();
  const CliOutcome outcome =
      runCli({"run", "--json", "--model", m_model, "--kv-blocks", "64", "--workload", file});
  QCOMPARE(outcome.exitCode, 0);
  const json document = outcome.json();
  QCOMPARE(document["requests"][0]["id"], json("late"));  // as the file has them
  QCOMPARE(document["requests"][1]["id"], json("early"));
  const json& starts = document["metrics"]["start_times"];
  QVERIFY(starts[0].get<double>() >= 0.3);
  QVERIFY(starts[1].get<double>() < 0.3);
  QVERIFY(document["metrics"]["duration"].get<double>() >= 0.3);
  QVERIFY(document["requests"][0]["ttft_ms"].get<double>() > 0.0);
}

void TestCliRun::asFastAsPossibleDoesNotWait() {
  const json document = documentOf({},
                                   "{\"prompt\":\"he\",\"max_tokens\":2}\n"
                                   "{\"prompt\":\"he\",\"max_tokens\":2,\"at_ms\":600000}\n");
  QCOMPARE(document["metrics"]["completed"], json(2));
  QVERIFY(document["metrics"]["duration"].get<double>() < 600.0);
}

void TestCliRun::drawnWorkloadsComeFromTheSeed() {
  const auto draw = [&](const char* seed) {
    const CliOutcome outcome =
        runCli({"run", "--json", "--model", m_model, "--kv-blocks", "256", "--requests", "5",
                "--prompt-lengths", "uniform:3:30", "--output-lengths", "fixed:4", "--arrival",
                "poisson", "--rate", "200", "--seed", seed});
    if (outcome.exitCode != 0) throw std::runtime_error(outcome.err);
    return outcome.json();
  };
  const json one = draw("1"), again = draw("1"), two = draw("2");
  QCOMPARE(one["requests"].size(), std::size_t{5});
  QCOMPARE(answersOf(one), answersOf(again));
  QVERIFY(answersOf(one) != answersOf(two));
  for (const json& request : one["requests"]) {
    const std::size_t length = request["prompt_ids"].size();
    QVERIFY(length >= 3 && length <= 30);
    QCOMPARE(request["ids"].size(), std::size_t{4});
  }
}

void TestCliRun::aSharedPrefixIsFoundInTheCache() {
  const CliOutcome outcome =
      runCli({"run", "--json", "--model", m_model, "--kv-blocks", "256", "--requests", "3",
              "--prompt-lengths", "fixed:70", "--output-lengths", "fixed:2", "--shared-prefix",
              "64", "--max-seqs", "1"});
  QCOMPARE(outcome.exitCode, 0);
  const json requests = outcome.json()["requests"];
  QCOMPARE(requests[0]["cached_tokens"], json(0));
  QCOMPARE(requests[1]["cached_tokens"], json(64));
  QCOMPARE(requests[2]["cached_tokens"], json(64));
}

void TestCliRun::goodputNeedsTargets() {
  const std::string plain = "{\"prompt\":\"he\",\"max_tokens\":2}\n";
  QVERIFY(documentOf({}, plain)["metrics"]["request_goodput"].is_null());
  const json easy =
      documentOf({}, "{\"prompt\":\"he\",\"max_tokens\":2,\"slo\":{\"ttft_ms\":1e9}}\n");
  QVERIFY(easy["metrics"]["request_goodput"].get<double>() > 0.0);
  const json hard =
      documentOf({}, "{\"prompt\":\"he\",\"max_tokens\":2,\"slo\":{\"ttft_ms\":0}}\n");
  QCOMPARE(hard["metrics"]["request_goodput"].get<double>(), 0.0);
}

void TestCliRun::wrongUsageExitsTwo_data() {
  QTest::addColumn<QString>("arguments");
  QTest::addColumn<QString>("names");
  const auto row = [](const char* arguments, const char* names) {
    QTest::addRow("%s", arguments) << arguments << names;
  };
  row("--workload - --requests 3", "--workload");
  row("--requests 0", "--requests");
  row("--requests many", "--requests");
  row("--rate 0", "--rate");
  row("--rate nan", "--rate");
  row("--rate 1e-300", "--rate");
  row("--rate 1e300", "--rate");
  row("--burstiness 1e-300", "--burstiness");
  row("--prompt-lengths fixed:1e30", "--prompt-lengths");
  row("--shared-prefix 16777217", "--shared-prefix");
  row("--requests 1000001", "1000000");
  row("--burstiness -1", "--burstiness");
  row("--arrival sometimes", "--arrival");
  row("--prompt-lengths fixed", "--prompt-lengths");
  row("--output-lengths uniform:5:2", "--output-lengths");
  row("--shared-prefix -1", "--shared-prefix");
  row("--max-tokens 0", "--max-tokens");
  row("--max-seqs 0", "--max-seqs");
  row("--batching lazy", "--batching");
  row("--kv-cache off --preemption swap", "--preemption swap needs kv-cache on");
}

void TestCliRun::wrongUsageExitsTwo() {
  QFETCH(QString, arguments);
  QFETCH(QString, names);
  const CliOutcome outcome = runCli(Strings{"run", "--model", m_model} + lineOf(arguments));
  QVERIFY2(outcome.isCleanFailure(2), outcome.err.c_str());
  QVERIFY2(outcome.err.find(names.toStdString()) != std::string::npos, outcome.err.c_str());
}

void TestCliRun::aRecordedRunReplays() {
  const std::string file = path("run.tessera");
  const std::string workload = mixedWorkload(30, 6);
  const json document = documentOf({"--trace", file}, workload);
  QCOMPARE(answersOf(document), answersOf(documentOf({}, workload)));
  const CliOutcome replay = runCli({"replay", file, "--json"});
  QCOMPARE(replay.exitCode, 0);
  const json recorded = replay.json();
  QCOMPARE(recorded["whole"], json(true));
  QCOMPARE(recorded["requests"].size(), document["requests"].size());
  for (std::size_t i = 0; i < document["requests"].size(); ++i) {
    QCOMPARE(recorded["requests"][i]["label"], document["requests"][i]["id"]);
    QCOMPARE(recorded["requests"][i]["ids"], document["requests"][i]["ids"]);
    QCOMPARE(recorded["requests"][i]["text"], document["requests"][i]["text"]);
  }
  const CliOutcome nowhere = run({"--trace", m_rig.folder()}, workload);
  QVERIFY2(nowhere.isCleanFailure(1), nowhere.err.c_str());
}

void TestCliRun::ctrlCGivesTheDocumentSoFar() {
  const std::string file = path("far.jsonl");
  QFile out(QString::fromStdString(file));
  QVERIFY(out.open(QIODevice::WriteOnly));
  out.write(
      "{\"id\":\"now\",\"prompt\":\"he\",\"max_tokens\":2,\"ignore_eos\":true}\n"
      "{\"id\":\"never\",\"at_ms\":600000,\"prompt\":\"he\",\"max_tokens\":2}\n");
  out.close();
  const CliOutcome outcome = test_support::runCliAndCancel(
      {"run", "--json", "--model", m_model, "--kv-blocks", "64", "--workload", file},
      std::chrono::milliseconds(1500));
  QCOMPARE(outcome.exitCode, 130);
  const json document = outcome.json();
  QCOMPARE(document["cancelled"], json(true));
  QCOMPARE(document["requests"].size(), std::size_t{2});
  QCOMPARE(document["requests"][0]["finish_reason"], json("length"));
  QCOMPARE(document["requests"][1]["finish_reason"], json("cancelled"));
  QCOMPARE(document["metrics"]["completed"], json(1));
}

void TestCliRun::ctrlCBeforeTheModelIsThereTellsOfEveryLine() {
  const std::string file = path("two.jsonl");
  QFile out(QString::fromStdString(file));
  QVERIFY(out.open(QIODevice::WriteOnly));
  out.write("{\"prompt\":\"he\",\"at_ms\":600000}\n{\"prompt_tokens\":5,\"at_ms\":600000}\n");
  out.close();
  const CliOutcome outcome = test_support::runCliAndCancel(
      {"run", "--json", "--model", m_model, "--workload", file}, std::chrono::milliseconds(0));
  QCOMPARE(outcome.exitCode, 130);
  QCOMPARE(outcome.json()["cancelled"], json(true));
  QCOMPARE(outcome.json()["requests"].size(), std::size_t{2});
}

void TestCliRun::aPromptBeyondTheContextIsRefusedWithoutBeingMade() {
  // as tokens they would take 8 GB and more
  std::string workload;
  for (int i = 0; i < 1000; ++i) workload += "{\"prompt_tokens\":2000000000}\n";
  workload += "{\"prompt_tokens\":255,\"max_tokens\":9223372036854775807}\n{\"prompt_tokens\":256}\n";
  QElapsedTimer clock;
  clock.start();
  const json document = documentOf({}, workload);
  QVERIFY(clock.elapsed() < 20'000);
  const json& requests = document["requests"];
  QCOMPARE(requests[0]["finish_reason"], json("refused"));
  const std::string engineSays = documentOf({}, json{{"prompt_ids", std::vector<int>(300, 65)}}.dump() + "\n")
      ["requests"][0]["reason"];
  QCOMPARE(requests[0]["reason"],
           json(QString::fromStdString(engineSays).replace("300", "2000000000").toStdString()));
  QCOMPARE(requests[1000]["ids"].size(), std::size_t{1});  // the context's last place
  QCOMPARE(requests[1001]["finish_reason"], json("refused"));
  QCOMPARE(document["metrics"]["completed"], json(1));
  QCOMPARE(document["metrics"]["failed"], json(1001));
}

void TestCliRun::drawnPromptsHaveALimitTogether() {
  test_support::TinyModelSpec spec;
  spec.context = 1 << 20;
  const std::string model = path("long.gguf");
  test_support::writeTinyModel(spec, model);
  const CliOutcome outcome =
      runCli({"run", "--model", model, "--kv-blocks", "64", "--requests", "1000", "--prompt-lengths",
              "fixed:1000000", "--output-lengths", "fixed:1"});
  QVERIFY2(outcome.isCleanFailure(1), outcome.err.c_str());
  QVERIFY2(outcome.err.find("1000000000 tokens") != std::string::npos, outcome.err.c_str());
  QVERIFY2(outcome.err.find("268435456") != std::string::npos, outcome.err.c_str());
}

QTEST_GUILESS_MAIN(TestCliRun)
#include "tst_cli_run.moc"
