#include <QtTest/QtTest>

#include <cstdlib>

#include "app/cli/model_choice.h"
#include "tests/support/cli_runner.h"
#include "tests/support/tiny_model.h"

using test_support::CliOutcome;
using test_support::runCli;
using Ids = std::vector<int>;

class TestCliText : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void tokenizeGivesIds();
  void tokenizeReadsStandardInputByteForByte();
  void noSpecialLeavesControlTokensAsText();
  void bosIsAddedAsTheFileSays();
  void invalidUtf8NamesTheByte();
  void vocabularyOnlyFilesWork();
  void detokenizeWritesControlTokensAndBytes();
  void brokenBytesAreMarkedAndKeptInHex();
  void idsThatAreNoneAreUsageErrors();
  void aBrokenVocabularyNamesItsFileInCleanText();
  void anEndlessTextIsRefused();
  void afterCtrlCAScoreSaysCancelled();
  void wrongUsageExitsTwo_data();
  void wrongUsageExitsTwo();
  void helpAndVersionSucceed();
  void aMissingModelSaysHowToGetOne();
  void theDefaultModelFollowsXdg();

 private:
  std::string path(const char* name) const { return (m_folder.path() + "/" + name).toStdString(); }

  QTemporaryDir m_folder;
  std::string m_bpe, m_spm, m_vocabularyOnly;
};

void TestCliText::initTestCase() {
  test_support::TinyModelSpec spec;
  m_bpe = path("bpe.gguf");
  test_support::writeTinyModel(spec, m_bpe);
  spec.vocabulary = test_support::TinyVocabulary::SentencePiece;
  spec.addBos = true;
  m_spm = path("spm.gguf");
  test_support::writeTinyModel(spec, m_spm);

  test_support::GgufWriter writer;
  writer.add("general.architecture", "never-heard-of");
  writer.add("tokenizer.ggml.model", "llama");
  writer.add("tokenizer.ggml.add_space_prefix", false);
  writer.add("tokenizer.ggml.tokens",
             std::vector<std::string>{"<unk>", "<s>", "</s>", "a", "b", "ab"});
  writer.add("tokenizer.ggml.scores", std::vector<float>{0, 0, 0, -3, -2, -1});
  writer.add("tokenizer.ggml.token_type", std::vector<std::int32_t>{2, 3, 3, 1, 1, 1});
  m_vocabularyOnly = path("vocabulary.gguf");
  writer.writeTo(m_vocabularyOnly);
}

void TestCliText::tokenizeGivesIds() {
  const CliOutcome json = runCli({"tokenize", "<|im_start|>", "--model", m_bpe, "--json"});
  QCOMPARE(json.exitCode, 0);
  QCOMPARE(json.json(), nlohmann::json({{"ids", Ids{test_support::kTinyBpeImStart}}}));
  QVERIFY(json.err.empty());
  QCOMPARE(runCli({"tokenize", "--model=" + m_bpe, "--", "<|im_start|>"}).out,
           std::to_string(test_support::kTinyBpeImStart) + "\n");
  QCOMPARE(runCli({"tokenize", "", "--model", m_bpe, "--json"}).json()["ids"],
           nlohmann::json(Ids{}));
}

void TestCliText::tokenizeReadsStandardInputByteForByte() {
  const auto idsOf = [&](const std::string& input) {
    return runCli({"tokenize", "-", "--model", m_bpe, "--json"}, input).json()["ids"].get<Ids>();
  };
  QCOMPARE(idsOf("\n"), Ids{'\n'});
  QCOMPARE(idsOf("\r\n\r"), (Ids{'\r', '\n', '\r'}));
  QCOMPARE(idsOf(std::string("\0", 1)), Ids{0});
  QCOMPARE(idsOf(""), Ids{});
}

void TestCliText::noSpecialLeavesControlTokensAsText() {
  const CliOutcome plain =
      runCli({"tokenize", "--no-special", "<|im_end|>", "--model", m_bpe, "--json"});
  const Ids ids = plain.json()["ids"].get<Ids>();
  QVERIFY(ids.size() > 1);
  for (const int id : ids) QVERIFY(id != test_support::kTinyBpeImEnd);
}

void TestCliText::bosIsAddedAsTheFileSays() {
  const auto idsOf = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"tokenize", "--model", m_spm, "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return runCli(arguments).json()["ids"].get<Ids>();
  };
  const Ids once = idsOf({"Hi"});
  QCOMPARE(once.front(), test_support::kTinySpmBos);
  QCOMPARE(std::count(once.begin(), once.end(), test_support::kTinySpmBos), 1);
  QCOMPARE(idsOf({"<s>Hi"}), once);
  QVERIFY(idsOf({"Hi", "--no-special"}).front() != test_support::kTinySpmBos);
}

void TestCliText::invalidUtf8NamesTheByte() {
  const CliOutcome outcome = runCli({"tokenize", "-", "--model", m_bpe, "--json"}, "abc\xFF");
  QVERIFY(outcome.isCleanFailure(1));
  QVERIFY(outcome.err.find("byte 3") != std::string::npos);
}

void TestCliText::vocabularyOnlyFilesWork() {
  const CliOutcome outcome = runCli({"tokenize", "abb", "--model", m_vocabularyOnly, "--json"});
  QCOMPARE(outcome.json(), nlohmann::json({{"ids", Ids{1, 5, 4}}}));
  const CliOutcome text = runCli({"detokenize", "5,4", "--model", m_vocabularyOnly, "--json"});
  QCOMPARE(text.json()["text"], nlohmann::json("abb"));
}

void TestCliText::detokenizeWritesControlTokensAndBytes() {
  const CliOutcome json = runCli({"detokenize", "257 104,\t105", "--model", m_bpe, "--json"});
  QCOMPARE(json.json(), nlohmann::json({{"text", "<|im_start|>hi"},
                                        {"bytes_hex", "3c7c696d5f73746172747c3e6869"}}));
  QCOMPARE(runCli({"detokenize", "104", "105", "--model", m_bpe}).out, std::string("hi\n"));
  QCOMPARE(runCli({"detokenize", "-", "--model", m_bpe}, "104 105\n").out, std::string("hi\n"));
}

void TestCliText::brokenBytesAreMarkedAndKeptInHex() {
  const CliOutcome outcome = runCli({"detokenize", "97,240,159,98", "--model", m_bpe, "--json"});
  QCOMPARE(outcome.json(), nlohmann::json({{"text", "a\uFFFDb"}, {"bytes_hex", "61f09f62"}}));
}

void TestCliText::idsThatAreNoneAreUsageErrors() {
  QVERIFY(runCli({"detokenize", "1 x", "--model", m_bpe}).isCleanFailure(2));
  QVERIFY(runCli({"detokenize", "1.5", "--model", m_bpe}).isCleanFailure(2));
  const CliOutcome outcome = runCli({"detokenize", "123456", "--model", m_bpe, "--json"});
  QVERIFY(outcome.isCleanFailure(2));
  QVERIFY(outcome.err.find("123456") != std::string::npos);
  const int last = test_support::tinyVocabSize({}) - 1;
  QVERIFY(outcome.err.find(std::to_string(last)) != std::string::npos);
}

void TestCliText::aBrokenVocabularyNamesItsFileInCleanText() {
  test_support::GgufWriter writer;
  writer.add("general.architecture", "llama");
  writer.add("tokenizer.ggml.model", "gpt2");
  writer.add("tokenizer.ggml.pre", "gpt-2");
  writer.add("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b"});
  writer.add("tokenizer.ggml.token_type", std::vector<std::int32_t>{1, 1});
  writer.add("tokenizer.ggml.merges", std::vector<std::string>{"a\xb6\nb"});
  const std::string file = path("broken-merge.gguf");
  writer.writeTo(file);
  for (const auto& arguments : {std::vector<std::string>{"tokenize", "a", "--model", file},
                                {"inspect", file},
                                {"score", file, "--model", file}}) {
    const CliOutcome outcome = runCli(arguments);
    QVERIFY2(outcome.isCleanFailure(1), outcome.err.c_str());
    QVERIFY2(outcome.err.find("broken-merge.gguf: merge 0") != std::string::npos,
             outcome.err.c_str());
    QCOMPARE(QString::fromStdString(outcome.err).toStdString(), outcome.err);  // valid UTF-8
  }
}

void TestCliText::anEndlessTextIsRefused() {
  const CliOutcome outcome = runCli({"template", "--file", "/dev/zero", "/dev/null"});
  QVERIFY(outcome.isCleanFailure(1));
  QVERIFY2(outcome.err.find("longer than 268435456 bytes") != std::string::npos,
           outcome.err.c_str());
}

void TestCliText::afterCtrlCAScoreSaysCancelled() {
  for (const bool isJson : {false, true}) {
    std::istringstream in("some text");
    std::ostringstream out, err;
    engine::CancelToken cancel;
    cancel.cancel();
    app::cli::CliIo io{in, out, err, cancel};
    std::vector<std::string> arguments = {"score", "-", "--model", m_bpe};
    if (isJson) arguments.push_back("--json");
    QCOMPARE(app::cli::runCli(arguments, io), 130);
    if (!isJson) {
      QCOMPARE(out.str(), std::string());
      continue;
    }
    using nlohmann::json;
    const json document = json::parse(out.str());
    QCOMPARE(document["cancelled"], json(true));
    QVERIFY(!document["ids"].empty());
    QVERIFY(document["mean_nll"].is_null());  // nothing was scored yet
  }
}

void TestCliText::wrongUsageExitsTwo_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<QString>("mentions");
  QTest::newRow("nothing") << QStringList{} << "tokenize";
  QTest::newRow("unknown command") << QStringList{"frobnicate"} << "frobnicate";
  QTest::newRow("planned command") << QStringList{"serve", "--port", "1"} << "not built yet";
  QTest::newRow("no text") << QStringList{"tokenize"} << "TEXT";
  QTest::newRow("two texts") << QStringList{"tokenize", "a", "b"} << "b";
  QTest::newRow("unknown flag") << QStringList{"tokenize", "a", "--loud"} << "--loud";
  QTest::newRow("flag without value")
      << QStringList{"tokenize", "a", "--model"} << "--model needs a value";
  QTest::newRow("empty model") << QStringList{"tokenize", "a", "--model", ""} << "--model is empty";
  QTest::newRow("empty template") << QStringList{"template", "-", "--file="} << "--file is empty";
  QTest::newRow("flag before a command") << QStringList{"--loud"} << "--loud";
}

void TestCliText::wrongUsageExitsTwo() {
  QFETCH(QStringList, arguments);
  QFETCH(QString, mentions);
  std::vector<std::string> given;
  for (const QString& argument : arguments) given.push_back(argument.toStdString());
  const CliOutcome outcome = runCli(given);
  QVERIFY(outcome.isCleanFailure(2));
  QVERIFY2(outcome.err.find(mentions.toStdString()) != std::string::npos, outcome.err.c_str());
}

void TestCliText::helpAndVersionSucceed() {
  for (const auto& arguments :
       {std::vector<std::string>{"--help"}, {"tokenize", "--help"}, {"--version"}}) {
    const CliOutcome outcome = runCli(arguments);
    QCOMPARE(outcome.exitCode, 0);
    QVERIFY(!outcome.out.empty());
    QVERIFY(outcome.err.empty());
  }
}

void TestCliText::aMissingModelSaysHowToGetOne() {
  qputenv("XDG_DATA_HOME", m_folder.path().toUtf8() + "/nothing-here");
  const CliOutcome none = runCli({"tokenize", "a", "--json"});
  QVERIFY(none.isCleanFailure(1));
  QVERIFY(none.err.find("fetch-model") != std::string::npos);
  const CliOutcome named = runCli({"tokenize", "a", "--model", path("absent.gguf")});
  QVERIFY(named.isCleanFailure(1));
  QVERIFY(named.err.find("absent.gguf") != std::string::npos);
}

void TestCliText::theDefaultModelFollowsXdg() {
  const std::string tail = "/tessera/models/SmolLM2-135M-Instruct.Q4_1.gguf";
  qputenv("XDG_DATA_HOME", "/somewhere");
  QCOMPARE(app::cli::defaultModelPath(), "/somewhere" + tail);
  for (const char* useless : {"", "relative/path"}) {
    qputenv("XDG_DATA_HOME", useless);
    QCOMPARE(app::cli::defaultModelPath(),
             std::string(std::getenv("HOME")) + "/.local/share" + tail);
  }
  qunsetenv("XDG_DATA_HOME");
}

QTEST_GUILESS_MAIN(TestCliText)
#include "tst_cli_text.moc"
