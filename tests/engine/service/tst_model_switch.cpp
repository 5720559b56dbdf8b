// Loading while the front end does other things (H10, the engine's part): nothing blocks, the last
// chosen model wins, a load can be given up, what was sent meanwhile is not lost.
// labels: contract threads timed
#include <algorithm>
#include <chrono>
#include <thread>

#include <QtTest>

#include "engine/service/engine_service.h"
#include "tests/support/engine_client.h"
#include "tests/support/fake_model.h"

using namespace engine;
using namespace engine::service;
using namespace test_support;

namespace {

EngineConfig configOf(const std::string& path) {
  EngineConfig config;
  config.load.modelPath = path;
  return config;
}

struct Bench {
  std::shared_ptr<FakeControl> control = std::make_shared<FakeControl>();
  EngineClient client{createEngineService({std::make_shared<FakeModelProvider>(control), nullptr})};
  double longestCallMs = 0;

  void send(Command command) {
    const auto t0 = std::chrono::steady_clock::now();
    client.send(std::move(command));
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - t0;
    longestCallMs = std::max(longestCallMs, took.count());
  }
};

SamplingParams greedy(std::int64_t maxTokens) {
  SamplingParams params;
  params.maxTokens = maxTokens;
  return params;
}

}  // namespace

class TestModelSwitch : public QObject {
  Q_OBJECT

 private slots:

  void progressThenTheModel() {
    Bench bench;
    QVERIFY(bench.client.load(configOf("toy")));
    QVERIFY(bench.client.progress.size() >= 2);
    QCOMPARE(bench.client.progress[0].stage, std::string("reading"));
    QVERIFY(bench.client.waitForState(EngineState::Idle));
    QCOMPARE(bench.client.snapshot()->model->path, std::string("toy"));
  }

  // Whoever reads the message may look at the model at once, so the snapshot is set before it.
  void theSnapshotShowsTheModelBeforeTheMessageComes() {
    Bench bench;
    for (int round = 0; round < 200; ++round) {
      const std::string path = std::to_string(round);
      std::vector<EngineMessage> messages;
      const auto isLoaded = [](const EngineMessage& m) {
        return std::holds_alternative<ModelLoaded>(m);
      };
      bench.send(LoadModel{configOf(path)});
      const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (std::ranges::none_of(messages, isLoaded)) {  // without a sleep: every moment counts
        QVERIFY(std::chrono::steady_clock::now() < limit);
        bench.client.engine().drainMessages(messages);
      }
      const auto snapshot = bench.client.snapshot();
      QVERIFY(snapshot->model != nullptr);
      QCOMPARE(snapshot->model->path, path);
    }
  }

  void theLastChosenModelWins() {
    for (int round = 0; round < 50; ++round) {
      Bench bench;
      bench.control->loadDelayMs = 20;
      bench.send(LoadModel{configOf("first")});
      if (round % 2 == 1) std::this_thread::sleep_for(std::chrono::milliseconds(round % 25));
      bench.send(Submit{textRequest("sent while loading", greedy(2))});
      bench.send(LoadModel{configOf("second")});
      QVERIFY(bench.client.waitFor([&] {
        return !bench.client.loadedPaths.empty() && bench.client.loadedPaths.back() == "second";
      }));
      QVERIFY(bench.client.waitForState(EngineState::Idle));
      QCOMPARE(bench.client.snapshot()->model->path, std::string("second"));
      for (const LoadFailed& failure : bench.client.loadFailures) {
        QCOMPARE(failure.path, std::string("first"));
        QVERIFY(failure.error.code == ErrorCode::Cancelled);
      }
      QVERIFY2(bench.longestCallMs < 100.0, qPrintable(QString::number(bench.longestCallMs)));
    }
  }

  void aLoadIsGivenUpAtOnce() {
    Bench bench;
    bench.control->loadDelayMs = 30'000;
    bench.send(LoadModel{configOf("slow")});
    QVERIFY(bench.client.waitFor([&] { return bench.control->loadsBegun == 1; }));
    QVERIFY(bench.client.waitForState(EngineState::Loading));
    const auto t0 = std::chrono::steady_clock::now();
    bench.send(CancelLoad{});
    QVERIFY(bench.client.waitFor([&] { return bench.client.loadFailures.size() == 1; }, 100));
    QVERIFY(bench.client.waitFor([&] { return bench.control->loadsEnded == 1; }, 100));
    QVERIFY(std::chrono::steady_clock::now() - t0 < std::chrono::milliseconds(100));
    QVERIFY(bench.client.waitForState(EngineState::NoModel));
    // and the next one is not held up by it
    bench.control->loadDelayMs = 0;
    QVERIFY(bench.client.load(configOf("next")));
  }

  void whatIsSentWhileLoadingWaitsForTheModel() {
    Bench bench;
    bench.control->loadDelayMs = 50;
    bench.send(LoadModel{configOf("toy")});
    const RequestId runs = bench.client.submit("hello", greedy(4));
    const RequestId stopped = bench.client.submit("hello", greedy(4));
    bench.send(Cancel{stopped});
    QVERIFY(bench.client.waitForAll());
    QCOMPARE(bench.client.request(runs).ids.size(), std::size_t{4});
    QVERIFY(bench.client.request(stopped).finished.reason == FinishReason::Cancelled);
    QVERIFY(bench.client.request(stopped).ids.empty());
  }

  void whatWasSentIsAnsweredWhenTheLoadFails_data() {
    QTest::addColumn<QString>("path");
    QTest::addColumn<QString>("word");
    QTest::addRow("cannot be opened") << "missing"
                                      << "does not exist";
    QTest::addRow("breaks in the middle") << "broken"
                                          << "broken in the middle";
    QTest::addRow("given up") << "slow"
                              << "stopped";
  }

  void whatWasSentIsAnsweredWhenTheLoadFails() {
    QFETCH(QString, path);
    QFETCH(QString, word);
    Bench bench;
    bench.control->loadDelayMs = path == "slow" ? 30'000 : 500;  // the request comes while it loads
    bench.send(LoadModel{configOf(path.toStdString())});
    const RequestId id = bench.client.submit("hello", greedy(4));
    if (path == "slow") bench.send(CancelLoad{});
    QVERIFY(bench.client.waitForEnd(id));
    QVERIFY(bench.client.request(id).finished.reason == FinishReason::Refused);
    QVERIFY(QString::fromStdString(bench.client.request(id).finished.explanation).contains(word));
    QCOMPARE(bench.client.loadFailures.size(), std::size_t{1});
    QVERIFY(bench.client.waitForState(EngineState::NoModel));
  }

  void aFileThatCannotBeOpenedLeavesTheModelInPlace() {
    Bench bench;
    QVERIFY(bench.client.load(configOf("good")));
    const RequestId before = bench.client.submit("hello", greedy(30));
    QVERIFY(!bench.client.load(configOf("missing")));
    QVERIFY(bench.client.waitForEnd(before));
    QCOMPARE(bench.client.request(before).ids.size(), std::size_t{30});
    const RequestId after = bench.client.submit("hello", greedy(3));
    QVERIFY(bench.client.waitForEnd(after));
    QCOMPARE(bench.client.request(after).ids.size(), std::size_t{3});
    QCOMPARE(bench.client.numUnloaded, 0);
  }

  void anotherModelEndsWhatTheFirstOneServed() {
    Bench bench;
    QVERIFY(bench.client.load(configOf("one")));
    bench.control->stepDelayMs = 5;
    const RequestId id = bench.client.submit("hello", greedy(200));
    QVERIFY(bench.client.waitFor([&] { return bench.client.request(id).ids.size() > 2; }));
    QVERIFY(bench.client.load(configOf("two")));
    QVERIFY(bench.client.request(id).finished.reason == FinishReason::Cancelled);
    QVERIFY(!bench.client.request(id).finished.explanation.empty());
    QCOMPARE(bench.client.numUnloaded, 1);
  }

  void withoutAModelARequestIsRefused() {
    Bench bench;
    const RequestId id = bench.client.submit("hello", greedy(3));
    QVERIFY(bench.client.waitForEnd(id));
    QCOMPARE(bench.client.request(id).finished.explanation, std::string("no model is loaded"));
    QVERIFY(bench.client.load(configOf("toy")));
    bench.send(UnloadModel{});
    QVERIFY(bench.client.waitForState(EngineState::NoModel));
    QCOMPARE(bench.client.numUnloaded, 1);
    const RequestId later = bench.client.submit("hello", greedy(3));
    QVERIFY(bench.client.waitForEnd(later));
    QVERIFY(bench.client.request(later).finished.reason == FinishReason::Refused);
  }

  void knobsThatAreNotBuiltAreRefusedByName() {
    Bench bench;
    EngineConfig config = configOf("toy");
    config.load.blockSize = 24;
    QVERIFY(!bench.client.load(config));
    QVERIFY(bench.client.loadFailures.back().error.message.find("24") != std::string::npos);
    config = configOf("toy");
    config.load.device = DeviceKind::Cuda;
    QVERIFY(!bench.client.load(config));
    QVERIFY(bench.client.loadFailures.back().error.message.find("cuda") != std::string::npos);
    config = configOf("toy");
    config.load.kvCache = false;
    config.limits.preemption = PreemptionKind::Swap;
    QVERIFY(!bench.client.load(config));
    QVERIFY(bench.client.loadFailures.back().error.message.find("swap") != std::string::npos);
  }
};

QTEST_GUILESS_MAIN(TestModelSwitch)
#include "tst_model_switch.moc"
