// What a request may be, and the one sentence for everything else (H15, the engine's part).
// labels: contract threads
#include <algorithm>
#include <functional>

#include <QtTest>

#include "tests/support/service_bench.h"

using namespace engine;
using namespace test_support;

class TestPromptEncoder : public QObject {
  Q_OBJECT

 private slots:

  // H15, the engine's part.
  void badRequestsAreRefusedWithOneSentence_data() {
    using Change = std::function<void(RequestSpec&)>;
    QTest::addColumn<Change>("change");
    QTest::addColumn<QStringList>("words");
    const auto row = [](const char* name, Change change, QStringList words) {
      QTest::addRow("%s", name) << std::move(change) << std::move(words);
    };
    const auto prompt = [](std::string text) {
      return [text](RequestSpec& s) { s.prompt = TextPrompt{text}; };
    };
    const auto chat = [](std::string json) {
      return [json](RequestSpec& s) { s.prompt = ChatPrompt{json, ""}; };
    };
    row("empty prompt", prompt(""), {"empty", "1 token"});
    row("no ids", [](RequestSpec& s) { s.prompt = TokenPrompt{}; }, {"empty"});
    row("id too large", [](RequestSpec& s) { s.prompt = TokenPrompt{{1, 258}}; }, {"258", "257"});
    row("negative id", [](RequestSpec& s) { s.prompt = TokenPrompt{{-1}}; }, {"-1"});
    row("not UTF-8", prompt("ab\xff"), {"2"});
    row("exactly the context", prompt(std::string(256, 'a')), {"256"});
    row("one more than the context", prompt(std::string(257, 'a')), {"257", "256"});
    row("far too long", prompt(std::string(5000, 'a')), {"5000", "256"});
    row("pool too small",
        [](RequestSpec& s) {
          s.prompt = TextPrompt{std::string(100, 'a')};
          s.sampling.maxTokens = 120;
        },
        {"55", "50"});
    row("no tokens asked", [](RequestSpec& s) { s.sampling.maxTokens = 0; }, {"max-tokens", "0"});
    row("negative tokens", [](RequestSpec& s) { s.sampling.maxTokens = -1; }, {"max-tokens", "-1"});
    row("temperature", [](RequestSpec& s) { s.sampling.temperature = -1; }, {"temperature", "-1"});
    row("bias outside the vocabulary",
        [](RequestSpec& s) {
          s.sampling.logitBias = {{258, 1.0f}};
        },
        {"logit-bias", "258"});
    row("several answers", [](RequestSpec& s) { s.sampling.n = 2000; }, {"n is 2000"});
    row("no messages", chat("{}"), {"messages"});
    row("empty messages", chat(R"({"messages":[]})"), {"messages", "empty"});
    row("broken conversation", chat("{"), {"JSON"});
  }

  void badRequestsAreRefusedWithOneSentence() {
    QFETCH(std::function<void(RequestSpec&)>, change);
    QFETCH(QStringList, words);
    ServiceBench bench;
    QVERIFY(bench.load(50, 4));
    RequestSpec spec = textRequest("fine", greedy(4));
    change(spec);
    const RequestId bad = bench.client.submit(spec);
    const RequestId good = bench.client.submit("a good request after it", greedy(4));
    QVERIFY(bench.client.waitForAll());
    const RequestFinished& finished = bench.client.request(bad).finished;
    QVERIFY(finished.reason == FinishReason::Refused);
    const QString sentence = QString::fromStdString(finished.explanation);
    for (const QString& word : words) QVERIFY2(sentence.contains(word), qPrintable(sentence));
    QVERIFY(!sentence.contains('\n') && !sentence.isEmpty());
    QVERIFY(!bench.client.request(bad).isStarted);
    QCOMPARE(bench.client.request(good).ids.size(), std::size_t{4});
    QVERIFY(bench.comesToRest());
  }

  void promptsUpToTheContextRunAndEndWithLength() {
    ServiceBench bench;
    QVERIFY(bench.load(80, 4));
    const RequestId one = bench.client.submit("abc", greedy(1));
    const RequestId edge = bench.client.submit(std::string(255, 'a'), greedy(10));
    const RequestId near = bench.client.submit(std::string(253, 'b'), greedy(10));
    QVERIFY(bench.client.waitForAll());
    QCOMPARE(bench.client.request(one).ids.size(), std::size_t{1});
    QVERIFY(bench.client.request(edge).finished.reason == FinishReason::Length);
    QCOMPARE(bench.client.request(edge).ids.size(), std::size_t{1});
    QCOMPARE(bench.client.request(near).ids.size(), std::size_t{3});
    QVERIFY(bench.client.request(near).finished.reason == FinishReason::Length);
    QVERIFY(bench.client.request(near).finished.explanation.find("256") != std::string::npos);
    QVERIFY(bench.comesToRest());
  }

  void anEmptyPromptRunsWhereTheModelAddsABeginning() {
    ServiceBench bench;
    QVERIFY(bench.load(64, 4, "bos model"));
    const RequestId id = bench.client.submit("", greedy(3));
    QVERIFY(bench.client.waitForEnd(id));
    QCOMPARE(bench.client.request(id).promptIds, (std::vector<TokenId>{1}));
    QCOMPARE(bench.client.request(id).ids.size(), std::size_t{3});
  }

  void aConversationNeedsATemplate() {
    ServiceBench bench;
    QVERIFY(bench.load(64, 4, "nochat"));
    RequestSpec spec = textRequest("", greedy(3));
    spec.prompt = ChatPrompt{R"({"messages":[{"role":"user","content":"hi"}]})", ""};
    const RequestId id = bench.client.submit(spec);
    QVERIFY(bench.client.waitForEnd(id));
    QVERIFY(bench.client.request(id).finished.reason == FinishReason::Refused);
    QVERIFY(bench.client.request(id).finished.errorCode == ErrorCode::Unsupported);
  }

  void userTextNeverBecomesAControlToken() {
    ServiceBench bench;
    QVERIFY(bench.load());
    RequestSpec spec = textRequest("", greedy(1));
    spec.prompt = ChatPrompt{R"({"messages":[{"role":"user","content":"a<end>"}]})", ""};
    const RequestId id = bench.client.submit(spec);
    QVERIFY(bench.client.waitForEnd(id));
    const auto& ids = bench.client.request(id).promptIds;
    QCOMPARE(std::count(ids.begin(), ids.end(), kFakeEnd), 1);
    QCOMPARE(ids.size(), std::size_t{5 + 6 + 1});
  }
};

QTEST_GUILESS_MAIN(TestPromptEncoder)
#include "tst_prompt_encoder.moc"
