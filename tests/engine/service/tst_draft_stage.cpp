// Speculation in the engine: the same ids, log-probabilities and row hashes as without it, cut at
// the same point, under preemption and with batch mates (H13).
// labels: contract threads
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/service/gguf_model_provider.h"
#include "tests/support/service_bench.h"
#include "tests/support/tiny_model.h"

using namespace engine;
using namespace engine::service;
using namespace test_support;

namespace {

SchedulerLimits speculating(int tokens, bool isAdaptive = false) {
  SchedulerLimits limits;
  limits.speculation = SpeculationKind::Ngram;
  limits.speculativeTokens = tokens;
  limits.speculateAdaptive = isAdaptive;
  return limits;
}

// Three tokens share nearly all of the mass, so that earlier pairs of them come again.
SamplingParams fewTokens(SamplingParams params) {
  for (const TokenId id : {TokenId{'x'}, TokenId{'y'}, TokenId{'z'}}) {
    params.logitBias.emplace_back(id, 60.0f);
  }
  return params;
}

RequestSpec hashed(RequestSpec spec) {
  spec.wantRowHashes = true;
  return spec;
}

// A repeating prompt, code, one token, one that ends at a block's end, and more.
std::vector<RequestSpec> tenRequests(const std::function<SamplingParams(int)>& paramsOf) {
  const std::vector<std::string> prompts = {"again and again and again and again and",
                                            "for (int i = 0; i < n; ++i) sum += a[i];",
                                            "q",
                                            "sixteen tokens..",
                                            "xyxyxyxyxyxyxyxyxy",
                                            "abcdefghijklmnopqrstuvwxyz",
                                            "zz",
                                            "The end is near. The end is here. The end",
                                            "0101100110",
                                            "no repeats"};
  std::vector<RequestSpec> specs;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    specs.push_back(hashed(textRequest(prompts[i], paramsOf(static_cast<int>(i)))));
  }
  return specs;
}

SamplingParams mixed(int i, std::int64_t maxTokens) {
  SamplingParams params = greedy(maxTokens);
  if (i % 2 == 1) params = seeded(maxTokens, static_cast<std::uint64_t>(i));
  if (i % 4 == 3) params.topK = 20;
  params.topLogprobs = 2;
  return params;
}

struct Outcome {
  std::vector<ClientRequest> answers;
  SpeculationSummary speculation;
  EngineCounters counters;
  std::vector<TraceEvent> events;
};

Outcome serve(EngineClient& client,
              const SchedulerLimits& limits,
              const std::vector<RequestSpec>& specs) {
  client.send(SetLimits{limits});
  std::vector<RequestId> ids;
  for (const RequestSpec& spec : specs) ids.push_back(client.submit(spec));
  Outcome outcome;
  if (!client.waitForAll() || !client.waitForState(EngineState::Idle)) return outcome;
  for (const RequestId id : ids) outcome.answers.push_back(client.request(id));
  outcome.speculation = client.snapshot()->speculation;
  outcome.counters = client.snapshot()->counters;
  outcome.events = client.events;
  return outcome;
}

Outcome serveToy(const SchedulerLimits& limits,
                 const std::vector<RequestSpec>& specs,
                 std::int64_t kvBlocks = 900) {
  ServiceBench bench;
  if (!bench.load(kvBlocks, 4)) return {};
  bench.control->neverEnds = false;
  return serve(bench.client, limits, specs);
}

bool isSame(const ClientRequest& a, const ClientRequest& b) {
  const auto sameTop = [](const auto& x, const auto& y) {
    return std::ranges::equal(x, y, [](const TokenLogprob& l, const TokenLogprob& r) {
      return l.id == r.id && l.logprob == r.logprob;
    });
  };
  return a.ids == b.ids && a.text == b.text && a.logprobs == b.logprobs &&
         a.rowHashes == b.rowHashes && std::ranges::equal(a.top, b.top, sameTop) &&
         a.finished.reason == b.finished.reason &&
         a.finished.explanation == b.finished.explanation &&
         a.finished.usage.completionTokens == b.finished.usage.completionTokens;
}

}  // namespace

class TestDraftStage : public QObject {
  Q_OBJECT

 private:
  static void compare(const Outcome& with, const Outcome& without) {
    QVERIFY(!without.answers.empty());
    QCOMPARE(with.answers.size(), without.answers.size());
    for (std::size_t i = 0; i < with.answers.size(); ++i) {
      QVERIFY2(isSame(with.answers[i], without.answers[i]), qPrintable(QString::number(i)));
    }
  }

 private slots:

  void answersAreBitwiseThoseWithoutSpeculation_data() {
    QTest::addColumn<int>("tokens");
    QTest::addColumn<int>("maxSeqs");
    for (const int tokens : {1, 2, 4, 7}) {
      for (const int maxSeqs : {1, 4}) {
        QTest::addRow("k %d batch %d", tokens, maxSeqs) << tokens << maxSeqs;
      }
    }
  }

  void answersAreBitwiseThoseWithoutSpeculation() {
    QFETCH(int, tokens);
    QFETCH(int, maxSeqs);
    const auto specs = tenRequests([](int i) { return fewTokens(mixed(i, 100)); });
    SchedulerLimits off;
    off.maxSeqs = maxSeqs;
    const Outcome without = serveToy(off, specs);
    QCOMPARE(without.speculation.passes, std::uint64_t{0});
    SchedulerLimits limits = speculating(tokens);
    limits.maxSeqs = maxSeqs;
    const Outcome with = serveToy(limits, specs);
    compare(with, without);
    const SpeculationSummary& s = with.speculation;
    QVERIFY(s.passes > 50 && s.accepted > 20 && s.accepted < s.drafted);
    QVERIFY(s.drafted <= s.passes * static_cast<std::uint64_t>(tokens));
    QVERIFY(s.acceptedByPosition.size() <= static_cast<std::size_t>(tokens));
    std::uint64_t sum = 0;
    for (const std::uint64_t one : s.acceptedByPosition) sum += one;
    QCOMPARE(sum, s.accepted);
    QVERIFY(s.tokens <= s.passes + s.accepted);
    QVERIFY(std::ranges::is_sorted(s.acceptedByPosition, std::greater()));
    QVERIFY(with.counters.steps < without.counters.steps);
  }

  void aPoolTooSmallForAllChangesNothing() {
    const auto specs = tenRequests([](int i) { return fewTokens(mixed(i, 100)); });
    const Outcome without = serveToy({}, specs);
    const Outcome with = serveToy(speculating(4), specs, 90);
    QVERIFY(with.counters.preemptions > 0);
    QVERIFY(with.speculation.accepted > 0);
    QCOMPARE(with.counters.leakedBlocks, 0);
    compare(with, without);
  }

  void aSmallBudgetChangesNothing() {
    const auto specs = tenRequests([](int i) { return fewTokens(mixed(i, 60)); });
    const Outcome without = serveToy({}, specs);
    SchedulerLimits limits = speculating(4);
    limits.maxBatchedTokens = 5;
    const Outcome with = serveToy(limits, specs);
    compare(with, without);
  }

  // Whatever the clock says.
  void adaptiveLengthChangesNothing() {
    const auto specs = tenRequests([](int i) { return fewTokens(mixed(i, 150)); });
    compare(serveToy(speculating(7, true), specs), serveToy({}, specs));
  }

  // Stop strings and end tokens inside a run that stands: text, ids and usage end where they would.
  void aRunIsCutWhereItWouldHaveEnded() {
    std::vector<RequestSpec> specs;
    for (int i = 0; i < 40; ++i) {
      SamplingParams params = fewTokens(i % 2 == 0 ? greedy(100) : seeded(100, 7));
      const std::string letters = "xyz";
      params.stop.resize(3);
      for (std::size_t j = 0; j < 3; ++j) {
        params.stop[j] = {letters[static_cast<std::size_t>(i) % 3],
                          letters[static_cast<std::size_t>(i) / 3 % 3], letters[j],
                          letters[static_cast<std::size_t>(i) / 9 % 3]};
      }
      if (i % 5 == 0) params.stop.clear();
      if (i % 3 == 0) params.logitBias.emplace_back(kFakeEnd, 57.0f);
      params.maxTokens = 20 + i;
      specs.push_back(hashed(textRequest("xyxyxyzxyz", params)));
    }
    const Outcome without = serveToy({}, specs);
    const Outcome with = serveToy(speculating(7), specs);
    compare(with, without);
    QVERIFY(with.speculation.tokens < with.speculation.passes + with.speculation.accepted);
  }

  void eventsTellEveryGuessAndWhereTokensCameFrom() {
    const auto specs = tenRequests([](int i) { return fewTokens(mixed(i, 60)); });
    const Outcome with = serveToy(speculating(4), specs);
    std::uint64_t drafts = 0, accepted = 0, tokens = 0, fromDrafts = 0, bonus = 0;
    std::uint64_t sliceDrafted = 0, sliceAccepted = 0, wanted = 0;
    for (const ClientRequest& answer : with.answers) wanted += answer.ids.size();
    for (const TraceEvent& event : with.events) {
      if (event.kind == TraceKind::Draft) {
        ++drafts;
        accepted += event.draft.accepted;
        QCOMPARE(event.draft.accepted != 0, event.draft.u < event.draft.p / event.draft.q);
      }
      if (event.kind == TraceKind::Token) {
        ++tokens;
        fromDrafts += event.token.source == TokenSource::Draft ? 1 : 0;
        bonus += event.token.source == TokenSource::Bonus ? 1 : 0;
      }
      if (event.kind == TraceKind::Slice) {
        sliceDrafted += event.slice.drafted;
        sliceAccepted += event.slice.accepted;
        QCOMPARE(event.slice.phase == SlicePhase::Verify, event.slice.drafted > 0);
      }
    }
    QCOMPARE(tokens, wanted);
    QCOMPARE(accepted, with.speculation.accepted);
    QCOMPARE(sliceAccepted, with.speculation.accepted);
    QCOMPARE(sliceDrafted, with.speculation.drafted);
    QVERIFY(drafts <= with.speculation.drafted && drafts > accepted);
    QVERIFY(fromDrafts <= accepted && fromDrafts > 0 && bonus > 0);
  }

  void aPoisonedRowFailsItsRequestAloneAndInTheSamePlace() {
    std::vector<RequestSpec> specs = tenRequests([](int) { return fewTokens(greedy(40)); });
    specs[3].prompt = TokenPrompt{{'x', 'y', kFakePoison, 'x', 'y'}};
    const Outcome without = serveToy({}, specs);
    QVERIFY(without.answers[3].finished.reason == FinishReason::Failed);
    compare(serveToy(speculating(4), specs), without);
  }

  // A real forward pass: rows of several tokens give the bits of single ones.
  void aRealModelAnswersTheSame_data() {
    QTest::addColumn<QString>("family");
    QTest::addRow("llama") << "llama";
    QTest::addRow("gemma3, windowed") << "gemma3";
  }

  void aRealModelAnswersTheSame() {
    QFETCH(QString, family);
    QTemporaryDir folder;
    TinyModelSpec spec;
    spec.family = family.toStdString();
    if (family == "gemma3") spec.window = 24;
    EngineConfig config;
    config.load.modelPath = folder.filePath("tiny.gguf").toStdString();
    config.load.threads = 1;
    config.load.kvBlocks = 120;
    config.load.blockSize = 8;
    writeTinyModel(spec, config.load.modelPath);
    const auto specs = tenRequests([](int i) {
      SamplingParams params = fewTokens(mixed(i, 80));
      params.ignoreEos = true;
      return params;
    });
    const auto outcomeOf = [&](const SchedulerLimits& limits) {
      EngineOptions options;
      options.checkInvariants = true;
      EngineClient client(
          createEngineService({std::make_shared<GgufModelProvider>(), nullptr}, options));
      return client.load(config) ? serve(client, limits, specs) : Outcome{};
    };
    const Outcome with = outcomeOf(speculating(4));
    QVERIFY(with.speculation.accepted > 0 && with.speculation.accepted < with.speculation.drafted);
    compare(with, outcomeOf({}));
  }
};

QTEST_GUILESS_MAIN(TestDraftStage)
#include "tst_draft_stage.moc"
