// simulate and plan from the command line.
#include <QTemporaryDir>
#include <QTest>
#include <fstream>

#include "tests/support/cli_runner.h"

using test_support::CliOutcome;
using test_support::runCli;

namespace {

std::vector<std::string> simulate(std::initializer_list<std::string> more) {
  std::vector<std::string> arguments = {"simulate",      "--json",           "--device",
                                        "h100",          "--model-card",     "llama-3.1-8b",
                                        "--requests",    "30",               "--prompt-lengths",
                                        "uniform:100:900", "--output-lengths", "fixed:20"};
  arguments.insert(arguments.end(), more);
  return arguments;
}

}  // namespace

class CliSimulateTest : public QObject {
  Q_OBJECT

 private slots:
  void aDrawnWorkloadGivesTheKeysOfALoadRun() {
    const CliOutcome run = runCli(simulate({"--arrival", "poisson", "--rate", "10",
                                            "--price-per-hour", "3", "--slo-ttft-ms", "1000"}));
    QVERIFY2(run.exitCode == 0, run.err.c_str());
    const auto document = run.json();
    QCOMPARE(document["completed"].get<int>(), 30);
    QCOMPARE(document["total_output_tokens"].get<int>(), 600);
    QVERIFY(document["mean_ttft_ms"].get<double>() > 0);
    QVERIFY(document["request_goodput"].get<double>() > 0);
    QCOMPARE(document["simulated"].get<bool>(), true);
    QVERIFY(document["engine"]["steps"].get<int>() > 20);
    QCOMPARE(document["engine"]["leaked_blocks"].get<int>(), 0);
    QVERIFY(document["refusals"].empty());
    const double hours = document["duration"].get<double>() / 3600;
    const double price = document["cost"]["per_million_output_tokens"].get<double>();
    QVERIFY(std::abs(price - 3 * hours / 600 * 1e6) < 1e-6 * price);
  }

  void mooncakeLinesShareTheirPrefixes() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("trace.jsonl").toStdString();
    std::ofstream(path)
        << R"({"timestamp": 0, "input_length": 1200, "output_length": 5, "hash_ids": [1, 2, 3]})" << "\n"
        << R"({"timestamp": 900, "input_length": 1100, "output_length": 4, "hash_ids": [1, 2, 9]})" << "\n"
        << R"({"timestamp": 1000, "input_length": 200000, "output_length": 4, "hash_ids": [1]})" << "\n";
    const CliOutcome run = runCli({"simulate", "--json", "--device", "h100", "--model-card",
                                   "llama-3.1-8b", "--workload", path});
    QVERIFY2(run.exitCode == 0, run.err.c_str());
    QCOMPARE(run.json()["prefix_cache"]["hit_tokens"].get<int>(), 1024);
    QCOMPARE(run.json()["completed"].get<int>(), 2);
    QCOMPARE(run.json()["refusals"].size(), std::size_t{1});
    QVERIFY(run.json()["refusals"][0]["reason"].get<std::string>().find("131,072") !=
                std::string::npos ||
            run.json()["refusals"][0]["reason"].get<std::string>().find("131072") !=
                std::string::npos);
  }

  void wrongFlagsNameTheFlagTheValueAndTheLimit_data() {
    QTest::addColumn<QStringList>("flags");
    QTest::addColumn<QString>("part");
    QTest::newRow("degree") << QStringList{"--tensor-parallel", "0"} << "--tensor-parallel is 0";
    QTest::newRow("replicas") << QStringList{"--replicas", "5000"} << "it takes a whole number from 1 to 1024";
    QTest::newRow("half a pool") << QStringList{"--prefill-pool", "1"} << "go together";
    QTest::newRow("two ways") << QStringList{"--prefill-pool", "1", "--decode-pool", "1",
                                             "--replicas", "2"}
                              << "give one";
    QTest::newRow("link") << QStringList{"--link-gbps", "nan"} << "--link-gbps is nan";
    QTest::newRow("no acceptance") << QStringList{"--speculate", "ngram"} << "--acceptance";
    QTest::newRow("no draft") << QStringList{"--speculate", "draft", "--acceptance", "0.5"}
                              << "--draft-card";
    QTest::newRow("format") << QStringList{"--weight-dtype", "int3"} << "int3";
    QTest::newRow("fraction") << QStringList{"--memory-fraction", "1.5"} << "1.5";
    QTest::newRow("calibration") << QStringList{"--calibration", "x"} << "--device cpu";
    QTest::newRow("acceptance") << QStringList{"--speculate", "ngram", "--acceptance", "1.5"} << "1.5; it takes 0 to 1";
    QTest::newRow("model") << QStringList{"--model-card", "llama-9"} << "--model-card: there is no model card llama-9";
    QTest::newRow("device") << QStringList{"--device", "h1"} << "a100-80";
    QTest::newRow("draft") << QStringList{"--speculate", "draft", "--acceptance", "0.5", "--draft-card", "x"}
                           << "--draft-card: there is no model card x";
  }
  void wrongFlagsNameTheFlagTheValueAndTheLimit() {
    QFETCH(QStringList, flags);
    QFETCH(QString, part);
    std::vector<std::string> arguments = simulate({});
    for (const QString& flag : flags) arguments.push_back(flag.toStdString());
    const CliOutcome run = runCli(arguments);
    QVERIFY2(run.isCleanFailure(2), run.err.c_str());
    QVERIFY2(QString::fromStdString(run.err).contains(part), run.err.c_str());
  }

  void whatADeviceCannotHoldAndBrokenFilesExitOne_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QString>("part");
    const QStringList start = {"simulate", "--device", "h100", "--model-card"};
    QTest::newRow("too big") << start + QStringList{"llama-3-70b"} << "141.1 GB";
    QTest::newRow("too long") << start + QStringList{"llama-3-8b", "--max-context", "1000000000"}
                              << "max-context is 1000000000; llama-3-8b was trained for 8192";
    QTest::newRow("acceptance") << start + QStringList{"llama-3-8b", "--speculate", "ngram",
                                                       "--acceptance", "/no/such/file"}
                                << "/no/such/file";
  }
  void whatADeviceCannotHoldAndBrokenFilesExitOne() {
    QFETCH(QStringList, arguments);
    QFETCH(QString, part);
    std::vector<std::string> all;
    for (const QString& one : arguments) all.push_back(one.toStdString());
    const CliOutcome run = runCli(all);
    QVERIFY2(run.isCleanFailure(1), run.err.c_str());
    QVERIFY2(QString::fromStdString(run.err).contains(part), run.err.c_str());
  }

  void acceptanceComesFromARecordedRun() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("run.json").toStdString();
    std::ofstream(path) << R"({"speculation":{"passes":100,"accepted_by_position":[100,100,50]}})";
    const CliOutcome run =
        runCli(simulate({"--speculate", "ngram", "--acceptance", path, "--speculative-tokens", "3"}));
    QVERIFY2(run.exitCode == 0, run.err.c_str());
    const auto places = run.json()["speculation"]["accepted_by_position"];
    // the last passes of a request guess less: its length is near
    QVERIFY(places[1].get<double>() > 0.9 * places[0].get<double>());
    QVERIFY(places[2].get<double>() < places[1].get<double>());
  }

  void aBenchDocumentCalibratesThisMachine() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("bench.json").toStdString();
    std::ofstream(path) << R"({"isa":"avx2","threads":2,"prompt_tokens":64,"gen_tokens":32,"rows":[)"
                        << R"({"batch":1,"depth":0,"prefill_tps":400,"step_ms_p50":6.0},)"
                        << R"({"batch":8,"depth":512,"prefill_tps":400,"step_ms_p50":14.0}]})";
    const std::vector<std::string> arguments = {
        "simulate", "--json", "--device", "cpu", "--model-card", "smollm2-135m", "--weight-dtype",
        "q4_1", "--requests", "1", "--prompt-lengths", "fixed:64", "--output-lengths", "fixed:64",
        "--calibration", path};
    const CliOutcome run = runCli(arguments);
    QVERIFY2(run.exitCode == 0, run.err.c_str());
    const double tpot = run.json()["mean_tpot_ms"].get<double>();
    QVERIFY2(tpot > 4.5 && tpot < 7.5, run.out.c_str());
    std::ofstream(path) << R"({"rows":[{"batch":1}]})";
    QVERIFY(runCli(arguments).isCleanFailure(1));
  }

  // On a card the figures are the roofline's own: 2,048 tokens of context more must cost more.
  void measuredStepsArePredictedAndComparedWithWhatTheyTook() {
    QTemporaryDir folder;
    const std::string path = folder.filePath("bench.json").toStdString();
    std::ofstream(path) << R"({"prompt_tokens":16,"gen_tokens":32,"rows":[)"
                        << R"({"batch":2,"depth":0,"step_ms_p50":8.0},)"
                        << R"({"batch":2,"depth":2048,"step_ms_p50":8.0},)"
                        << R"({"batch":2,"depth":4096,"step_ms_p50":8.0}]})";
    const std::vector<std::string> arguments = {"simulate", "--json", "--device", "h100", "--model-card",
                                                "llama-3-8b", "--predict", path};
    const CliOutcome run = runCli(arguments);
    QVERIFY2(run.exitCode == 0, run.err.c_str());
    const auto document = run.json();
    const auto& steps = document["steps"];
    QCOMPARE(steps.size(), std::size_t{3});
    QCOMPARE(steps[1]["rows"].get<int>(), 2);
    QCOMPARE(steps[1]["context"].get<int>(), 2048 + 16 + 16);
    std::vector<double> errors;
    for (const auto& step : steps) {
      const double predicted = step["predicted_ms"].get<double>();
      const double error = predicted / step["measured_ms"].get<double>() - 1;
      QVERIFY(std::abs(step["error"].get<double>() - error) < 1e-9);
      errors.push_back(std::abs(error));
    }
    // two users of 131,072 bytes a token at 80 % of 3.35 TB/s
    const double each = 2 * 2048 * 131072.0 / (0.8 * 3.35e12) * 1e3;
    const double more = steps[2]["predicted_ms"].get<double>() - steps[1]["predicted_ms"].get<double>();
    QVERIFY2(std::abs(more / each - 1) < 0.01, run.out.c_str());
    std::sort(errors.begin(), errors.end());
    QVERIFY(std::abs(document["median_error"].get<double>() - errors[1]) < 1e-9);
    QVERIFY(std::abs(document["largest_error"].get<double>() - errors[2]) < 1e-9);
    std::ofstream(path) << "[]";
    QVERIFY(runCli(arguments).isCleanFailure(1));
  }

  void aPlanNamesDevicesUsersAndReplicas() {
    const CliOutcome run = runCli({"plan", "--json", "--device", "h100", "--model-card",
                                   "llama-3.1-8b", "--length", "8192", "--users", "100"});
    QVERIFY2(run.exitCode == 0, run.err.c_str());
    const auto document = run.json();
    QCOMPARE(document["kv_bytes_per_token"].get<double>(), 131072.0);
    QCOMPARE(document["devices"].get<int>(),
             document["tensor_parallel"].get<int>() * document["replicas"].get<int>());
    QVERIFY(document["users"].get<int>() * document["replicas"].get<int>() >= 100);
    QVERIFY(runCli({"plan", "--device", "h100", "--model-card", "llama-3.1-8b"}).isCleanFailure(2));
    QVERIFY(runCli({"plan", "--device", "h100", "--model-card", "llama-3.1-8b", "--users", "1",
                    "--length", "200000"})
                .isCleanFailure(1));
  }

  // A zero that is given is no "not given".
  void aPlanTakesNoZeroForAbsent_data() {
    QTest::addColumn<QStringList>("flags");
    QTest::addColumn<QString>("part");
    QTest::newRow("users") << QStringList{"--users", "0"} << "--users is 0; it takes a whole number from 1 to 100000";
    QTest::newRow("rate") << QStringList{"--rate", "0"} << "--rate is 0; it takes numbers above 0";
    QTest::newRow("output") << QStringList{"--users", "1", "--output-tokens", "0"} << "--output-tokens is 0; it takes a whole number from 1 to";
    QTest::newRow("all output") << QStringList{"--users", "1", "--length", "64", "--output-tokens", "64"}
                                << "--output-tokens is 64; it takes 1 to 63";
    QTest::newRow("ttft") << QStringList{"--users", "1", "--slo-ttft-ms", "0"} << "--slo-ttft-ms is 0";
    QTest::newRow("tpot") << QStringList{"--users", "1", "--slo-tpot-ms", "-0"} << "--slo-tpot-ms is -0";
  }
  void aPlanTakesNoZeroForAbsent() {
    QFETCH(QStringList, flags);
    QFETCH(QString, part);
    std::vector<std::string> arguments = {"plan", "--device", "h100", "--model-card", "llama-3.1-8b"};
    for (const QString& flag : flags) arguments.push_back(flag.toStdString());
    const CliOutcome run = runCli(arguments);
    QVERIFY2(run.isCleanFailure(2), run.err.c_str());
    QVERIFY2(QString::fromStdString(run.err).contains(part), run.err.c_str());
  }
};

QTEST_GUILESS_MAIN(CliSimulateTest)
#include "tst_cli_simulate.moc"
