// Several answers and a draft model from the command line, on generated models.
#include <QtTest/QtTest>

#include <numeric>

#include "tests/support/cli_runner.h"
#include "tests/support/tiny_model.h"

using nlohmann::json;
using test_support::CliOutcome;
using test_support::runCli;
using Strings = std::vector<std::string>;

class TestCliChoices : public QObject {
  Q_OBJECT

 private slots:

  void initTestCase() {
    test_support::TinyModelSpec spec;
    spec.context = 512;
    m_model = path("tiny.gguf");
    test_support::writeTinyModel(spec, m_model);
    spec.seed = 7;
    spec.layers = 1;
    spec.hidden = 32;
    spec.heads = 2;
    spec.ffn = 32;
    m_draft = path("draft.gguf");
    test_support::writeTinyModel(spec, m_draft);
    spec.vocabulary = test_support::TinyVocabulary::SentencePiece;
    m_foreign = path("foreign.gguf");
    test_support::writeTinyModel(spec, m_foreign);
  }

  void generateListsItsChoices() {
    const json document = generate({"--n", "4", "--temperature", "0.8", "--seed", "3"});
    QCOMPARE(document["choices"].size(), std::size_t{4});
    std::int64_t sum = 0;
    for (const json& choice : document["choices"]) {
      sum += std::int64_t(choice["ids"].size());
      QCOMPARE(choice["ids"].size(), choice["logprobs"].size());
      QVERIFY(choice.contains("text") && choice.contains("finish_reason"));
    }
    QCOMPARE(document["usage"]["completion_tokens"], json(sum));
    QCOMPARE(document["usage"]["prompt_tokens"], json(document["prompt_ids"].size()));
    const json single = generate({"--temperature", "0.8", "--seed", "3"});
    QVERIFY(!single.contains("choices"));
    QCOMPARE(document["choices"][0]["ids"], single["ids"]);
    QCOMPARE(document["ids"], single["ids"]);
    QCOMPARE(generate({"--n", "1"})["choices"].size(), std::size_t{1});
  }

  void beamsComeBestFirst() {
    const json document = generate({"--beam-width", "3", "--length-penalty", "0.5"});
    QCOMPARE(document["choices"].size(), std::size_t{3});
    for (std::size_t i = 0; i < 3; ++i) {
      const json& choice = document["choices"][i];
      const double prompt = static_cast<double>(document["prompt_ids"].size());
      const auto logprobs = choice["logprobs"].get<std::vector<double>>();
      const double sum = std::accumulate(logprobs.begin(), logprobs.end(), 0.0);
      QVERIFY(std::abs(choice["cumulative_logprob"].get<double>() - sum) < 1e-4);
      const bool hasEnd = choice["finish_reason"] == "stop";
      const double length = prompt + static_cast<double>(logprobs.size()) - (hasEnd ? 1 : 0);
      QVERIFY(std::abs(choice["score"].get<double>() - sum / std::sqrt(length)) < 1e-4);
      if (i > 0) QVERIFY(choice["score"] <= document["choices"][i - 1]["score"]);
    }
    QCOMPARE(document["ids"], document["choices"][0]["ids"]);
  }

  void textShowsEveryAnswer() {
    const CliOutcome outcome =
        runCli({"generate", "--model", m_model, "--kv-blocks", "200", "--prompt", "he", "--n", "2",
                "--max-tokens", "5", "--temperature", "1"});
    QCOMPARE(outcome.exitCode, 0);
    QVERIFY(outcome.out.find("--- 1 of 2\n") == 0);
    QVERIFY(outcome.out.find("--- 2 of 2\n") != std::string::npos);
  }

  // 300 tokens in blocks of 16: three of the four copy the last block, of 12.
  void runCountsTheCopies() {
    const std::string workload =
        R"({"id":"four","prompt_tokens":300,"n":4,"max_tokens":8,"temperature":0.9,"ignore_eos":true})"
        "\n";
    const json document = run({}, workload);
    QCOMPARE(document["engine"]["cow_copies"], json(3));
    QCOMPARE(document["engine"]["leaked_blocks"], json(0));
    const json& request = document["requests"][0];
    QCOMPARE(request["choices"].size(), std::size_t{4});
    QCOMPARE(request["choices"][0]["row_hashes"], request["row_hashes"]);
    QCOMPARE(document["metrics"]["total_output_tokens"], json(32));
    const json tight = run({"--block-size", "8", "--kv-blocks", "44", "--max-batched-tokens", "50"},
                           workload + R"({"prompt":"mate","max_tokens":60})" + "\n");
    QCOMPARE(tight["requests"][0]["choices"], request["choices"]);
  }

  void aDraftModelChangesNoGreedyAnswerAndIsCounted() {
    const json plain = generate({"--max-tokens", "60"});
    for (const std::string& draft : {m_model, m_draft}) {
      const json drafted = generate({"--max-tokens", "60", "--speculate", "draft", "--draft-model",
                                     draft, "--speculate-adaptive", "off"});
      QCOMPARE(drafted["ids"], plain["ids"]);
      QCOMPARE(drafted["logprobs"], plain["logprobs"]);
      const json& done = drafted["speculation"];
      QVERIFY(done["passes"].get<int>() > 5);
      if (draft == m_model) QCOMPARE(done["accepted"], done["drafted"]);
    }
    const json adaptive =
        generate({"--max-tokens", "200", "--speculate", "draft", "--draft-model", m_draft});
    QVERIFY(adaptive["speculation"]["plain_ms_per_token"].is_number());
    QVERIFY(adaptive["speculation"]["saved_ms"].is_number());
    QVERIFY(adaptive["speculation"]["drafted"].get<int>() > 0);
  }

  void aDraftOfAnotherVocabularyIsRefusedWithTheReason() {
    const CliOutcome outcome =
        runCli({"generate", "--json", "--model", m_model, "--prompt", "he", "--speculate", "draft",
                "--draft-model", m_foreign});
    QVERIFY2(outcome.isCleanFailure(1), outcome.err.c_str());
    QVERIFY2(outcome.err.find("another vocabulary: token 0 is") != std::string::npos,
             outcome.err.c_str());
    const CliOutcome missing =
        runCli({"generate", "--json", "--model", m_model, "--prompt", "he", "--speculate", "draft",
                "--draft-model", path("none.gguf")});
    QVERIFY2(missing.isCleanFailure(1), missing.err.c_str());
  }

 private:
  std::string path(const char* name) const { return (m_folder.path() + "/" + name).toStdString(); }

  json generate(const Strings& flags) const {
    Strings all = {"generate",     "--json",  "--model",  m_model, "--kv-blocks", "200",
                   "--max-tokens", "24",      "--prompt", "the one in the other"};
    all.insert(all.end(), flags.begin(), flags.end());
    const CliOutcome outcome = runCli(all);
    if (outcome.exitCode != 0) qFatal("%s", outcome.err.c_str());
    return outcome.json();
  }

  json run(const Strings& flags, const std::string& workload) const {
    Strings all = {"run",         "--json", "--model", m_model, "--workload", "-",
                   "--kv-blocks", "200",    "--as-fast-as-possible"};
    all.insert(all.end(), flags.begin(), flags.end());
    const CliOutcome outcome = runCli(all, workload);
    if (outcome.exitCode != 0) qFatal("%s", outcome.err.c_str());
    return outcome.json();
  }

  QTemporaryDir m_folder;
  std::string m_model, m_draft, m_foreign;
};

QTEST_GUILESS_MAIN(TestCliChoices)
#include "tst_cli_choices.moc"
