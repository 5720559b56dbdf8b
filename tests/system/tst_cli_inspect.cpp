#include <QtTest/QtTest>

#include "tests/support/cli_runner.h"
#include "tests/support/tiny_model.h"

using test_support::CliOutcome;
using test_support::GgufWriter;
using test_support::runCli;

class TestCliInspect : public QObject {
  Q_OBJECT

 private slots:
  void aModelThatRunsIsDescribed();
  void whatWeDoNotRunIsNamedAndExitsZero_data();
  void whatWeDoNotRunIsNamedAndExitsZero();
  void brokenFilesExitOne_data();
  void brokenFilesExitOne();

 private:
  CliOutcome inspectBytes(const std::string& bytes) {
    const std::string path = (m_folder.path() + "/model.gguf").toStdString();
    test_support::writeFile(path, bytes);
    return runCli({"inspect", path, "--json"});
  }

  QTemporaryDir m_folder;
};

void TestCliInspect::aModelThatRunsIsDescribed() {
  const test_support::TinyModelSpec spec;
  const CliOutcome outcome = inspectBytes(test_support::tinyModel(spec).bytes());
  QCOMPARE(outcome.exitCode, 0);
  const nlohmann::json document = outcome.json();
  QCOMPARE(document["format"], nlohmann::json("gguf"));
  QCOMPARE(document["architecture"], nlohmann::json("llama"));
  QVERIFY2(document["supported"] == true, document["reason"].dump().c_str());
  QVERIFY(document["reason"].is_null());
  std::int64_t parameters = 0, bytes = 0;
  for (const auto& tensor : document["tensors"]) {
    std::int64_t elements = 1;
    for (const auto& size : tensor["shape"]) elements *= size.get<std::int64_t>();
    QCOMPARE(tensor["type"], nlohmann::json("F32"));
    QCOMPARE(tensor["bytes"].get<std::int64_t>(), elements * 4);
    parameters += elements;
    bytes += tensor["bytes"].get<std::int64_t>();
  }
  QVERIFY(parameters > 0);
  QCOMPARE(document["parameters"].get<std::int64_t>(), parameters);
  QCOMPARE(document["memory"]["weights"].get<std::int64_t>(), bytes);
  QCOMPARE(document["memory"]["kv_per_token"].get<int>(),
           spec.layers * 2 * spec.kvHeads * spec.headDim * 2);
  QCOMPARE(document["memory"]["kv_per_token_by_dtype"]["int8"].get<int>(),
           spec.layers * 2 * spec.kvHeads * (spec.headDim + 2));  // and an f16 scale
  QCOMPARE(document["metadata"]["llama.block_count"].get<int>(), spec.layers);
  const auto& vocabulary = document["vocabulary"];
  QCOMPARE(vocabulary["type"], nlohmann::json("gpt2"));
  QCOMPARE(vocabulary["size"].get<int>(), test_support::tinyVocabSize(spec));
  QCOMPARE(document["metadata"]["tokenizer.ggml.tokens"]["count"], vocabulary["size"]);
  QCOMPARE(vocabulary["end_of_generation"],
           nlohmann::json(
               std::vector<int>{test_support::kTinyBpeEndOfText, test_support::kTinyBpeImEnd}));
}

void TestCliInspect::whatWeDoNotRunIsNamedAndExitsZero_data() {
  QTest::addColumn<QByteArray>("bytes");
  QTest::addColumn<QString>("reason");
  const auto row = [](const char* name, const GgufWriter& writer, const char* reason) {
    const std::string bytes = writer.bytes();
    QTest::newRow(name) << QByteArray(bytes.data(), static_cast<qsizetype>(bytes.size())) << reason;
  };
  GgufWriter nothing;
  nothing.add("general.architecture", "mamba9");
  row("architecture", nothing, "mamba9");
  GgufWriter vocabulary;
  vocabulary.add("general.architecture", "llama");
  vocabulary.add("tokenizer.ggml.model", "gpt2");
  vocabulary.add("tokenizer.ggml.pre", "martian");
  vocabulary.add("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b"});
  row("vocabulary only", vocabulary, "vocabulary only");
}

void TestCliInspect::whatWeDoNotRunIsNamedAndExitsZero() {
  QFETCH(QByteArray, bytes);
  QFETCH(QString, reason);
  const CliOutcome outcome = inspectBytes(bytes.toStdString());
  QVERIFY2(outcome.exitCode == 0, outcome.err.c_str());
  QCOMPARE(outcome.json()["supported"], nlohmann::json(false));
  const std::string given = outcome.json()["reason"].get<std::string>();
  QVERIFY2(given.find(reason.toStdString()) != std::string::npos, given.c_str());
}

void TestCliInspect::brokenFilesExitOne_data() {
  QTest::addColumn<QByteArray>("bytes");
  QTest::newRow("empty") << QByteArray();
  QTest::newRow("web page") << QByteArray("<html><body>404</body></html>");
  const std::string whole = test_support::tinyModel({}).bytes();
  for (const std::size_t size :
       {std::size_t{3}, std::size_t{30}, whole.size() / 2, whole.size() - 1}) {
    QTest::addRow("cut at %zu", size) << QByteArray(whole.data(), static_cast<qsizetype>(size));
  }
  std::string version = whole;
  version[4] = 99;
  QTest::newRow("version 99") << QByteArray(version.data(), static_cast<qsizetype>(version.size()));
}

void TestCliInspect::brokenFilesExitOne() {
  QFETCH(QByteArray, bytes);
  const CliOutcome outcome = inspectBytes(bytes.toStdString());
  QVERIFY2(outcome.isCleanFailure(1), (outcome.out + outcome.err).c_str());
  QVERIFY(outcome.err.find("model.gguf") != std::string::npos);
}

QTEST_GUILESS_MAIN(TestCliInspect)
#include "tst_cli_inspect.moc"
