// Long prompts that become tokens beside the steps of others: with a toy model whose conversations
// are rendered when the test says so.
// labels: contract threads
#include <QtTest>
#include <algorithm>
#include <string>

#include "tests/support/service_bench.h"

using namespace engine;
using namespace test_support;

namespace {

constexpr std::size_t kLongBytes = 10'000;

RequestSpec longChat(std::int64_t maxTokens) {
  RequestSpec spec = textRequest("", greedy(maxTokens));
  spec.prompt = ChatPrompt{R"({"messages":[{"role":"user","content":")" +
                               std::string(kLongBytes, 'a') + R"("}]})", ""};
  return spec;
}

// One request that goes on and on, and a long conversation that nobody renders yet.
struct Held : ServiceBench {
  RequestId steady, held;

  bool begin() {
    EngineConfig config;
    config.load.modelPath = "toy";
    config.load.kvBlocks = 4000;
    config.load.blockSize = 4;
    config.load.maxContext = 15'000;
    if (!client.load(config)) return false;
    control->stepDelayMs = 1;
    control->holdsChats = true;
    steady = client.submit("steady", greedy(10'000));
    if (!client.waitFor([&] { return !client.request(steady).ids.empty(); })) return false;
    held = client.submit(longChat(3));
    return client.waitFor([&] {
      const auto& requests = client.snapshot()->requests;
      return std::ranges::any_of(requests, [&](const RequestSnapshot& request) {
        return request.id == held && request.state == RequestState::Tokenising;
      });
    });
  }

  bool stepsGoOn() {
    const std::size_t before = client.request(steady).ids.size();
    return client.waitFor([&] { return client.request(steady).ids.size() > before + 10; });
  }

  ~Held() { control->holdsChats = false; }  // or the engine could not end
};

}  // namespace

class TestSessionPrompts : public QObject {
  Q_OBJECT

 private slots:

  void stepsGoOnWhileALongPromptBecomesTokens() {
    Held bench;
    QVERIFY(bench.begin());
    QVERIFY(bench.stepsGoOn());
    const RequestId shorter = bench.client.submit("a short one behind it", greedy(3));
    QVERIFY(bench.client.waitForEnd(shorter));
    QCOMPARE(bench.client.request(bench.held).numFinished, 0);
    bench.control->holdsChats = false;
    QVERIFY(bench.client.waitForEnd(bench.held));
    const ClientRequest& beside = bench.client.request(bench.held);
    QVERIFY(beside.finished.reason == FinishReason::Length);
    QVERIFY(beside.finished.times.tokenisedNs > beside.finished.times.arrivalNs);
    bench.client.send(Cancel{bench.steady});
    QVERIFY(bench.comesToRest());
    const RequestId alone = bench.client.submit(longChat(3));  // nobody steps: at once
    QVERIFY(bench.client.waitForEnd(alone));
    QCOMPARE(bench.client.request(alone).promptIds, beside.promptIds);
    QCOMPARE(bench.client.request(alone).ids, beside.ids);
  }

  void aCancelIsHeardWhileALongPromptBecomesTokens() {
    Held bench;
    QVERIFY(bench.begin());
    bench.client.send(Cancel{bench.held});
    QVERIFY(bench.client.waitForEnd(bench.held));  // though it is still held
    QVERIFY(bench.client.request(bench.held).finished.reason == FinishReason::Cancelled);
    QVERIFY(bench.client.request(bench.held).finished.times.arrivalNs >= 0);
    QVERIFY(bench.stepsGoOn());
    bench.control->holdsChats = false;  // what comes of it now is nobody's
    QVERIFY(bench.stepsGoOn());
    bench.client.send(Cancel{bench.steady});
    QVERIFY(bench.comesToRest());
  }

  void unloadingTheModelEndsWhatIsNotTokensYet() {
    Held bench;
    QVERIFY(bench.begin());
    bench.client.send(UnloadModel{});
    QVERIFY(bench.client.waitForEnd(bench.held));
    QVERIFY(bench.client.request(bench.held).finished.reason == FinishReason::Cancelled);
    QVERIFY(bench.client.request(bench.held).finished.explanation.find("unloaded") !=
            std::string::npos);
    bench.control->holdsChats = false;
    QVERIFY(bench.load());
    const RequestId next = bench.client.submit("next", greedy(3));
    QVERIFY(bench.client.waitForEnd(next));
    QCOMPARE(bench.client.request(next).ids.size(), std::size_t{3});
  }

  void aRefusalComesWhenTheTokensAreCounted() {
    Held bench;
    QVERIFY(bench.begin());
    const RequestId tooLong = bench.client.submit(std::string(20'000, 'x'), greedy(3));
    QVERIFY(bench.stepsGoOn());  // it stands behind the held one
    QCOMPARE(bench.client.request(tooLong).numFinished, 0);
    bench.control->holdsChats = false;
    QVERIFY(bench.client.waitForEnd(tooLong));
    QVERIFY(bench.client.request(tooLong).finished.reason == FinishReason::Refused);
    QCOMPARE(bench.client.request(tooLong).finished.explanation,
             std::string("the prompt has 20000 tokens; the context holds 15000, and 1 must be left "
                         "to answer"));
  }

  void questionsAboutLongTextsAreAnsweredBesideTheSteps() {
    Held bench;
    QVERIFY(bench.begin());
    bench.client.send(Query{QueryId(1), TokenizeQuery{std::string(20'000, 'x')}});
    QVERIFY(bench.stepsGoOn());
    QVERIFY(!bench.client.answers.contains(QueryId(1)));
    bench.client.send(Query{QueryId(2), TokenizeQuery{"abc"}});  // a short one waits for nobody
    QVERIFY(bench.client.waitFor([&] { return bench.client.answers.contains(QueryId(2)); }));
    bench.control->holdsChats = false;
    QVERIFY(bench.client.waitFor([&] { return bench.client.answers.contains(QueryId(1)); }));
    QCOMPARE(std::get<0>(bench.client.answers[QueryId(1)].answer).size(), std::size_t{20'000});
  }

  // What a paused engine does after a Resume must not depend on another thread.
  void aPausedEngineKnowsItsTokensBeforeItGoesOn() {
    Held bench;
    QVERIFY(bench.begin());
    bench.control->holdsChats = false;
    QVERIFY(bench.client.waitForEnd(bench.held));
    bench.client.send(Pause{});
    QVERIFY(bench.client.waitForState(EngineState::Paused));
    const RequestId sent = bench.client.submit(longChat(3));
    bench.client.send(Query{QueryId(3), TokenizeQuery{"abc"}});  // answered after it
    QVERIFY(bench.client.waitFor([&] { return bench.client.answers.contains(QueryId(3)); }));
    QVERIFY(bench.client.request(sent).isStarted);
  }
};

QTEST_GUILESS_MAIN(TestSessionPrompts)
#include "tst_session_prompts.moc"
