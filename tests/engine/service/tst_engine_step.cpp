// Steps with a toy model: the same answers however scheduled, stops, and faults that stay small.
// labels: contract threads
#include <utility>
#include <vector>

#include <QtTest>

#include "tests/support/service_bench.h"

using namespace engine;
using namespace test_support;

class TestEngineStep : public QObject {
  Q_OBJECT

 private slots:

  // H11 with the toy model: a pool for three, eight requests, greedy and sampled with penalties.
  void aPreemptedRequestGivesTheSameAnswer_data() {
    QTest::addColumn<bool>("isSampled");
    QTest::addRow("greedy") << false;
    QTest::addRow("sampled") << true;
  }

  void aPreemptedRequestGivesTheSameAnswer() {
    QFETCH(bool, isSampled);
    const auto specOf = [&](int i) {
      RequestSpec spec = textRequest("prompt number " + std::to_string(i),
                                     isSampled ? seeded(150, 5) : greedy(150));
      spec.wantRowHashes = true;
      return spec;
    };
    std::vector<ClientRequest> alone;
    for (int i = 0; i < 8; ++i) {
      ServiceBench bench;
      QVERIFY(bench.load(400, 16));
      const RequestId id = bench.client.submit(specOf(i));
      QVERIFY(bench.client.waitForEnd(id));
      alone.push_back(bench.client.request(id));
    }
    ServiceBench bench;
    QVERIFY(bench.load(3 * 200 / 16, 16));
    std::vector<RequestId> ids;
    for (int i = 0; i < 8; ++i) ids.push_back(bench.client.submit(specOf(i)));
    QVERIFY(bench.comesToRest());
    QVERIFY(bench.client.snapshot()->counters.preemptions > 0);
    for (std::size_t i = 0; i < 8; ++i) {
      const ClientRequest& r = bench.client.request(ids[i]);
      QCOMPARE(r.ids, alone[i].ids);
      QCOMPARE(r.rowHashes, alone[i].rowHashes);
      QCOMPARE(r.text, alone[i].text);
      QCOMPARE(r.finished.usage.completionTokens, 150);
    }
  }

  void knobsChangeNoAnswer() {
    std::vector<std::vector<TokenId>> expected;
    for (const int budget : {512, 7, 1}) {
      for (const int maxSeqs : {64, 2}) {
        for (const int blockSize : {1, 16}) {
          ServiceBench bench;
          QVERIFY(bench.load(blockSize == 1 ? 900 : 60, blockSize));
          SchedulerLimits limits;
          limits.maxBatchedTokens = budget;
          limits.maxSeqs = maxSeqs;
          bench.client.send(SetLimits{limits});
          for (int i = 0; i < 5; ++i) {
            bench.client.submit(std::string(static_cast<std::size_t>(3 + 9 * i), 'a'),
                                seeded(12, 3));
          }
          QVERIFY(bench.comesToRest());
          std::vector<std::vector<TokenId>> ids;
          for (const auto& [id, request] : bench.client.requests()) ids.push_back(request.ids);
          if (expected.empty()) expected = ids;
          QCOMPARE(ids, expected);
        }
      }
    }
  }

  void theEndTokenStopsUnlessIgnored() {
    ServiceBench bench;
    QVERIFY(bench.load());
    bench.control->neverEnds = false;
    SamplingParams params = greedy(50);
    params.logitBias = {{kFakeEnd, 100.0f}};
    const RequestId stops = bench.client.submit("abc", params);
    params.ignoreEos = true;
    const RequestId goesOn = bench.client.submit("abc", params);
    QVERIFY(bench.client.waitForAll());
    const ClientRequest& r = bench.client.request(stops);
    QVERIFY(r.finished.reason == FinishReason::Stop);
    QCOMPARE(r.ids, (std::vector<TokenId>{kFakeEnd}));
    QCOMPARE(r.text, std::string());
    QCOMPARE(bench.client.request(goesOn).ids.size(), std::size_t{50});
    QVERIFY(bench.client.request(goesOn).finished.reason == FinishReason::Length);
  }

  // H04: cut in the middle of what would have been written, wherever it begins.
  void aStopStringNeverLeaks() {
    ServiceBench bench;
    QVERIFY(bench.load(200, 4));
    SamplingParams params = greedy(60);
    for (TokenId id = 128; id < 256; ++id)
      params.logitBias.push_back({id, -100.0f});  // plain ASCII
    const RequestId whole = bench.client.submit("tell me", params);
    QVERIFY(bench.client.waitForEnd(whole));
    const std::string text = bench.client.request(whole).text;
    QCOMPARE(text.size(), std::size_t{60});
    std::vector<std::pair<RequestId, std::string>> cut;
    for (std::size_t p = 1; p + 9 < 60; p += 3) {
      const std::string stop = text.substr(p, 9);
      params.stop = {stop};
      cut.emplace_back(bench.client.submit("tell me", params), text.substr(0, text.find(stop)));
    }
    QVERIFY(bench.client.waitForAll());
    for (const auto& [id, expected] : cut) {
      QCOMPARE(bench.client.request(id).text, expected);
      QVERIFY(bench.client.request(id).finished.reason == FinishReason::Stop);
      QCOMPARE(bench.client.request(id).ids.size(), expected.size() + 9);
    }
  }

  void oneBadRowFailsOneRequest() {
    ServiceBench bench;
    QVERIFY(bench.load());
    const RequestId alone = bench.client.submit("the healthy one", greedy(20));
    QVERIFY(bench.client.waitForEnd(alone));
    RequestSpec poisoned = textRequest("", greedy(20));
    poisoned.prompt = TokenPrompt{{'a', kFakePoison, 'b'}};
    const RequestId bad = bench.client.submit(poisoned);
    const RequestId good = bench.client.submit("the healthy one", greedy(20));
    QVERIFY(bench.client.waitForAll());
    QVERIFY(bench.client.request(bad).finished.reason == FinishReason::Failed);
    QVERIFY(bench.client.request(bad).finished.explanation.find("nan") != std::string::npos);
    QCOMPARE(bench.client.request(good).ids, bench.client.request(alone).ids);
    QVERIFY(bench.comesToRest());
  }

  void aFailedStepEndsOneRequestAndTheOthersAreRightStill() {
    ServiceBench bench;
    QVERIFY(bench.load());
    const RequestId alone = bench.client.submit("first", greedy(30));
    QVERIFY(bench.client.waitForEnd(alone));
    bench.client.send(Pause{});
    const RequestId first = bench.client.submit("first", greedy(30));
    const RequestId second = bench.client.submit("second", greedy(30));
    bench.client.send(StepOnce{3});
    QVERIFY(bench.client.waitFor([&] { return bench.client.request(first).ids.size() == 3; }));
    bench.control->stepsToFail = 1;
    bench.client.send(Resume{});
    QVERIFY(bench.client.waitForAll());
    QVERIFY(bench.client.request(second).finished.reason == FinishReason::Failed);
    QCOMPARE(bench.client.request(second).finished.explanation, std::string("the device failed"));
    QCOMPARE(bench.client.request(first).ids, bench.client.request(alone).ids);
    QVERIFY(bench.comesToRest());
  }

  void aFaultThatStaysLatchesAndTheEngineStillAnswers_data() {
    QTest::addColumn<bool>("throws");
    QTest::addRow("device") << false;
    QTest::addRow("exception") << true;
  }

  void aFaultThatStaysLatchesAndTheEngineStillAnswers() {
    QFETCH(bool, throws);
    ServiceBench bench;
    QVERIFY(bench.load());
    if (throws) {
      bench.control->throwsNext = true;
    } else {
      bench.control->stepsToFail = 1000;
    }
    for (int i = 0; i < 5; ++i) bench.client.submit("abc", greedy(30));
    QVERIFY(bench.client.waitForAll());
    QVERIFY(bench.client.waitForState(EngineState::Failed));
    QVERIFY(!bench.client.snapshot()->failure.empty());
    for (const auto& [id, request] : bench.client.requests()) {
      QVERIFY(request.finished.reason == FinishReason::Failed ||
              request.finished.reason == FinishReason::Refused);
      QVERIFY(!request.finished.explanation.empty());
      QCOMPARE(request.numFinished, 1);
    }
    const RequestId later = bench.client.submit("abc", greedy(3));
    QVERIFY(bench.client.waitForEnd(later));
    QVERIFY(bench.client.request(later).finished.reason == FinishReason::Refused);
    // a model chosen anew heals it
    bench.control->stepsToFail = 0;
    QVERIFY(bench.load());
    const RequestId healed = bench.client.submit("abc", greedy(3));
    QVERIFY(bench.client.waitForEnd(healed));
    QCOMPARE(bench.client.request(healed).ids.size(), std::size_t{3});
  }
};

QTEST_GUILESS_MAIN(TestEngineStep)
#include "tst_engine_step.moc"
