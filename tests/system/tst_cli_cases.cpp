// The handed cases (H04, H05, H09, H11, H15) through the command line, on models from a seed; documents so
// far after Ctrl-C; half characters.
#include <QtTest/QtTest>

#include <cmath>
#include <map>

#include "engine/text/utf8.h"
#include "tests/support/cli_workload.h"
#include "tests/support/tiny_vocabulary.h"

using nlohmann::json;
using test_support::CliOutcome;
using test_support::CliWorkload;
using test_support::lineOf;
using test_support::runCli;
using test_support::Strings;
using test_support::operator+;

class TestCliCases : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void aStopStringAnywhereNeverShows();
  void ofTwoStopStringsThePrefixWins();
  void aTemplateThatRefusesSaysItsOwnSentence();
  void drawsFollowTheSoftmax();
  void aPoolForThreeServesEightAlike_data();
  void aPoolForThreeServesEightAlike();
  void theContextIsUsedToItsLastPlace();
  void anUnfinishedCharacterIsLeftOutOfTheTextAlone();
  void ctrlCGivesWhatWasMeasured_data();
  void ctrlCGivesWhatWasMeasured();

 private:
  std::string path(const char* name) const { return m_rig.path(name); }

  void write(const char* name, const QByteArray& bytes) const {
    QFile file(QString::fromStdString(path(name)));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(bytes);
  }

  CliWorkload m_rig;
  std::string m_spm = m_rig.path("spm.gguf"), m_long = m_rig.path("long.gguf");
};

void TestCliCases::initTestCase() {
  test_support::TinyModelSpec spec;
  spec.context = 256;
  spec.vocabulary = test_support::TinyVocabulary::SentencePiece;
  spec.addBos = true;
  test_support::writeTinyModel(spec, m_spm);
  test_support::TinyModelSpec slow;
  slow.context = 4096;
  slow.layers = 8;
  slow.hidden = slow.ffn = 512;
  slow.heads = 8;
  slow.headDim = 64;
  test_support::writeTinyModel(slow, m_long);
}

// H04, with the pieces that a sampled answer happens to have.
void TestCliCases::aStopStringAnywhereNeverShows() {
  const Strings ask = {"generate", "--model", m_spm,    "--kv-blocks", "32",           "--prompt", "the",
                       "--seed",   "4",       "--temperature", "1",    "--max-tokens", "60",       "--ignore-eos"};
  const std::string whole = runCli(ask + Strings{"--json"}).json()["text"];
  int numTried = 0;
  for (std::size_t at = 0; at + 9 <= whole.size() && numTried < 20; ++at) {
    const std::string stop = whole.substr(at, 9);
    if (engine::text::findInvalidUtf8(stop)) continue;  // begins or ends inside a character
    ++numTried;
    const json document = runCli(ask + Strings{"--json", "--stop", stop}).json();
    QCOMPARE(document["text"], json(whole.substr(0, whole.find(stop))));
    QCOMPARE(document["finish_reason"], json("stop"));
    QCOMPARE(json(runCli(ask + Strings{"--stop", stop}).out), document["text"]);  // as it streams
  }
  QCOMPARE(numTried, 20);
}

void TestCliCases::ofTwoStopStringsThePrefixWins() {
  const Strings ask = {"generate", "--json", "--model", m_spm,    "--kv-blocks", "32",
                       "--prompt", "the",    "--seed",  "4",      "--temperature", "1",
                       "--max-tokens", "60", "--ignore-eos"};
  const std::string whole = runCli(ask).json()["text"];
  std::size_t at = 5;
  while (engine::text::findInvalidUtf8(whole.substr(at, 3)) || engine::text::findInvalidUtf8(whole.substr(at, 9))) ++at;
  const std::string stop = whole.substr(at, 9);
  const json document = runCli(ask + Strings{"--stop", stop, "--stop", whole.substr(at, 3)}).json();
  QCOMPARE(document["text"], json(whole.substr(0, whole.find(whole.substr(at, 3)))));
}

void TestCliCases::aTemplateThatRefusesSaysItsOwnSentence() {
  write("strict.jinja",
        "{% if messages[0].role=='system' %}{{ raise_exception('System role not supported') }}{% endif %}"
        "{% for m in messages %}{% if (m.role=='user') != (loop.index0 % 2 == 0) %}"
        "{{ raise_exception('roles must alternate') }}{% endif %}{{ m.content }}{% endfor %}");
  write("twice.json", R"({"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]})");
  const Strings chat = {"generate", "--model", m_rig.model(), "--kv-blocks", "32", "--max-tokens", "2",
                        "--template", path("strict.jinja"), "--chat", "he"};
  const CliOutcome refused = runCli(chat + Strings{"--system", "be brief"});
  QVERIFY2(refused.isCleanFailure(1), refused.err.c_str());
  QVERIFY2(refused.err.find("System role not supported") != std::string::npos, refused.err.c_str());
  const CliOutcome twice = runCli({"template", path("twice.json"), "--file", path("strict.jinja")});
  QVERIFY2(twice.isCleanFailure(1), twice.err.c_str());
  QVERIFY2(twice.err.find("roles must alternate") != std::string::npos, twice.err.c_str());
  QCOMPARE(runCli(chat).exitCode, 0);
}

// H09: what many seeds draw, against the probabilities that the answer itself tells.
void TestCliCases::drawsFollowTheSoftmax() {
  constexpr int kDraws = 2000;
  std::string workload;
  for (int seed = 0; seed < kDraws; ++seed) {
    workload += json{{"prompt", "on"}, {"max_tokens", 1}, {"seed", seed}, {"temperature", 1}, {"top_k", 0},
                     {"top_p", 1}, {"min_p", 0}, {"ignore_eos", true}}.dump() + "\n";
  }
  const json document = m_rig.documentOf({}, workload);
  std::map<int, int> counts;
  for (const json& request : document["requests"]) ++counts[request["ids"][0].get<int>()];
  const json asked = runCli({"generate", "--json", "--model", m_rig.model(), "--kv-blocks", "32", "--prompt", "on",
                             "--max-tokens", "1", "--ignore-eos", "--logprobs", "1000"}).json();
  double chi = 0, rest = kDraws;
  int restSeen = kDraws, cells = 0;
  for (const json& one : asked["top_logprobs"][0]) {
    const double expected = kDraws * std::exp(one[1].get<double>());
    if (expected < 5) continue;
    const int seen = counts[one[0].get<int>()];
    chi += (seen - expected) * (seen - expected) / expected;
    rest -= expected;
    restSeen -= seen;
    ++cells;
  }
  QVERIFY(cells > 10);
  if (rest >= 5) chi += (restSeen - rest) * (restSeen - rest) / rest;
  // mean `cells`, deviation sqrt(2 cells): five deviations never come by chance, and the seeds are fixed
  QVERIFY2(chi < cells + 5 * std::sqrt(2.0 * cells), qPrintable(QString("%1 over %2 cells").arg(chi).arg(cells)));
}

// H11 as it is told: room for three of 200 tokens, eight that want 150 each.
void TestCliCases::aPoolForThreeServesEightAlike_data() {
  QTest::addColumn<bool>("isSampled");
  QTest::newRow("greedy") << false;
  QTest::newRow("sampled") << true;
}

void TestCliCases::aPoolForThreeServesEightAlike() {
  QFETCH(bool, isSampled);
  std::string workload;
  for (int i = 0; i < 8; ++i) {
    json row = {{"prompt", std::string(static_cast<std::size_t>(20 + 3 * i), 'a' + char(i))},
                {"max_tokens", 150}, {"ignore_eos", true}};
    if (isSampled) row.update({{"temperature", 0.8}, {"seed", 5}, {"repetition_penalty", 1.3}});
    workload += row.dump() + "\n";
  }
  const json roomy = m_rig.documentOf(lineOf("--max-seqs 1"), workload);  // each alone
  const json tight = m_rig.documentOf(lineOf("--block-size 8 --kv-blocks 75"), workload);
  QVERIFY(tight["engine"]["preemptions"].get<int>() > 0);
  QCOMPARE(tight["engine"]["leaked_blocks"], json(0));
  QVERIFY(tight["engine"]["peak_blocks"].get<int>() <= 75);
  for (std::size_t i = 0; i < 8; ++i) {
    for (const char* field : {"prompt_ids", "ids", "text", "logprobs", "row_hashes", "finish_reason"}) {
      QCOMPARE(tight["requests"][i][field], roomy["requests"][i][field]);
    }
    QCOMPARE(tight["requests"][i]["ids"].size(), std::size_t{150});
  }
  QCOMPARE(tight["metrics"]["total_output_tokens"], json(8 * 150));
}

// H15: prompts of C-3, C-1, C and C+1 tokens at a context of C.
void TestCliCases::theContextIsUsedToItsLastPlace() {
  constexpr std::size_t kContext = 40;
  const auto ask = [&](std::size_t tokens) {
    const json row = {{"prompt_ids", std::vector<int>(tokens, 126)}, {"max_tokens", 10}, {"ignore_eos", true}};
    return m_rig.documentOf({"--max-context", "40"}, row.dump() + "\n")["requests"][0];
  };
  QCOMPARE(ask(kContext - 3)["ids"].size(), std::size_t{3});
  QCOMPARE(ask(kContext - 3)["finish_reason"], json("length"));
  QCOMPARE(ask(kContext - 1)["ids"].size(), std::size_t{1});
  for (const std::size_t tokens : {kContext, kContext + 1, std::size_t{5000}}) {
    const json refused = ask(tokens);
    QCOMPARE(refused["finish_reason"], json("refused"));
    const std::string reason = refused["reason"];
    QVERIFY2(reason.find(std::to_string(tokens)) != std::string::npos && reason.find("40") != std::string::npos,
             reason.c_str());
  }
}

// `text` has whole characters only; the ids have everything, so nothing is lost.
void TestCliCases::anUnfinishedCharacterIsLeftOutOfTheTextAlone() {
  // 0xF0 begins a character of four bytes: it is byte 3 + 0xF0 of the vocabulary
  const std::string lead = std::to_string(test_support::kTinySpmByte0 + 0xF0);
  const Strings ask = {"generate", "--model", m_spm, "--kv-blocks", "16", "--prompt", "he", "--max-tokens", "1",
                       "--logit-bias", lead + "=100"};
  const json document = runCli(ask + Strings{"--json"}).json();
  QCOMPARE(document["text"], json(""));
  QCOMPARE(document["ids"], json(std::vector<int>{test_support::kTinySpmByte0 + 0xF0}));
  QCOMPARE(document["usage"]["completion_tokens"], json(1));
  QCOMPARE(runCli(ask).out, std::string());
  // the bytes can be had
  const json bytes = runCli({"detokenize", lead, "--model", m_spm, "--json"}).json();
  QCOMPARE(bytes["bytes_hex"], json("f0"));
}

void TestCliCases::ctrlCGivesWhatWasMeasured_data() {
  QTest::addColumn<QString>("arguments");
  QTest::addColumn<QStringList>("fields");
  const QString text = QString::fromStdString(path("much.txt"));
  QTest::newRow("score") << "score " + QString::fromStdString(path("some.txt")) << QStringList{"ids", "mean_nll", "last_top"};
  QTest::newRow("perplexity") << "perplexity --context 256 " + text << QStringList{"ppl", "stderr", "chunks"};
  QTest::newRow("divergence") << "divergence --kv-dtype f16 --context 256 " + text
                              << QStringList{"mean_kld", "p99_kld", "max_kld", "top1", "rms_dp", "ppl_ratio"};
  QTest::newRow("write a base") << "divergence --context 256 --write-base " + QString::fromStdString(path("base.bin")) + " " + text
                                << QStringList{"base", "chunks"};
  QTest::newRow("bench") << "bench --prompt-tokens 64 --gen-tokens 64 --repeats 1000 --batch 1"
                         << QStringList{"isa", "threads", "prompt_tokens", "gen_tokens", "rows"};
  QTest::newRow("generate") << "generate --prompt he --max-tokens 4000 --ignore-eos"
                            << QStringList{"text", "ids", "prompt_ids", "logprobs", "finish_reason", "usage", "timings", "speculation"};
}

void TestCliCases::ctrlCGivesWhatWasMeasured() {
  QFETCH(QString, arguments);
  QFETCH(QStringList, fields);
  write("much.txt", QByteArray("~z~").repeated(200'000));
  write("some.txt", QByteArray("~z~").repeated(1300));
  const Strings all = lineOf(arguments) + Strings{"--json", "--model", m_long, "--isa", "reference", "--threads", "1"};
  for (const int ms : {0, 2500}) {
    const CliOutcome outcome = test_support::runCliAndCancel(all, std::chrono::milliseconds(ms));
    QCOMPARE(outcome.exitCode, 130);
    const json document = outcome.json();
    QVERIFY2(document.is_object(), outcome.out.c_str());
    QCOMPARE(document["cancelled"], json(true));
    for (const QString& field : fields) QVERIFY2(document.contains(field.toStdString()), qPrintable(field));
    QCOMPARE(document.size(), std::size_t(fields.size() + 1));
  }
  const CliOutcome inWords = test_support::runCliAndCancel(
      lineOf(arguments) + Strings{"--model", m_long, "--isa", "reference", "--threads", "1"}, std::chrono::milliseconds(0));
  QCOMPARE(inWords.exitCode, 130);
}

QTEST_GUILESS_MAIN(TestCliCases)
#include "tst_cli_cases.moc"
