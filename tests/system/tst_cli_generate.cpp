// generate, on tiny models made from a seed: what it writes, what it refuses, how it ends.
#include <QtTest/QtTest>

#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>

#include "engine/text/utf8.h"
#include "kernels/core/ops.h"
#include "tests/support/cli_runner.h"
#include "tests/support/tiny_model.h"

using nlohmann::json;
using test_support::CliOutcome;
using test_support::runCli;
using Ids = std::vector<int>;
using Strings = std::vector<std::string>;

namespace {

// A small pool: that of a real model would hold millions of a tiny model's tokens.
constexpr const char* kBlocks = "128";

Strings operator+(Strings left, const Strings& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Raises the token as soon as something is written, as a person would who has seen enough.
class CancellingBuffer : public std::stringbuf {
 public:
  explicit CancellingBuffer(engine::CancelToken& cancel) : m_cancel(cancel) {}

 protected:
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    m_cancel.cancel();
    return std::stringbuf::xsputn(text, count);
  }

 private:
  engine::CancelToken& m_cancel;
};

}  // namespace

class TestCliGenerate : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void theDocumentHasExactlyItsFields();
  void theStreamIsTheTextOfTheDocument();
  void theSameQuestionGetsTheSameAnswer();
  void temperatureZeroWhateverTheSeed();
  void neutralValuesChangeNothing();
  void logprobsNameTheLikeliest();
  void aStopStringNeverShows();
  void oneBosAndNoMore();
  void chatGoesThroughTheTemplate();
  void chatNeedsATemplate();
  void markersThatAUserTypesStayText();
  void anEmptyPromptNeedsABos();
  void aFullContextEndsTheAnswer();
  void refusalsNameBothNumbers_data();
  void refusalsNameBothNumbers();
  void textsThatAreNotUtf8SayWhere_data();
  void textsThatAreNotUtf8SayWhere();
  void wrongUsageExitsTwo_data();
  void wrongUsageExitsTwo();
  void biasBeyondTheVocabularyExitsTwo();
  void ctrlCGivesTheDocumentSoFar();
  void ctrlCWhileStreamingKeepsWhatWasWritten();
  void ctrlCBeforeTheModelIsThere();
  void theSecondLoadReadsThePackedWeights();
  void packedWeightsThatCannotBeKeptAreSaid();

 private:
  std::string path(const char* name) const { return (m_folder.path() + "/" + name).toStdString(); }

  // The document; throws when there is none.
  json documentOf(const Strings& arguments) const {
    const CliOutcome outcome =
        runCli(Strings{"generate", "--json", "--kv-blocks", kBlocks} + arguments);
    if (outcome.exitCode != 0) throw std::runtime_error(outcome.err);
    return outcome.json();
  }

  QTemporaryDir m_folder;
  std::string m_bpe, m_spm, m_plain, m_long;
};

void TestCliGenerate::initTestCase() {
  test_support::TinyModelSpec spec;
  spec.context = 64;
  m_bpe = path("bpe.gguf");
  test_support::writeTinyModel(spec, m_bpe);
  spec.chatTemplate = false;
  m_plain = path("plain.gguf");
  test_support::writeTinyModel(spec, m_plain);
  spec.chatTemplate = true;
  spec.context = 1 << 16;
  m_long = path("long.gguf");
  test_support::writeTinyModel(spec, m_long);
  spec.context = 64;
  spec.vocabulary = test_support::TinyVocabulary::SentencePiece;
  spec.addBos = true;
  m_spm = path("spm.gguf");
  test_support::writeTinyModel(spec, m_spm);
}

void TestCliGenerate::theDocumentHasExactlyItsFields() {
  const json document =
      documentOf({"--model", m_bpe, "--prompt", "the in", "--max-tokens", "7", "--ignore-eos"});
  std::set<std::string> keys;
  for (const auto& [key, value] : document.items()) keys.insert(key);
  QCOMPARE(keys, (std::set<std::string>{"text", "ids", "prompt_ids", "logprobs", "finish_reason",
                                        "usage", "timings", "speculation"}));
  QCOMPARE(document["ids"].size(), std::size_t{7});
  QCOMPARE(document["logprobs"].size(), std::size_t{7});
  for (const json& logprob : document["logprobs"]) QVERIFY(logprob.get<double>() <= 0.0);
  QCOMPARE(document["finish_reason"], json("length"));
  const auto numPrompt = document["prompt_ids"].size();
  QCOMPARE(document["usage"], json({{"prompt_tokens", numPrompt},
                                    {"completion_tokens", 7},
                                    {"total_tokens", numPrompt + 7},
                                    {"cached_tokens", 0}}));
  for (const char* timing : {"load_ms", "ttft_ms", "prefill_tps", "decode_tps"}) {
    QVERIFY2(document["timings"][timing].get<double>() > 0.0, timing);
  }
  QCOMPARE(document["timings"].size(), std::size_t{4});
}

void TestCliGenerate::theStreamIsTheTextOfTheDocument() {
  for (const char* seed : {"1", "2", "3"}) {
    const Strings arguments = {"--model", m_spm,    "--prompt", "the",          "--temperature",
                               "1.5",     "--seed", seed,       "--max-tokens", "40"};
    const json document = documentOf(arguments);
    const CliOutcome stream = runCli(Strings{"generate", "--kv-blocks", kBlocks} + arguments);
    QCOMPARE(stream.exitCode, 0);
    QCOMPARE(json(stream.out), document["text"]);
    QVERIFY(!engine::text::findInvalidUtf8(stream.out));
  }
}

void TestCliGenerate::theSameQuestionGetsTheSameAnswer() {
  std::set<std::string> texts;
  for (const char* seed : {"1", "2", "3", "4", "5", "6"}) {
    const Strings arguments = {"--model", m_bpe,    "--prompt", "on",           "--temperature",
                               "1",       "--seed", seed,       "--max-tokens", "12"};
    const json first = documentOf(arguments), second = documentOf(arguments);
    QVERIFY(!first["ids"].empty());
    QCOMPARE(first["ids"], second["ids"]);
    QCOMPARE(first["logprobs"], second["logprobs"]);
    texts.insert(first["ids"].dump());
  }
  QVERIFY(texts.size() >= 4);
}

void TestCliGenerate::temperatureZeroWhateverTheSeed() {
  const Strings arguments = {"--model", m_bpe, "--prompt", "on", "--max-tokens", "12"};
  const json one = documentOf(arguments + Strings{"--seed", "1"});
  const json two = documentOf(arguments + Strings{"--seed", "18446744073709551615"});
  QVERIFY(!one["ids"].empty());
  QCOMPARE(one["ids"], two["ids"]);
}

void TestCliGenerate::neutralValuesChangeNothing() {
  const Strings arguments = {"--model", m_bpe,           "--prompt", "on",     "--max-tokens",
                             "12",      "--temperature", "1",        "--seed", "9"};
  const json bare = documentOf(arguments);
  const json neutral =
      documentOf(arguments + Strings{"--top-k", "0", "--top-p", "1", "--min-p", "0", "--typical-p",
                                     "1", "--repetition-penalty", "1", "--presence-penalty", "0"});
  QVERIFY(!bare["ids"].empty());
  QCOMPARE(neutral["ids"], bare["ids"]);
  // the least that is kept is one token, which is the likeliest
  const json greedy = documentOf({"--model", m_bpe, "--prompt", "on", "--max-tokens", "12"});
  QCOMPARE(documentOf(arguments + Strings{"--top-p", "0"})["ids"], greedy["ids"]);
  QCOMPARE(documentOf(arguments + Strings{"--top-k", "1"})["ids"], greedy["ids"]);
}

void TestCliGenerate::logprobsNameTheLikeliest() {
  const json document =
      documentOf({"--model", m_bpe, "--prompt", "the", "--max-tokens", "5", "--logprobs", "3"});
  QCOMPARE(document["top_logprobs"].size(), document["ids"].size());
  for (std::size_t i = 0; i < document["ids"].size(); ++i) {
    const json& top = document["top_logprobs"][i];
    QCOMPARE(top.size(), std::size_t{3});
    QCOMPARE(top[0][0], document["ids"][i]);  // temperature 0
    QCOMPARE(top[0][1], document["logprobs"][i]);
    QVERIFY(top[0][1].get<double>() >= top[1][1].get<double>());
    QVERIFY(top[1][1].get<double>() >= top[2][1].get<double>());
  }
}

void TestCliGenerate::aStopStringNeverShows() {
  const Strings arguments = {"--model", m_spm, "--prompt",     "the", "--temperature", "1",
                             "--seed",  "4",   "--max-tokens", "40",  "--ignore-eos"};
  const std::string whole = documentOf(arguments)["text"].get<std::string>();
  QVERIFY(whole.size() > 20);
  int numTried = 0;
  for (std::size_t at = 2; at + 3 < whole.size() && numTried < 5; at += 3) {
    const std::string stop = whole.substr(at, 3);
    if (engine::text::findInvalidUtf8(stop)) continue;
    ++numTried;
    const json document = documentOf(arguments + Strings{"--stop", stop});
    QCOMPARE(document["text"], json(whole.substr(0, whole.find(stop))));
    QCOMPARE(document["finish_reason"], json("stop"));
    QCOMPARE(json(runCli(Strings{"generate", "--kv-blocks", kBlocks} + arguments +
                         Strings{"--stop", stop})
                      .out),
             document["text"]);
  }
  QVERIFY(numTried > 0);
}

void TestCliGenerate::oneBosAndNoMore() {
  const Ids raw =
      documentOf({"--model", m_spm, "--prompt", "he", "--max-tokens", "1"})["prompt_ids"];
  QCOMPARE(raw.front(), test_support::kTinySpmBos);
  const Ids typed =
      documentOf({"--model", m_spm, "--prompt", "<s>he", "--max-tokens", "1"})["prompt_ids"];
  QCOMPARE(std::count(typed.begin(), typed.end(), test_support::kTinySpmBos), 1);
  const std::string file = path("bos.jinja");
  QFile templateFile(QString::fromStdString(file));
  QVERIFY(templateFile.open(QIODevice::WriteOnly));
  templateFile.write("{{ bos_token }}{{ messages[0].content }}");
  templateFile.close();
  const Ids chat = documentOf(
      {"--model", m_spm, "--chat", "he", "--template", file, "--max-tokens", "1"})["prompt_ids"];
  QCOMPARE(chat.front(), test_support::kTinySpmBos);
  QCOMPARE(std::count(chat.begin(), chat.end(), test_support::kTinySpmBos), 1);
}

void TestCliGenerate::chatGoesThroughTheTemplate() {
  const json chat =
      documentOf({"--model", m_bpe, "--chat", "he", "--system", "in", "--max-tokens", "1"});
  const json raw = documentOf({"--model", m_bpe, "--prompt",
                               "<|im_start|>system\nin<|im_end|>\n<|im_start|>user\nhe<|im_end|>\n"
                               "<|im_start|>assistant\n",
                               "--max-tokens", "1"});
  QVERIFY(!chat["prompt_ids"].empty());
  QCOMPARE(chat["prompt_ids"], raw["prompt_ids"]);
  QCOMPARE(chat["ids"], raw["ids"]);
}

void TestCliGenerate::chatNeedsATemplate() {
  const CliOutcome outcome = runCli({"generate", "--model", m_plain, "--chat", "he"});
  QVERIFY2(outcome.isCleanFailure(1), outcome.err.c_str());
  QVERIFY(holds(outcome.err, "template"));
}

void TestCliGenerate::markersThatAUserTypesStayText() {
  const Ids ids =
      documentOf({"--model", m_bpe, "--chat", "<|im_end|>", "--max-tokens", "1"})["prompt_ids"];
  QCOMPARE(std::count(ids.begin(), ids.end(), test_support::kTinyBpeImEnd), 1);
}

void TestCliGenerate::anEmptyPromptNeedsABos() {
  const CliOutcome outcome = runCli({"generate", "--model", m_bpe, "--prompt", "", "--json"});
  QVERIFY2(outcome.isCleanFailure(1), outcome.err.c_str());
  const json document =
      documentOf({"--model", m_spm, "--prompt", "", "--max-tokens", "3", "--ignore-eos"});
  QCOMPARE(document["prompt_ids"], json(Ids{test_support::kTinySpmBos}));
  QCOMPARE(document["ids"].size(), std::size_t{3});
}

void TestCliGenerate::aFullContextEndsTheAnswer() {
  const CliOutcome full =
      runCli({"generate", "--json", "--model", m_bpe, "--kv-blocks", kBlocks, "--max-context", "40",
              "--prompt", std::string(37, '~'), "--max-tokens", "10", "--ignore-eos"});
  QCOMPARE(full.json()["ids"].size(), std::size_t{3});
  QCOMPARE(full.json()["finish_reason"], json("length"));
  QVERIFY2(holds(full.err, "40"), full.err.c_str());  // it says why the answer is short
}

void TestCliGenerate::refusalsNameBothNumbers_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<QString>("one");
  QTest::addColumn<QString>("other");
  const QString long45(45, '~');
  QTest::addRow("prompt longer than the context")
      << QStringList{"--prompt", long45, "--max-context", "40"} << "45"
      << "40";
  QTest::addRow("prompt as long as the context")
      << QStringList{"--prompt", QString(40, '~'), "--max-context", "40"} << "40"
      << "40";
  QTest::addRow("prompt longer than the model's context")
      << QStringList{"--prompt", QString(80, '~')} << "80"
      << "64";
  QTest::addRow("pool too small") << QStringList{"--prompt",    long45, "--block-size", "8",
                                                 "--kv-blocks", "5",    "--max-tokens", "10"}
                                  << "7"
                                  << "5";
  QTest::addRow("context beyond the model's")
      << QStringList{"--prompt", "he", "--max-context", "65"} << "65"
      << "64";
}

void TestCliGenerate::refusalsNameBothNumbers() {
  QFETCH(QStringList, arguments);
  QFETCH(QString, one);
  QFETCH(QString, other);
  Strings all = {"generate", "--model", m_bpe, "--kv-blocks", kBlocks};
  for (const QString& argument : arguments) all.push_back(argument.toStdString());
  for (const bool isJson : {false, true}) {
    const CliOutcome outcome = runCli(isJson ? all + Strings{"--json"} : all);
    QVERIFY2(outcome.isCleanFailure(1), outcome.err.c_str());
    QVERIFY2(holds(outcome.err, one.toStdString()), outcome.err.c_str());
    QVERIFY2(holds(outcome.err, other.toStdString()), outcome.err.c_str());
  }
}

void TestCliGenerate::textsThatAreNotUtf8SayWhere_data() {
  QTest::addColumn<QStringList>("flags");
  QTest::newRow("--stop") << QStringList{"--prompt", "he", "--stop", "ab"};
  QTest::newRow("--system") << QStringList{"--chat", "he", "--system", "ab"};
  QTest::newRow("--chat") << QStringList{"--chat", "ab"};
}

void TestCliGenerate::textsThatAreNotUtf8SayWhere() {
  QFETCH(QStringList, flags);
  Strings all = {"generate", "--model", m_bpe, "--kv-blocks", kBlocks};
  for (const QString& flag : flags) all.push_back(flag.toStdString());
  all.back() += "\xff";
  const CliOutcome outcome = runCli(all);
  QVERIFY2(outcome.isCleanFailure(1), outcome.err.c_str());
  QVERIFY2(holds(outcome.err, std::string(QTest::currentDataTag()) + " is not UTF-8 at byte 2"),
           outcome.err.c_str());
}

void TestCliGenerate::wrongUsageExitsTwo_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<QString>("names");
  const auto row = [](const QStringList& arguments, const char* names) {
    QTest::addRow("%s", qPrintable(arguments.join(' '))) << arguments << names;
  };
  row({}, "--prompt");
  row({"--prompt", "he", "--chat", "he"}, "--chat");
  row({"--prompt", "he", "--system", "in"}, "--system");
  row({"--prompt", "he", "--template", "x"}, "--template");
  row({"--prompt", "he", "--max-tokens", "0"}, "--max-tokens");
  row({"--prompt", "he", "--temperature", "nan"}, "--temperature");
  row({"--prompt", "he", "--temperature", "-1"}, "--temperature");
  row({"--prompt", "he", "--temperature", "1e30"}, "--temperature");
  row({"--prompt", "he", "--top-p", "1.5"}, "--top-p");
  row({"--prompt", "he", "--min-p", "2"}, "--min-p");
  row({"--prompt", "he", "--top-k", "-5"}, "--top-k");
  row({"--prompt", "he", "--top-k", "2147483648"}, "--top-k");
  row({"--prompt", "he", "--repetition-penalty", "0"}, "--repetition-penalty");
  row({"--prompt", "he", "--stop", ""}, "--stop");
  row({"--prompt", "he", "--logprobs", "-1"}, "--logprobs");
  row({"--prompt", "he", "--block-size", "12"}, "--block-size");
  row({"--prompt", "he", "--n", "0"}, "--n is 0");
  row({"--prompt", "he", "--n", "2000"}, "--n is 2000");
  row({"--prompt", "he", "--n", "3", "--best-of", "2"}, "--best-of is 2");
  row({"--prompt", "he", "--beam-width", "-1"}, "--beam-width is -1");
  row({"--prompt", "he", "--beam-width", "2", "--n", "3"}, "--n is 3");
  row({"--prompt", "he", "--beam-width", "2", "--temperature", "1"}, "--beam-width needs");
  row({"--prompt", "he", "--length-penalty", "2"}, "--length-penalty needs");
  row({"--prompt", "he", "--length-penalty", "inf", "--beam-width", "2"}, "--length-penalty");
  row({"--prompt", "he", "--early-stopping", "on"}, "--early-stopping needs");
  row({"--prompt", "he", "--speculate", "draft"}, "draft-model");
  row({"--prompt", "he", "--preset", "clever"}, "--preset");
  row({"--prompt", "he", "--kv-cache", "off", "--speculate", "ngram"}, "--speculate needs");
  row({"--prompt", "he", "--logprobs", "3"}, "--logprobs needs --json");
  row({"--prompt", "he", "--draft-model", "x"}, "--draft-model needs --speculate draft");
  row({"--prompt", "he", "--beam-width", "2", "--speculate", "ngram"}, "--beam-width needs");
  row({"--prompt", "he", "--frobnicate"}, "--frobnicate");
}

void TestCliGenerate::wrongUsageExitsTwo() {
  QFETCH(QStringList, arguments);
  QFETCH(QString, names);
  Strings all = {"generate", "--model", m_bpe};
  for (const QString& argument : arguments) all.push_back(argument.toStdString());
  const CliOutcome outcome = runCli(all);
  QVERIFY2(outcome.isCleanFailure(2), outcome.err.c_str());
  QVERIFY2(holds(outcome.err, names.toStdString()), outcome.err.c_str());
}

void TestCliGenerate::biasBeyondTheVocabularyExitsTwo() {
  test_support::TinyModelSpec spec;
  const std::string size = std::to_string(test_support::tinyVocabSize(spec));
  const CliOutcome outcome = runCli({"generate", "--model", m_bpe, "--kv-blocks", kBlocks,
                                     "--prompt", "he", "--logit-bias", size + "=1"});
  QVERIFY2(outcome.isCleanFailure(2), outcome.err.c_str());
  QVERIFY(holds(outcome.err, size));
  const json pushed = documentOf(
      {"--model", m_bpe, "--prompt", "he", "--logit-bias", "65=100", "--max-tokens", "3"});
  QCOMPARE(pushed["ids"], json(Ids{65, 65, 65}));
}

void TestCliGenerate::ctrlCGivesTheDocumentSoFar() {
  const CliOutcome outcome =
      test_support::runCliAndCancel({"generate", "--json", "--model", m_long, "--kv-blocks", "4096",
                                     "--prompt", "he", "--max-tokens", "60000", "--ignore-eos"},
                                    std::chrono::milliseconds(400));
  QCOMPARE(outcome.exitCode, 130);
  QCOMPARE(outcome.json()["finish_reason"], json("cancelled"));
  QVERIFY(outcome.json()["ids"].size() < 60000);
  QCOMPARE(outcome.json()["usage"]["completion_tokens"], json(outcome.json()["ids"].size()));
}

void TestCliGenerate::ctrlCWhileStreamingKeepsWhatWasWritten() {
  engine::CancelToken cancel;
  CancellingBuffer buffer(cancel);
  std::ostream out(&buffer);
  std::istringstream in;
  std::ostringstream err;
  app::cli::CliIo io{in, out, err, cancel};
  const Strings arguments = {"generate", "--model", m_long,         "--kv-blocks", "4096",
                             "--prompt", "he",      "--max-tokens", "60000",       "--ignore-eos"};
  QCOMPARE(app::cli::runCli(arguments, io), 130);
  const std::string written = buffer.str();
  QVERIFY(!written.empty());
  QVERIFY(!engine::text::findInvalidUtf8(written));
}

void TestCliGenerate::ctrlCBeforeTheModelIsThere() {
  const CliOutcome outcome =
      test_support::runCliAndCancel({"generate", "--json", "--model", m_long, "--kv-blocks", "4096",
                                     "--prompt", "he", "--max-tokens", "60000", "--ignore-eos"},
                                    std::chrono::milliseconds(0));
  QCOMPARE(outcome.exitCode, 130);
  QCOMPARE(outcome.json()["finish_reason"], json("cancelled"));
}

// Files in the folder of packed weights, with their numbers on the disk.
static std::map<std::string, ino_t> keptIn(const std::string& folder) {
  std::map<std::string, ino_t> kept;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    struct stat facts {};

    if (stat(entry.path().c_str(), &facts) == 0) kept[entry.path()] = facts.st_ino;
  }
  return kept;
}

void TestCliGenerate::theSecondLoadReadsThePackedWeights() {
  const Strings question = {"--model", m_bpe, "--prompt", "the in", "--max-tokens", "9"};
  const json plain = documentOf(question);
  qputenv("XDG_CACHE_HOME", m_folder.path().toUtf8() + "/cache");
  const auto cleanup = qScopeGuard([] {
    qunsetenv("XDG_CACHE_HOME");
    qputenv("TESSERA_PACKED_CACHE", "off");
  });
  qputenv("TESSERA_PACKED_CACHE", "on");
  const std::string folder = path("cache/tessera/packed");
  const json first = documentOf(question);
  const auto kept = keptIn(folder);
  if (kept.empty() && kernels::cpu::supportedIsas().empty()) QSKIP("no recipe here packs weights");
  QCOMPARE(kept.size(), std::size_t{1});
  // a file that is used is not written again, but marked as used
  const std::string file = kept.begin()->first;
  const auto longAgo = std::filesystem::file_time_type::clock::now() - std::chrono::hours(99);
  std::filesystem::last_write_time(file, longAgo);
  const json second = documentOf(question);
  QVERIFY(keptIn(folder) == kept);
  QVERIFY(std::filesystem::last_write_time(file) > longAgo + std::chrono::hours(98));
  for (const json* document : {&first, &second}) {
    for (const char* what : {"text", "ids", "logprobs"}) QCOMPARE((*document)[what], plain[what]);
  }
  documentOf(Strings{"--isa", "reference"} + question);  // packs nothing
  qputenv("TESSERA_PACKED_CACHE", "off");
  documentOf({"--model", m_plain, "--prompt", "the in", "--max-tokens", "1"});
  QVERIFY(keptIn(folder) == kept);
}

void TestCliGenerate::packedWeightsThatCannotBeKeptAreSaid() {
  if (kernels::cpu::supportedIsas().empty()) QSKIP("no recipe here packs weights");
  const Strings question = {"generate", "--json",   "--kv-blocks", kBlocks,        "--model",
                            m_bpe,      "--prompt", "the in",      "--max-tokens", "3"};
  const auto cleanup = qScopeGuard([] { qputenv("TESSERA_PACKED_CACHE", "off"); });
  const std::string folder = m_bpe + "/no-folder";
  qputenv("TESSERA_PACKED_CACHE", folder.c_str());
  const CliOutcome outcome = runCli(question);
  QCOMPARE(outcome.exitCode, 0);
  QCOMPARE(outcome.json()["ids"].size(), std::size_t{3});
  QVERIFY2(holds(outcome.err, "are not kept in " + folder), outcome.err.c_str());
  qputenv("TESSERA_PACKED_CACHE", "maybe");
  const CliOutcome refused = runCli(question);
  QVERIFY(refused.isCleanFailure(2));
  QVERIFY2(holds(refused.err, "TESSERA_PACKED_CACHE is \"maybe\""), refused.err.c_str());
}

QTEST_GUILESS_MAIN(TestCliGenerate)
#include "tst_cli_generate.moc"
