// The engine thread with a toy model: answers, events, cancel, pause, knobs, questions, shutdown.
// labels: contract threads timed
#include <chrono>
#include <map>
#include <random>
#include <thread>

#include <QtTest>

#include "tests/support/service_bench.h"

using namespace engine;
using namespace test_support;

namespace {

int countEvents(const EngineClient& client, RequestId id, RequestEvent event) {
  int count = 0;
  for (const TraceEvent& e : client.events) {
    count +=
        e.kind == TraceKind::Request && e.request.request == id.value && e.request.event == event;
  }
  return count;
}

}  // namespace

class TestEngineService : public QObject {
  Q_OBJECT

 private slots:

  void anAnswerHasIdsTextLogprobsUsageAndTimes() {
    ServiceBench bench;
    QVERIFY(bench.load());
    SamplingParams params = greedy(10);
    params.topLogprobs = 3;
    RequestSpec spec = textRequest("hello", params);
    spec.wantRowHashes = true;
    const RequestId id = bench.client.submit(spec);
    QVERIFY(bench.client.waitForEnd(id));
    const ClientRequest& r = bench.client.request(id);
    QCOMPARE(r.promptIds, (std::vector<TokenId>{'h', 'e', 'l', 'l', 'o'}));
    QCOMPARE(r.ids.size(), std::size_t{10});
    QVERIFY(r.finished.reason == FinishReason::Length);
    QCOMPARE(r.finished.usage.promptTokens, 5);
    QCOMPARE(r.finished.usage.completionTokens, 10);
    for (std::size_t i = 0; i < 10; ++i) {
      QVERIFY(r.logprobs[i] < 0.0f);
      QVERIFY(r.rowHashes[i] != 0);
      QCOMPARE(r.top[i].size(), std::size_t{3});
      QCOMPARE(r.top[i][0].id, r.ids[i]);
      QCOMPARE(r.top[i][0].logprob, r.logprobs[i]);
    }
    const RequestTimes& t = r.finished.times;
    QVERIFY(0 <= t.arrivalNs && t.arrivalNs <= t.tokenisedNs && t.tokenisedNs <= t.admittedNs);
    QVERIFY(t.admittedNs <= t.prefilledNs && t.prefilledNs <= t.firstTokenNs);
    QVERIFY(t.firstTokenNs < t.lastTokenNs && t.lastTokenNs <= t.finishedNs);
    QVERIFY(bench.comesToRest());
  }

  void everyEventOfARequestIsTold() {
    ServiceBench bench;
    QVERIFY(bench.load());
    const RequestId id = bench.client.submit("hello there", greedy(6));
    QVERIFY(bench.client.waitForEnd(id));
    QVERIFY(bench.client.waitForState(EngineState::Idle));
    for (const RequestEvent event :
         {RequestEvent::Arrived, RequestEvent::Tokenised, RequestEvent::Queued,
          RequestEvent::Admitted, RequestEvent::Prefilled, RequestEvent::FirstToken,
          RequestEvent::Finished, RequestEvent::Detokenised, RequestEvent::Published}) {
      QCOMPARE(countEvents(bench.client, id, event), 1);
    }
    int tokens = 0, slices = 0, iterations = 0, blocks = 0;
    for (const TraceEvent& e : bench.client.events) {
      tokens += e.kind == TraceKind::Token;
      slices += e.kind == TraceKind::Slice;
      iterations += e.kind == TraceKind::Iteration;
      blocks += e.kind == TraceKind::Block && e.block.op == BlockOp::Allocate;
      if (e.kind != TraceKind::Iteration) continue;
      QVERIFY(e.iteration.t1Ns >= e.iteration.t0Ns);
      QVERIFY(e.iteration.flops > 0 && e.iteration.bytes >= 1000);
    }
    QCOMPARE(tokens, 6);
    QCOMPARE(slices, 6);
    QCOMPARE(iterations, 6);
    QCOMPARE(blocks, 4);  // 16 computed positions in blocks of 4
  }

  void cancelAtManyMomentsGivesEverythingBack() {
    ServiceBench bench;
    QVERIFY(bench.load(40, 4));
    std::mt19937 generator(5);
    for (int round = 0; round < 60; ++round) {
      std::vector<RequestId> ids;
      for (int i = 0; i < 4; ++i) {
        ids.push_back(bench.client.submit(std::string(1 + generator() % 40, 'x'), seeded(60, 1)));
      }
      std::this_thread::sleep_for(std::chrono::microseconds(generator() % 3000));
      for (const RequestId id : ids) bench.client.send(Cancel{id});
      QVERIFY(bench.client.waitForAll());
    }
    QVERIFY(bench.comesToRest());
  }

  void cancelEndsALongStepAtOnceAndTheOthersGoOn() {
    ServiceBench bench;
    QVERIFY(bench.load(200, 4));
    const RequestId reference = bench.client.submit("the one that stays", greedy(20));
    QVERIFY(bench.client.waitForEnd(reference));
    const auto expected = bench.client.request(reference).ids;

    bench.control->stepDelayMs = 2000;
    const RequestId stays = bench.client.submit("the one that stays", greedy(20));
    const RequestId goes = bench.client.submit("the one that goes", greedy(20));
    const int begun = bench.control->stepsBegun;
    QVERIFY(bench.client.waitFor([&] { return bench.control->stepsBegun > begun; }));
    // both are in the step now, or `goes` came before the gate opened
    QVERIFY(bench.client.waitFor([&] { return bench.client.request(goes).isStarted; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const auto t0 = std::chrono::steady_clock::now();
    bench.client.send(Cancel{goes});
    if (!bench.client.waitForEnd(goes, 1000)) QFAIL("the cancel did not arrive");
    QVERIFY2(msSince(t0) < 100.0, qPrintable(QString::number(msSince(t0))));
    QVERIFY(bench.client.request(goes).finished.reason == FinishReason::Cancelled);
    bench.control->stepDelayMs = 0;
    QVERIFY(bench.client.waitForEnd(stays));
    QCOMPARE(bench.client.request(stays).ids, expected);
    QVERIFY(bench.comesToRest());
  }

  void cancelOfSomebodyElseDoesNotStopTheStep() {
    ServiceBench bench;
    QVERIFY(bench.load());
    bench.control->stepDelayMs = 50;
    const RequestId id = bench.client.submit("abc", greedy(3));
    for (int i = 0; i < 20; ++i) {
      bench.client.send(Cancel{RequestId(99999)});
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    QVERIFY(bench.client.waitForEnd(id));
    QCOMPARE(bench.control->stepsBegun.load(), bench.control->stepsDone.load());
  }

  void pauseHoldsAtABoundaryAndStepsCount() {
    ServiceBench bench;
    QVERIFY(bench.load());
    bench.client.send(Pause{});
    const RequestId id = bench.client.submit("abc", greedy(20));
    QVERIFY(bench.client.waitFor([&] { return bench.client.request(id).isStarted; }));
    QVERIFY(bench.client.waitForState(EngineState::Paused));
    QCOMPARE(bench.control->stepsBegun.load(), 0);
    QVERIFY(bench.client.waitFor([&] {
      const auto snapshot = bench.client.snapshot();
      return snapshot->requests.size() == 1 && snapshot->requests[0].reason == Reason::WaitsPaused;
    }));
    bench.client.send(StepOnce{1});
    QVERIFY(bench.client.waitFor([&] { return bench.client.snapshot()->counters.steps == 1; }));
    bench.client.send(StepOnce{10});
    QVERIFY(bench.client.waitFor([&] { return bench.client.snapshot()->counters.steps == 11; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    bench.client.take();
    QCOMPARE(bench.control->stepsDone.load(), 11);
    QCOMPARE(bench.client.request(id).ids.size(), std::size_t{11});
    bench.client.send(Cancel{id});  // also while paused
    QVERIFY(bench.client.waitForEnd(id));
    bench.client.send(Resume{});
    QVERIFY(bench.comesToRest());
  }

  void limitsActAliveAndTellWhatChanged() {
    ServiceBench bench;
    QVERIFY(bench.load());
    SchedulerLimits limits;
    limits.maxSeqs = 1;
    limits.prefixCache = false;
    bench.client.send(SetLimits{limits});
    QVERIFY(bench.client.waitFor([&] { return bench.client.snapshot()->config.limits == limits; }));
    std::map<std::string, std::pair<double, double>> knobs;
    bench.client.take();
    for (const TraceEvent& e : bench.client.events) {
      if (e.kind == TraceKind::Knob) knobs[e.knob.key] = {e.knob.oldValue, e.knob.newValue};
    }
    QCOMPARE(knobs.size(), std::size_t{2});
    QVERIFY(knobs["max-seqs"] == std::make_pair(64.0, 1.0));
    QVERIFY(knobs["prefix-cache"] == std::make_pair(1.0, 0.0));
    for (int i = 0; i < 3; ++i) bench.client.submit("abc", greedy(5));
    QVERIFY(bench.comesToRest());
    for (const TraceEvent& e : bench.client.events) {
      if (e.kind == TraceKind::Iteration) QCOMPARE(e.iteration.running, 1u);
    }
  }

  void limitsThatCannotBeAreRefusedAloudAndChangeNothing() {
    ServiceBench bench;
    QVERIFY(bench.load());
    SchedulerLimits limits;
    limits.maxBatchedTokens = 0;
    bench.client.send(SetLimits{limits});
    limits = {};
    limits.speculation = SpeculationKind::Draft;
    bench.client.send(SetLimits{limits});
    QVERIFY(bench.client.waitFor([&] { return bench.client.notices.size() == 2; }));
    QVERIFY(bench.client.notices[0].text.find("max-batched-tokens is 0") != std::string::npos);
    QVERIFY(bench.client.notices[1].text.find("draft") != std::string::npos);
    QVERIFY(bench.client.snapshot()->config.limits == SchedulerLimits{});
  }

  void questionsAreAnswered() {
    ServiceBench bench;
    bench.client.send(Query{QueryId(1), TokenizeQuery{"abc"}});
    QVERIFY(bench.client.waitFor([&] { return bench.client.answers.contains(QueryId(1)); }));
    QVERIFY(std::holds_alternative<Error>(bench.client.answers[QueryId(1)].answer));
    QVERIFY(bench.load());
    const std::string conversation = R"({"messages":[{"role":"user","content":"hi"}]})";
    bench.client.send(Query{QueryId(2), TokenizeQuery{"abc<end>"}});
    bench.client.send(Query{QueryId(3), CountTokensQuery{{conversation, ""}}});
    LoadConfig config;
    config.modelPath = "toy";
    bench.client.send(Query{QueryId(4), EstimateQuery{config}});
    config.modelPath = "missing";
    bench.client.send(Query{QueryId(5), EstimateQuery{config}});
    QVERIFY(bench.client.waitFor([&] { return bench.client.answers.size() == 5; }));
    QCOMPARE(std::get<0>(bench.client.answers[QueryId(2)].answer),
             (std::vector<TokenId>{'a', 'b', 'c', kFakeEnd}));
    QCOMPARE(std::get<0>(bench.client.answers[QueryId(3)].answer).size(), std::size_t{5 + 2 + 1});
    QCOMPARE(std::get<1>(bench.client.answers[QueryId(4)].answer).totalBytes, 1000);
    QVERIFY(std::holds_alternative<Error>(bench.client.answers[QueryId(5)].answer));
  }

  void aPromptThatCannotBeEncodedEndsItselfAlone() {
    ServiceBench bench;
    QVERIFY(bench.load());
    RequestSpec spec = textRequest("", greedy(5));
    spec.prompt = ChatPrompt{R"({"messages":[5]})", ""};  // the toy's renderer throws
    const RequestId bad = bench.client.submit(spec);
    bench.client.send(Query{QueryId(1), CountTokensQuery{{R"({"messages":[5]})", ""}}});
    const RequestId good = bench.client.submit("abc", greedy(5));
    QVERIFY(bench.client.waitForAll());
    QVERIFY(bench.client.request(bad).finished.reason == FinishReason::Refused);
    QVERIFY(bench.client.request(bad).finished.errorCode == ErrorCode::Internal);
    QVERIFY(bench.client.request(good).finished.reason == FinishReason::Length);
    QVERIFY(std::holds_alternative<Error>(bench.client.answers[QueryId(1)].answer));
    QVERIFY(bench.comesToRest());
  }

  void aPromptOfAnyLengthIsRefusedWithBothNumbers() {
    ServiceBench bench;
    QVERIFY(bench.load());  // its context holds 256
    for (const std::size_t length : {std::size_t{256}, std::size_t{257}, std::size_t{3'000'000}}) {
      RequestSpec spec = textRequest("", greedy(5));
      spec.prompt = TokenPrompt{std::vector<TokenId>(length, 'a')};
      const RequestId id = bench.client.submit(spec);
      QVERIFY(bench.client.waitForEnd(id));
      QCOMPARE(bench.client.request(id).finished.explanation,
               "the prompt has " + std::to_string(length) +
                   " tokens; the context holds 256, and 1 must be left to answer");
    }
    RequestSpec spec = textRequest("", greedy(5));
    spec.prompt = TokenPrompt{std::vector<TokenId>(255, 'a')};
    const RequestId id = bench.client.submit(spec);
    QVERIFY(bench.client.waitForEnd(id));
    QCOMPARE(bench.client.request(id).ids.size(), std::size_t{1});
  }

  void whenTheEngineStopsEveryoneHearsOfIt() {
    for (const bool isHeld : {false, true}) {  // sent to the loaded model, or while it loads
      ServiceBench bench;
      if (isHeld) {
        bench.control->loadDelayMs = 50;
        bench.client.send(LoadModel{});
      } else {
        QVERIFY(bench.load());
      }
      bench.control->throwsAtSubmit = true;
      const std::vector<RequestId> ids = {bench.client.submit("abc", greedy(5)),
                                          bench.client.submit("abd", greedy(5))};
      QVERIFY(bench.client.waitForAll(5'000));
      for (const RequestId id : ids) {
        QCOMPARE(bench.client.request(id).numFinished, 1);
        QCOMPARE(bench.client.request(id).finished.explanation,
                 std::string("the engine stopped: something unforeseen"));
      }
      QVERIFY(bench.client.waitForState(EngineState::Failed));
    }
  }

  void snapshotsComeAtABoundedRate() {
    ServiceBench bench;
    QVERIFY(bench.load(200, 4));
    const std::uint64_t before = bench.client.snapshot()->version;
    const auto t0 = std::chrono::steady_clock::now();
    bench.control->stepDelayMs = 1;
    const RequestId id = bench.client.submit("abc", greedy(200));
    QVERIFY(bench.client.waitForEnd(id));
    QVERIFY(bench.client.waitForState(EngineState::Idle));
    const double publications = static_cast<double>(bench.client.snapshot()->version - before);
    QVERIFY2(publications <= msSince(t0) / 16.0 + 5.0, qPrintable(QString::number(publications)));
    QVERIFY(publications >= 2.0);
  }

  void shuttingDownIsQuickWhateverGoesOn() {
    for (const bool isLoading : {false, true}) {
      ServiceBench bench;
      if (isLoading) {
        bench.control->loadDelayMs = 30'000;
        bench.client.send(LoadModel{});
        QVERIFY(bench.client.waitFor([&] { return bench.control->loadsBegun > 0; }));
      } else {
        QVERIFY(bench.load());
        bench.control->stepDelayMs = 30'000;
        bench.client.submit("abc", greedy(5));
        QVERIFY(bench.client.waitFor([&] { return bench.control->stepsBegun > 0; }));
      }
      const auto t0 = std::chrono::steady_clock::now();
      bench.client.shutDown();
      QVERIFY2(msSince(t0) < 200.0, qPrintable(QString::number(msSince(t0))));
    }
  }
};

QTEST_GUILESS_MAIN(TestEngineService)
#include "tst_engine_service.moc"
