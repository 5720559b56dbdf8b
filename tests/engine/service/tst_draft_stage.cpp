// Speculation in the engine: the same ids, log-probabilities and row hashes as without it, cut at
// the same point, under preemption and with batch mates (H13).
// labels: contract threads
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
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

SchedulerLimits drafting(int tokens, bool isAdaptive = false) {
  SchedulerLimits limits = speculating(tokens, isAdaptive);
  limits.speculation = SpeculationKind::Draft;
  return limits;
}

SamplingParams greedyMixed(int i, std::int64_t maxTokens) {
  SamplingParams params = greedy(maxTokens);
  if (i % 3 == 1) params.repetitionPenalty = 1.3f;
  if (i % 3 == 2) params.logitBias = {{'x', 3.0f}, {'y', 2.0f}};
  params.topLogprobs = 2;
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
  client.send(Pause{});  // they begin together, however busy the machine is
  for (const RequestSpec& spec : specs) ids.push_back(client.submit(spec));
  client.send(Resume{});
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
                 std::int64_t kvBlocks = 900,
                 const std::string& draft = {}) {
  ServiceBench bench;
  EngineConfig config;
  config.load.modelPath = "toy";
  config.load.draftModelPath = draft;
  config.load.kvBlocks = kvBlocks;
  config.load.blockSize = 4;
  if (!bench.client.load(config)) return {};
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

  // H13: greedy answers are those without a draft model, whatever it guesses.
  void aDraftModelChangesNoGreedyAnswer_data() {
    QTest::addColumn<QString>("draft");
    QTest::addColumn<int>("tokens");
    QTest::addColumn<int>("maxSeqs");
    for (const char* draft : {"same", "other"}) {
      for (const int tokens : {1, 2, 4, 7}) {
        for (const int maxSeqs : {1, 4}) {
          QTest::addRow("%s, k %d batch %d", draft, tokens, maxSeqs) << draft << tokens << maxSeqs;
        }
      }
    }
  }

  void aDraftModelChangesNoGreedyAnswer() {
    QFETCH(QString, draft);
    QFETCH(int, tokens);
    QFETCH(int, maxSeqs);
    const auto specs = tenRequests([](int i) { return greedyMixed(i, 200); });
    SchedulerLimits off;
    off.maxSeqs = maxSeqs;
    SchedulerLimits limits = drafting(tokens);
    limits.maxSeqs = maxSeqs;
    const Outcome with = serveToy(limits, specs, 900, draft.toStdString());
    compare(with, serveToy(off, specs));
    const SpeculationSummary& s = with.speculation;
    QVERIFY(s.passes > 50);
    if (draft == "same") QCOMPARE(s.accepted, s.drafted);
    if (draft == "other") QVERIFY(s.accepted > 20 && s.accepted < s.drafted);
    QCOMPARE(s.draftedByPosition.size(), s.acceptedByPosition.size());
    QVERIFY(s.draftBlocks == 900);
    QCOMPARE(s.draftBlocksUsed, 0);
  }

  void aDraftModelWorksWithEverythingElse_data() {
    QTest::addColumn<int>("what");
    QTest::addRow("preemption") << 0;
    QTest::addRow("chunks, small budget") << 1;
    QTest::addRow("no prefix cache") << 2;
    QTest::addRow("adaptive") << 3;
    QTest::addRow("a device that fails") << 4;
  }

  void aDraftModelWorksWithEverythingElse() {
    QFETCH(int, what);
    // a shared long beginning, up to the end of the context of 256
    std::vector<RequestSpec> specs;
    const std::string shared(60, 's');
    for (int i = 0; i < 8; ++i) {
      SamplingParams params = greedyMixed(i, i % 2 == 0 ? 400 : 50);
      if (i % 4 == 0) params.ignoreEos = true;
      specs.push_back(hashed(textRequest(shared + std::string(static_cast<std::size_t>(i), 'q'),
                                         params)));
    }
    SchedulerLimits limits = drafting(4, what == 3);
    if (what == 1) limits.maxBatchedTokens = 9;
    if (what == 1) limits.prefillChunk = 5;
    if (what == 2) limits.prefixCache = false;
    const Outcome with =
        serveToy(limits, specs, what == 0 ? 100 : 900, what == 4 ? "failing" : "other");
    compare(with, serveToy({}, specs));
    if (what == 0) QVERIFY(with.counters.preemptions > 0);
    if (what == 4) {
      QCOMPARE(with.speculation.passes, std::uint64_t{0});
    } else if (what != 3) {
      QVERIFY(with.speculation.accepted > 0);
    }
    QCOMPARE(with.counters.leakedBlocks, 0);
  }

  // Stop strings, end tokens and limits at every place of a run: text, ids, logprobs and usage agree.
  void runsOfADraftModelAreCutAtOnePoint() {
    const auto plain = serveToy({}, {hashed(textRequest("cut me", greedy(40)))});
    const std::vector<TokenId> ids = plain.answers[0].ids;
    QVERIFY(ids.size() > 20);
    std::vector<RequestSpec> specs;
    for (std::size_t i = 0; i < 16; ++i) {
      SamplingParams limited = greedy(static_cast<std::int64_t>(i) + 1);
      specs.push_back(hashed(textRequest("cut me", limited)));
      SamplingParams stopped = greedy(40);
      if (ids[i] < 128 && ids[i + 1] < 128) {
        stopped.stop = {std::string{static_cast<char>(ids[i]), static_cast<char>(ids[i + 1])}};
      }
      specs.push_back(hashed(textRequest("cut me", stopped)));
      // an end token where this one would have come
      SamplingParams ended = greedy(40);
      ended.logitBias = {{kFakeEnd, 0.25f * static_cast<float>(i)}};
      specs.push_back(hashed(textRequest("cut me", ended)));
    }
    const Outcome without = serveToy({}, specs);
    const Outcome with = serveToy(drafting(7), specs, 900, "same");
    compare(with, without);
    QVERIFY(with.speculation.tokens < with.speculation.passes + with.speculation.accepted);
    for (const ClientRequest& one : with.answers) {
      QCOMPARE(one.finished.usage.completionTokens, std::ssize(one.ids));
      QCOMPARE(one.logprobs.size(), one.ids.size());
    }
  }

  // Drawn answers follow the model's distribution: first tokens and those behind guesses, over
  // 3,000 seeds (H13), against as many plain draws of other seeds.
  void drawnAnswersKeepTheDistribution() {
    std::vector<RequestSpec> specs, plainSpecs;
    const auto paramsOf = [](std::uint64_t seed) {
      SamplingParams params = greedy(4);
      params.temperature = 0.8f;
      params.seed = seed;
      params.topK = 6;
      params.repetitionPenalty = 1.2f;
      return params;
    };
    for (std::uint64_t i = 0; i < 3000; ++i) {
      specs.push_back(textRequest("draw", paramsOf(i)));
      plainSpecs.push_back(textRequest("draw", paramsOf(i + 100'000)));
    }
    SchedulerLimits limits = drafting(3);
    limits.maxSeqs = 32;
    const Outcome with = serveToy(limits, specs, 900, "other");
    const Outcome without = serveToy({}, plainSpecs);
    QCOMPARE(with.answers.size(), std::size_t{3000});
    QVERIFY(with.speculation.accepted > 1000 && with.speculation.accepted < with.speculation.drafted);
    for (std::size_t position = 0; position < 3; ++position) {
      std::map<TokenId, std::pair<double, double>> counts;
      for (const ClientRequest& one : with.answers) {
        if (one.ids.size() > position) ++counts[one.ids[position]].first;
      }
      for (const ClientRequest& one : without.answers) {
        if (one.ids.size() > position) ++counts[one.ids[position]].second;
      }
      double chi = 0, bins = 0, restA = 0, restB = 0;
      const auto add = [&](double a, double b) {
        if (a + b == 0) return;
        chi += (a - b) * (a - b) / (a + b);
        ++bins;
      };
      for (const auto& [id, pair] : counts) {
        if (pair.first + pair.second >= 20) {
          add(pair.first, pair.second);
        } else {
          restA += pair.first;
          restB += pair.second;
        }
      }
      add(restA, restB);
      // mean bins - 1, deviation sqrt(2 bins): four of them
      QVERIFY2(chi < bins + 4 * std::sqrt(2 * bins),
               qPrintable(QString("position %1: %2 over %3").arg(position).arg(chi).arg(bins)));
    }
  }

  void aDraftWithoutItsModelIsRefusedAloud() {
    ServiceBench bench;
    QVERIFY(bench.load());
    bench.client.send(SetLimits{drafting(4)});
    QVERIFY(bench.client.waitFor([&] { return bench.client.notices.size() == 1; }));
    QVERIFY(bench.client.notices[0].text.find("draft-model") != std::string::npos);
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
