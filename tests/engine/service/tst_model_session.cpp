// A session on the caller's thread: a cancel at every event, batches that hold their answers, and
// requests that can no longer be served in time.
// labels: contract
#include <QtTest>
#include <algorithm>

#include "tests/support/fake_model.h"
#include "tests/support/stepped_engine.h"

using namespace engine;
using namespace engine::service;
using namespace test_support;

namespace {

LoadedModel fakeModel(const EngineConfig& config) {
  LoadObserver observer;
  observer.progress = [](const std::string&, double, std::int64_t) {};
  FakeModelProvider provider(std::make_shared<FakeControl>());
  return provider.open(config, observer).value()->load(config, observer).value();
}

EngineConfig tight() {
  EngineConfig config;
  config.load.modelPath = "toy";
  config.load.kvBlocks = 12;
  config.load.blockSize = 4;
  config.load.maxContext = 48;
  config.limits.maxBatchedTokens = 16;
  return config;
}

RequestSpec request(std::uint64_t id, std::int64_t promptTokens, std::int64_t maxTokens) {
  RequestSpec spec;
  spec.id = RequestId(id);
  TokenPrompt prompt;
  // the first eight are everybody's
  for (std::int64_t i = 0; i < promptTokens; ++i) {
    prompt.ids.push_back(static_cast<TokenId>(
        i < 8 ? 'a' + i : 'a' + (i * (7 + static_cast<std::int64_t>(id))) % 26));
  }
  spec.prompt = std::move(prompt);
  spec.sampling.maxTokens = maxTokens;
  return spec;
}

void submitFour(SteppedEngine& engine) {
  for (std::uint64_t id = 1; id <= 4; ++id) {
    engine.submit(request(id, 9 + static_cast<std::int64_t>(id) * 3, 14));
  }
}

// Whether all is given back and everybody heard of its end.
bool isAtRest(SteppedEngine& engine) {
  return !engine.hasWork() && engine.session().cache().pool().numUsed() == 0 &&
         engine.session().cache().swapSpace().numUsed() == 0 && engine.finished().size() == 4;
}

}  // namespace

class ModelSessionTest : public QObject {
  Q_OBJECT

 private slots:
  void aCancelAtAnyEventLeavesNothingBehind_data();
  void aCancelAtAnyEventLeavesNothingBehind();
  void aBatchTellsOfItsAnswersAtItsEnd();
  void whatCannotBeServedInTimeIsToldWhy();
  void aSnapshotTellsWhyAPrefixWasNotFound();
  void aPromptMayComeInTwoHalves();
};

void ModelSessionTest::aCancelAtAnyEventLeavesNothingBehind_data() {
  QTest::addColumn<int>("batching");
  QTest::addColumn<int>("preemption");
  QTest::newRow("recompute") << 0 << 0;
  QTest::newRow("swap") << 0 << 1;
  QTest::newRow("static") << 1 << 0;
}

void ModelSessionTest::aCancelAtAnyEventLeavesNothingBehind() {
  QFETCH(int, batching);
  QFETCH(int, preemption);
  EngineConfig config = tight();
  config.limits.batching = static_cast<BatchingKind>(batching);
  config.limits.preemption = static_cast<PreemptionKind>(preemption);
  SteppedEngine whole(fakeModel(config), config);
  submitFour(whole);
  while (whole.hasWork()) whole.step();
  QVERIFY(isAtRest(whole));
  const std::size_t numEvents = whole.events.size();
  QVERIFY(numEvents > 100);
  if (batching == 0) QVERIFY(whole.session().scheduler().counters().preemptions > 0);
  for (std::size_t at = 1; at <= numEvents; ++at) {
    const TraceEvent& event = whole.events[at - 1];
    const RequestId victim(event.kind == TraceKind::Block     ? event.block.request
                           : event.kind == TraceKind::Slice   ? event.slice.request
                           : event.kind == TraceKind::Request ? event.request.request
                                                              : 1 + at % 4);
    SteppedEngine engine(fakeModel(config), config);
    submitFour(engine);
    engine.drain();
    while (engine.events.size() < at && engine.hasWork()) engine.step();
    engine.session().cancel(victim);
    while (engine.hasWork()) engine.step();
    engine.drain();
    QVERIFY2(isAtRest(engine), qPrintable(QString("cancelled at event %1").arg(at)));
    for (const auto& [id, ended] : engine.finished()) {
      QVERIFY(ended.reason == FinishReason::Length ||
              (ended.reason == FinishReason::Cancelled && id == victim));
    }
    engine.submit(request(9, 5, 2));  // alive
    while (engine.hasWork()) engine.step();
    QCOMPARE(engine.answers().at(RequestId(9)).at(0).ids.size(), std::size_t{2});
  }
}

void ModelSessionTest::aBatchTellsOfItsAnswersAtItsEnd() {
  EngineConfig config = tight();
  config.load.kvBlocks = 64;
  config.limits.batching = BatchingKind::Static;
  SteppedEngine engine(fakeModel(config), config);
  engine.submit(request(1, 4, 2));
  engine.submit(request(2, 4, 9));
  while (engine.hasWork()) {
    QVERIFY(engine.answers().empty());
    engine.step();
  }
  const RequestTimes& first = engine.finished().at(RequestId(1)).times;
  const RequestTimes& second = engine.finished().at(RequestId(2)).times;
  QCOMPARE(first.firstTokenNs, second.firstTokenNs);
  QCOMPARE(first.lastTokenNs, first.finishedNs);
  QVERIFY(first.prefilledNs < first.firstTokenNs);
  QCOMPARE(engine.answers().at(RequestId(1)).at(0).ids.size(), std::size_t{2});
  QCOMPARE(engine.answers().at(RequestId(2)).at(0).ids.size(), std::size_t{9});
}

void ModelSessionTest::whatCannotBeServedInTimeIsToldWhy() {
  EngineConfig config = tight();
  config.limits.policy = PolicyKind::Slo;
  config.limits.maxSeqs = 1;
  SteppedEngine engine(fakeModel(config), config);
  engine.submit(request(1, 8, 10));
  engine.step();  // the other would stand before it
  RequestSpec hasty = request(2, 8, 10);
  hasty.slo.ttftMs = 2.5;
  engine.submit(std::move(hasty));
  while (engine.hasWork()) engine.step();
  const RequestFinished& ended = engine.finished().at(RequestId(2));
  QCOMPARE(ended.reason, FinishReason::Refused);
  QVERIFY(ended.explanation.find("2.5 were asked for") != std::string::npos);
  QVERIFY(std::ranges::any_of(engine.events, [](const TraceEvent& event) {
    return event.kind == TraceKind::Request && event.request.event == RequestEvent::Refused &&
           event.request.reason == Reason::RefusedTtft;
  }));
  QCOMPARE(engine.finished().at(RequestId(1)).reason, FinishReason::Length);
}

void ModelSessionTest::aSnapshotTellsWhyAPrefixWasNotFound() {
  EngineConfig config = tight();
  config.load.kvBlocks = 64;
  SteppedEngine engine(fakeModel(config), config);
  for (std::uint64_t id = 1; id <= 2; ++id) {
    engine.submit(request(id, 20, 2));
    while (engine.hasWork()) engine.step();
  }
  const auto& last = engine.session().lastFinished();
  QCOMPARE(last[0].prefixMiss, PrefixMiss::NeverSeen);
  QCOMPARE(last[1].prefixMiss, PrefixMiss::DifferentToken);
  QVERIFY(last[1].prefixMissPosition >= 8 && last[1].prefixMissPosition < 12);
}

void ModelSessionTest::aPromptMayComeInTwoHalves() {
  SteppedEngine engine(fakeModel(tight()), tight());
  ModelSession& session = engine.session();
  RequestSpec spec = request(1, 1, 3);
  spec.prompt = TextPrompt{"some words"};
  engine.submit(spec);
  while (engine.hasWork()) engine.step();
  spec.id = RequestId(2);
  const auto encode = session.accept(spec, 5, /*serial=*/7);
  QVERIFY(encode != nullptr && !engine.hasWork());
  QCOMPARE(session.openRequests(), std::vector<RequestId>{RequestId(2)});
  QVERIFY(session.accept(spec, 6, 8) == nullptr);  // the id is in use
  session.encoded(8, encode());
  QVERIFY(!engine.hasWork());  // of nobody
  session.encoded(7, encode());
  QVERIFY(engine.hasWork() && session.pendingPrompts().empty());
  session.encoded(7, encode());  // a second time: of nobody now
  while (engine.hasWork()) engine.step();
  QCOMPARE(engine.finished().at(RequestId(2)).times.arrivalNs, 5);
  QVERIFY(engine.answers().at(RequestId(2)) == engine.answers().at(RequestId(1)));
  spec.id = RequestId(3);
  spec.sampling.maxTokens = 0;
  QVERIFY(session.accept(spec, 9, 9) == nullptr);  // refused before anybody encodes
  engine.drain();
  QCOMPARE(engine.finished().at(RequestId(3)).reason, FinishReason::Refused);
}

QTEST_GUILESS_MAIN(ModelSessionTest)
#include "tst_model_session.moc"
