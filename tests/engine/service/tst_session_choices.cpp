// Several answers to a request: parallel samples and best-of over shared blocks, and what holds of
// beams alike.
// labels: contract
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <QtTest>

#include "tests/support/choice_bench.h"

using namespace engine;
using namespace engine::service;
using namespace test_support;

class TestSessionChoices : public QObject {
  Q_OBJECT

 private slots:

  // 300 tokens are 18 blocks of 16 and 12 more: the last one is copied by all writers but the last.
  void fourAnswersComputeThePromptOnceAndCopyOneBlockEach() {
    ServiceBench bench;
    EngineConfig config;
    config.load.modelPath = "toy";
    config.load.kvBlocks = 400;
    config.load.blockSize = 16;
    config.load.maxContext = 400;
    QVERIFY(bench.client.load(config));
    const RequestId id = bench.client.submit(asking(std::string(300, 'x'), seeded(20, 3), 4));
    QVERIFY(bench.comesToRest());
    const EngineCounters counters = bench.client.snapshot()->counters;
    QCOMPARE(counters.cowCopies, std::uint64_t{3});
    QCOMPARE(counters.promptTokens, std::uint64_t{300});
    QCOMPARE(counters.peakBlocks, std::int64_t{18 + 4 * 2});
    const ClientRequest& request = bench.client.request(id);
    QCOMPARE(request.others.size(), std::size_t{3});
    const RequestFinished& end = request.finished;
    QCOMPARE(end.usage.promptTokens, std::int64_t{300});
    QCOMPARE(end.usage.completionTokens, std::int64_t{80});
    QCOMPARE(end.choices.size(), std::size_t{4});
    std::set<std::vector<TokenId>> different;
    for (const ClientAnswer& one : answersOf(request)) {
      QCOMPARE(one.ids.size(), std::size_t{20});
      different.insert(one.ids);
    }
    QCOMPARE(different.size(), std::size_t{4});
    std::map<std::uint64_t, std::uint64_t> parents;
    for (const TraceEvent& event : bench.client.events) {
      if (event.kind != TraceKind::Branch) continue;
      QVERIFY(event.branch.op == BranchOp::Fork);
      parents[event.branch.request] = event.branch.parent;
    }
    QCOMPARE(parents.size(), std::size_t{3});
    for (const auto& [child, parent] : parents) QCOMPARE(parent, id.value);
  }

  void theFirstAnswerIsThatOfASingleRun() {
    for (const bool isGreedy : {true, false}) {
      const SamplingParams params = isGreedy ? greedy(30) : seeded(30, 9);
      const Served one = serve(asking("what is said", params, 1), {});
      const Served four = serve(asking("what is said", params, 4), {});
      QVERIFY(one.request.numFinished == 1);
      QVERIFY(one.request.finished.choices.empty());
      QVERIFY(isSame(one.request, four.request));
      for (const ClientAnswer& other : four.request.others) {
        QCOMPARE(other.ids == one.request.ids, isGreedy);
      }
    }
  }

  void theAnswersDoNotDependOnTheSchedule_data() {
    QTest::addColumn<int>("what");
    QTest::addRow("samples") << 0;
    QTest::addRow("best of") << 1;
    QTest::addRow("beams") << 2;
  }

  void theAnswersDoNotDependOnTheSchedule() {
    QFETCH(int, what);
    SamplingParams params = seeded(40, 4);
    if (what == 1) params.bestOf = 6;
    if (what == 2) {
      params = beams(4, 40);
      params.repetitionPenalty = 1.2f;
    }
    const RequestSpec spec = asking("say it again, say", params, what == 2 ? 1 : 3);
    const Served plain = serve(spec, {});
    QCOMPARE(answersOf(plain.request).size(), std::size_t{what == 2 ? 4u : 3u});
    Serving small;
    small.limits.maxBatchedTokens = 3;
    compareAnswers(serve(spec, small), plain);
    Serving chunks;
    chunks.limits.prefillChunk = 5;
    chunks.blockSize = 16;
    chunks.limits.prefixCache = false;
    compareAnswers(serve(spec, chunks), plain);
    Serving crowded;
    crowded.mates = 5;
    crowded.limits.maxSeqs = 4;
    compareAnswers(serve(spec, crowded), plain);
    Serving tight;
    tight.kvBlocks = 66;
    tight.mates = 10;
    const Served preempted = serve(spec, tight);
    QVERIFY(preempted.counters.preemptions > 0);
    QCOMPARE(preempted.counters.leakedBlocks, 0);
    compareAnswers(preempted, plain);
    Serving noCache = tight;
    noCache.limits.prefixCache = false;
    compareAnswers(serve(spec, noCache), plain);
    Serving swapping = noCache;
    swapping.limits.preemption = PreemptionKind::Swap;
    const Served swapped = serve(spec, swapping);
    QVERIFY(swapped.counters.swaps > 0);
    QCOMPARE(swapped.counters.leakedBlocks, 0);
    compareAnswers(swapped, plain);
    for (const BatchingKind batching : {BatchingKind::Static, BatchingKind::Dynamic}) {
      Serving batched = tight;
      batched.limits.batching = batching;
      batched.limits.maxBatch = 3;
      const Served together = serve(spec, batched);
      QCOMPARE(together.counters.leakedBlocks, 0);
      compareAnswers(together, plain);
    }
    Serving forgetful;
    forgetful.keepsCache = false;
    forgetful.mates = 2;
    compareAnswers(serve(spec, forgetful), plain);
    if (what == 2) return;
    Serving one;
    one.limits.maxSeqs = 1;
    compareAnswers(serve(spec, one), plain);
    Serving contiguous;
    contiguous.allocator = AllocatorKind::Contiguous;
    compareAnswers(serve(spec, contiguous), plain);
    Serving speculating;
    speculating.limits.speculation = SpeculationKind::Ngram;
    speculating.limits.speculateAdaptive = false;
    compareAnswers(serve(spec, speculating), plain);
  }

  void aBatchTellsAllAnswersAtItsEnd_data() {
    QTest::addColumn<bool>("isBeams");
    QTest::addRow("samples") << false;
    QTest::addRow("beams") << true;
  }

  void aBatchTellsAllAnswersAtItsEnd() {
    QFETCH(bool, isBeams);
    Serving batched;
    batched.limits.batching = BatchingKind::Static;
    batched.mates = 1;  // of 40 tokens
    const RequestSpec spec = asking("short", isBeams ? beams(2, 6) : seeded(6, 1), isBeams ? 1 : 2);
    const Served held = serve(spec, batched);
    compareAnswers(held, serve(spec, {}));
    std::size_t place = 0, lastToken = 0, firstTold = 0;
    for (const TraceEvent& event : held.events) {
      ++place;
      if (event.kind == TraceKind::Token) lastToken = place;
      const bool isTold = event.kind == TraceKind::Request &&
                          event.request.event == RequestEvent::FirstToken;
      if (isTold && firstTold == 0) firstTold = place;
    }
    QVERIFY(lastToken > 0 && firstTold > lastToken);
    QVERIFY(held.counters.idleSlotSteps > 0);
  }

  void bestOfTellsTheLikeliestInOrder() {
    SamplingParams params = seeded(12, 21);
    const Served all = serve(asking("pick", params, 6), {});
    params.bestOf = 6;
    const Served best = serve(asking("pick", params, 2), {});
    std::vector<ClientAnswer> ranked = answersOf(all.request);
    std::ranges::stable_sort(ranked, std::greater(), sumOf);
    const std::vector<ClientAnswer> told = answersOf(best.request);
    QCOMPARE(told.size(), std::size_t{2});
    for (std::size_t i = 0; i < 2; ++i) {
      QVERIFY(isSame(told[i], ranked[i]));
      QVERIFY(std::abs(best.request.finished.choices[i].cumulativeLogprob - sumOf(told[i])) < 1e-9);
      QCOMPARE(told[i].pieces.size(), std::size_t{1});  // nothing was told before all had ended
    }
    QCOMPARE(best.request.finished.usage.completionTokens,
             std::int64_t(told[0].ids.size() + told[1].ids.size()));
  }

  void everyAnswerHasItsOwnEnd() {
    SamplingParams params = seeded(60, 2);
    params.stop = {"e", "t"};
    const Served stopped = serve(asking("stop where you like", params, 8), {});
    std::set<std::size_t> lengths;
    for (std::size_t i = 0; i < 8; ++i) {
      const ClientAnswer answer = answersOf(stopped.request)[i];
      lengths.insert(answer.ids.size());
      QVERIFY(answer.text.find('e') == std::string::npos);
      SamplingParams alone = params;
      const bool isStop = stopped.request.finished.choices[i].reason == FinishReason::Stop;
      QCOMPARE(isStop, answer.ids.size() < 60 || answer.ids.back() == 'e' ||
                           answer.ids.back() == 't' || answer.ids.back() == kFakeEnd);
      QCOMPARE(stopped.request.finished.choices[i].completionTokens,
               std::int64_t(answer.ids.size()));
    }
    QVERIFY(lengths.size() > 2);
    // the first token of some answers may be their last
    for (const std::int64_t limit : {1, 2}) {
      params.maxTokens = limit;
      const Served shortest = serve(asking("short", params, 5), {});
      QCOMPARE(shortest.request.finished.choices.size(), std::size_t{5});
      QCOMPARE(shortest.counters.leakedBlocks, 0);
    }
    params.stop = {"\x01", "a", "b", "c", "d", "e", "f"};
    params.temperature = 1.9f;
    compareAnswers(serve(asking("first", params, 30), {}), serve(asking("first", params, 30), {}));
  }

  void aFullContextEndsEachAnswer() {
    Serving never;
    never.neverEnds = true;
    const Served full = serve(asking(std::string(340, 'y'), seeded(100, 5), 3), never);
    for (const ClientAnswer& one : answersOf(full.request)) QCOMPARE(one.ids.size(), std::size_t{20});
    QVERIFY(full.request.finished.reason == FinishReason::Length);
    QVERIFY(full.request.finished.explanation.find("context") != std::string::npos);
    const Served beamed = serve(asking(std::string(340, 'y'), beams(3, 100), 1), never);
    for (const ClientAnswer& one : answersOf(beamed.request)) {
      QCOMPARE(one.ids.size(), std::size_t{20});
    }
    QVERIFY(beamed.request.finished.explanation.find("context") != std::string::npos);
  }

  // At every moment of its life.
  void aCancelFreesAllOfThem_data() {
    QTest::addColumn<int>("what");
    QTest::addRow("samples") << 0;
    QTest::addRow("best of") << 1;
    QTest::addRow("beams") << 2;
  }

  void aCancelFreesAllOfThem() {
    QFETCH(int, what);
    SamplingParams params = seeded(40, 4);
    if (what == 1) params.bestOf = 6;
    if (what == 2) params = beams(4, 40);
    for (int steps = 0; steps < 12; ++steps) {
      ServiceBench bench;
      QVERIFY(bench.load(300, 4));
      SchedulerLimits limits;
      limits.maxBatchedTokens = 8;
      bench.client.send(SetLimits{limits});
      bench.client.send(Pause{});
      const RequestId id =
          bench.client.submit(asking("cancel me at any time", params, what == 2 ? 1 : 4));
      const RequestId mate = bench.client.submit("mate", greedy(30));
      bench.client.send(StepOnce{steps});
      QVERIFY(bench.client.waitFor(
          [&] { return bench.client.snapshot()->counters.steps == std::uint64_t(steps); }));
      bench.client.send(Cancel{id});
      bench.client.send(Resume{});
      QVERIFY(bench.comesToRest());
      QVERIFY(bench.client.request(id).finished.reason == FinishReason::Cancelled);
      QCOMPARE(bench.client.request(mate).ids.size(), std::size_t{30});
    }
  }

  void aFailureEndsTheRequestAlone() {
    for (const bool isBeams : {false, true}) {
      ServiceBench bench;
      QVERIFY(bench.load(300, 4));
      RequestSpec spec = asking("", isBeams ? beams(3, 20) : seeded(20, 1), isBeams ? 1 : 3);
      spec.prompt = TokenPrompt{{'x', kFakePoison, 'y'}};
      const RequestId id = bench.client.submit(spec);
      const RequestId mate = bench.client.submit("mate", greedy(30));
      QVERIFY(bench.comesToRest());
      QVERIFY(bench.client.request(id).finished.reason == FinishReason::Failed);
      QVERIFY(!bench.client.request(id).finished.explanation.empty());
      QCOMPARE(bench.client.request(mate).ids.size(), std::size_t{30});
    }
  }

  void aStepThatFailsTakesOneRequestWithAllItsSequences() {
    ServiceBench bench;
    QVERIFY(bench.load(300, 4));
    const RequestId mate = bench.client.submit("mate", greedy(60));
    const RequestId id = bench.client.submit(asking("fail", seeded(60, 1), 4));
    QVERIFY(bench.client.waitFor([&] { return bench.client.snapshot()->counters.steps > 5; }));
    bench.control->stepsToFail = 1;
    QVERIFY(bench.comesToRest());
    QCOMPARE(bench.client.request(mate).ids.size(), std::size_t{60});
    QVERIFY(bench.client.request(id).numFinished == 1);
  }

  void theSnapshotNamesParentAndChild() {
    ServiceBench bench;
    QVERIFY(bench.load(300, 4));
    bench.client.send(Pause{});
    const RequestId id = bench.client.submit(asking("look", seeded(20, 1), 3));
    bench.client.send(StepOnce{3});
    QVERIFY(bench.client.waitFor([&] { return bench.client.snapshot()->counters.steps == 3; }));
    std::set<int> choices;
    for (const RequestSnapshot& one : bench.client.snapshot()->requests) {
      choices.insert(one.choice);
      QCOMPARE(one.parent.isNone(), one.id == id);
      if (one.id != id) QCOMPARE(one.parent, id);
      QVERIFY(one.cumulativeLogprob < 0);
    }
    QCOMPARE(choices, (std::set<int>{0, 1, 2}));
    bench.client.send(Resume{});
    QVERIFY(bench.comesToRest());
  }
};

QTEST_GUILESS_MAIN(TestSessionChoices)
#include "tst_session_choices.moc"
