// The same answer however scheduled: drawn workloads under drawn knobs on a generated model, every
// token id and every row hash equal to those of the same request served alone. Eleven seeded
// faults each make it fail. TESSERA_CASES sets how many cases, TESSERA_SEED the first one's seed.
// labels: contract slow
#include <fmt/format.h>

#include <QTemporaryDir>
#include <QtTest>
#include <map>
#include <memory>
#include <random>

#include "engine/service/gguf_model_provider.h"
#include "tests/support/faulty_executor.h"
#include "tests/support/stepped_engine.h"
#include "tests/support/tiny_model.h"

using namespace engine;
using namespace engine::service;
using namespace test_support;

namespace {

constexpr int kCases = 520;
constexpr int kMostCasesToFindAFault = 250;
constexpr std::int64_t kContext = 256;

// In how many cases it was really there, so that the test cannot pass by doing nothing.
struct Seen {
  int cases = 0, mixed = 0, preempted = 0, swapped = 0, copied = 0, hit = 0, rejected = 0;
  int batched = 0, contiguous = 0, cacheless = 0, several = 0, beams = 0;
  std::int64_t requests = 0, tokens = 0;
};

// Two generated models: three query heads a key head; and layers with a window.
class Models {
 public:
  Models() {
    TinyModelSpec grouped;
    grouped.heads = 6;
    grouped.kvHeads = 2;
    grouped.context = kContext;
    grouped = withType(grouped, kernels::DType::Q8_0);
    writeTinyModel(grouped, path(0));
    TinyModelSpec windowed = grouped;
    windowed.family = "gemma3";
    windowed.window = 24;
    windowed.seed = 2;
    writeTinyModel(windowed, path(1));
  }

  std::string path(int which) const {
    return m_folder.filePath(which == 0 ? "grouped.gguf" : "windowed.gguf").toStdString();
  }

  static LoadedModel load(const EngineConfig& config) {
    LoadObserver observer;
    observer.progress = [](const std::string&, double, std::int64_t) {};
    GgufModelProvider provider;
    auto opened = provider.open(config, observer);
    if (!opened) throw std::runtime_error(opened.error().message);
    auto loaded = opened.value()->load(config, observer);
    if (!loaded) throw std::runtime_error(loaded.error().message);
    return std::move(loaded).value();
  }

 private:
  QTemporaryDir m_folder;
};

// Serves requests one at a time with room for all: what every schedule must give.
class Alone {
 public:
  explicit Alone(const std::string& path) : m_engine(Models::load(config(path)), config(path)) {}

  std::vector<SteppedAnswer> serve(RequestSpec spec) {
    spec.id = RequestId(m_next++);
    const RequestId id = spec.id;
    m_engine.submit(std::move(spec));
    while (m_engine.hasWork()) m_engine.step();
    return m_engine.answers().at(id);
  }

 private:
  static EngineConfig config(const std::string& path) {
    EngineConfig config;
    config.load.modelPath = path;
    config.load.kvBlocks = 200;
    config.load.threads = 1;
    config.limits.prefixCache = false;
    return config;
  }

  SteppedEngine m_engine;
  std::uint64_t m_next = 1;
};

class Case {
 public:
  Case(std::uint64_t seed, const Models& models)
      : m_random(seed), m_model(static_cast<int>(seed % 2)), m_config(drawConfig(models)) {
    for (int i = 0; i < 2; ++i) m_preludes.push_back(drawTokens(upTo(4, 40)));
    for (std::int64_t i = upTo(6, 8); i > 0; --i) m_requests.push_back(drawRequest());
  }

  int model() const { return m_model; }

  // What went wrong, or nothing.
  std::string run(Alone& alone, Fault fault, Seen& seen) {
    LoadedModel model = Models::load(m_config);
    model.executor = std::make_unique<FaultyExecutor>(std::move(model.executor), fault);
    SteppedEngine engine(std::move(model), m_config);
    bool isMixed = false;
    std::size_t sent = 0;
    for (int loops = 0; sent < m_requests.size() || engine.hasWork(); ++loops) {
      if (loops > 20'000) return "no end in sight";
      while (sent < m_requests.size() && (sent < 2 || oneIn(5))) {
        RequestSpec spec = m_requests[sent++];
        spec.id = RequestId(sent);
        engine.submit(std::move(spec));
      }
      engine.step(upTo(1, 3) * 1'000'000);
      isMixed =
          isMixed || (engine.lastStep().prefillTokens > 0 && engine.lastStep().decodeTokens > 0);
    }
    note(engine, isMixed, seen);
    if (engine.session().cache().pool().numUsed() != 0) return "blocks are not back";
    if (engine.session().cache().swapSpace().numUsed() != 0) return "host memory is not back";
    for (std::size_t i = 0; i < m_requests.size(); ++i) {
      if (std::string wrong = compare(engine, alone, i); !wrong.empty()) return wrong;
    }
    return {};
  }

 private:
  std::int64_t upTo(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(m_random);
  }

  bool oneIn(std::int64_t count) { return upTo(1, count) == 1; }

  std::vector<TokenId> drawTokens(std::int64_t count) {
    std::vector<TokenId> tokens(static_cast<std::size_t>(count));
    for (TokenId& token : tokens) token = static_cast<TokenId>(upTo('a', 'j'));
    return tokens;
  }

  EngineConfig drawConfig(const Models& models) {
    EngineConfig config;
    config.load.modelPath = models.path(m_model);
    config.load.threads = oneIn(8) ? 2 : 1;
    config.load.blockSize = 1 << upTo(2, 5);
    config.load.allocator = oneIn(20) ? AllocatorKind::Contiguous : AllocatorKind::Paged;
    config.load.kvCache = !oneIn(24);
    // room for one whole request and little more, so that they push each other out
    config.load.maxContext = 128;
    const std::int64_t whole = 128 / config.load.blockSize;
    config.load.kvBlocks = whole + upTo(0, whole / 4);
    if (config.load.allocator == AllocatorKind::Contiguous)
      config.load.kvBlocks = whole * upTo(2, 4);
    if (oneIn(4)) config.load.swapMemoryBytes = upTo(1, 100) * 1024;
    SchedulerLimits& limits = config.limits;
    limits.maxSeqs = static_cast<int>(upTo(3, 8));
    limits.maxBatchedTokens = static_cast<int>(oneIn(6) ? upTo(8, 14) : upTo(16, 96));
    if (oneIn(3)) limits.prefillChunk = static_cast<int>(upTo(3, 33));
    if (oneIn(4)) limits.longPrefillThreshold = static_cast<int>(upTo(5, 20));
    limits.prefixCache = !oneIn(4);
    limits.preemption = oneIn(3) ? PreemptionKind::Recompute : PreemptionKind::Swap;
    limits.policy = static_cast<PolicyKind>(upTo(0, 2));
    if (oneIn(24)) limits.batching = static_cast<BatchingKind>(upTo(1, 2));
    limits.maxBatch = static_cast<int>(upTo(2, 6));
    limits.queueDelayMs = static_cast<double>(upTo(0, 8));
    limits.speculation = oneIn(2) ? SpeculationKind::Ngram : SpeculationKind::Off;
    limits.speculativeTokens = static_cast<int>(upTo(1, 6));
    limits.speculateAdaptive = false;
    if (!config.load.kvCache) {  // nothing to verify against, nothing to swap
      limits.speculation = SpeculationKind::Off;
      limits.preemption = PreemptionKind::Recompute;
    }
    return config;
  }

  RequestSpec drawRequest() {
    RequestSpec spec;
    std::vector<TokenId> prompt = m_preludes[static_cast<std::size_t>(upTo(0, 1))];
    if (oneIn(3)) prompt.clear();
    const std::vector<TokenId> own = drawTokens(upTo(2, 24));
    prompt.insert(prompt.end(), own.begin(), own.end());
    spec.prompt = TokenPrompt{std::move(prompt)};
    spec.priority = static_cast<int>(upTo(0, 2));
    spec.wantRowHashes = true;
    if (oneIn(3)) spec.slo.ttftMs = 1e6;
    SamplingParams& params = spec.sampling;
    params.maxTokens = upTo(8, 60);
    params.ignoreEos = true;
    params.seed = static_cast<std::uint64_t>(upTo(0, 1 << 30));
    if (!oneIn(3)) {
      params.temperature = 0.8f;
      if (oneIn(2)) params.topK = 20;
      if (oneIn(2)) params.topP = 0.9f;
      if (oneIn(3)) params.repetitionPenalty = 1.1f;
    }
    // few tokens share nearly all of the mass, so that earlier pairs come again and are guessed
    if (oneIn(2)) {
      for (TokenId id = 'a'; id <= 'd'; ++id) params.logitBias.emplace_back(id, 40.0f);
    }
    if (oneIn(5)) {
      params.n = static_cast<int>(upTo(2, 3));
    } else if (oneIn(12) && m_config.load.allocator == AllocatorKind::Paged) {
      makeBeams(spec);
    }
    return spec;
  }

  // Short, for beams have to fit together.
  void makeBeams(RequestSpec& spec) {
    spec.prompt = TokenPrompt{drawTokens(upTo(2, 24))};
    SamplingParams params;
    params.beamWidth = 2;
    params.maxTokens = upTo(4, 20);
    params.ignoreEos = true;
    spec.sampling = params;
  }

  void note(SteppedEngine& engine, bool isMixed, Seen& seen) const {
    const sched::SchedulerCounters& counters = engine.session().scheduler().counters();
    const SpeculationSummary speculation = engine.speculation();
    ++seen.cases;
    seen.mixed += isMixed;
    seen.preempted += counters.preemptions > counters.swaps;
    seen.swapped += counters.swaps > 0;
    seen.copied += engine.session().cache().pool().counters().cowCopies > 0;
    seen.hit += counters.prefixHits > 0;
    seen.rejected += speculation.drafted > speculation.accepted;
    seen.batched += m_config.limits.batching != BatchingKind::Continuous;
    seen.contiguous += m_config.load.allocator == AllocatorKind::Contiguous;
    seen.cacheless += !m_config.load.kvCache;
    for (const RequestSpec& spec : m_requests) {
      seen.several += spec.sampling.n > 1;
      seen.beams += spec.sampling.beamWidth > 0;
    }
    seen.requests += static_cast<std::int64_t>(m_requests.size());
    seen.tokens += static_cast<std::int64_t>(counters.generatedTokens);
  }

  std::string compare(const SteppedEngine& engine, Alone& alone, std::size_t index) const {
    const RequestId id(index + 1);
    const auto ended = engine.finished().find(id);
    if (ended == engine.finished().end()) return fmt::format("request {} never ended", id.value);
    if (ended->second.reason != FinishReason::Length &&
        ended->second.reason != FinishReason::Stop) {
      return fmt::format("request {} ended otherwise: {}", id.value, ended->second.explanation);
    }
    const std::vector<SteppedAnswer> expected = alone.serve(m_requests[index]);
    const auto found = engine.answers().find(id);
    const std::size_t numTold = found == engine.answers().end() ? 0 : found->second.size();
    if (numTold != expected.size()) {
      return fmt::format("request {} has {} answers of {}", id.value, numTold, expected.size());
    }
    for (std::size_t choice = 0; choice < numTold; ++choice) {
      const SteppedAnswer& got = found->second[choice];
      const SteppedAnswer& wanted = expected[choice];
      if (got == wanted) continue;
      const auto differs = std::ranges::mismatch(got.rowHashes, wanted.rowHashes);
      return fmt::format("request {} is not as alone: answer {}, {} of {} tokens, row {} differs",
                         id.value, choice, got.ids.size(), wanted.ids.size(),
                         differs.in1 - got.rowHashes.begin());
    }
    return {};
  }

  std::mt19937_64 m_random;
  int m_model;
  EngineConfig m_config;
  std::vector<std::vector<TokenId>> m_preludes;
  std::vector<RequestSpec> m_requests;
};

}  // namespace

class EngineStepProperty : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void anyScheduleGivesTheSameAnswers();
  void everySeededFaultIsFound_data();
  void everySeededFaultIsFound();

 private:
  std::string runCase(std::uint64_t seed, Fault fault, Seen& seen) {
    Case one(seed, *m_models);
    try {
      return one.run(*m_alone[static_cast<std::size_t>(one.model())], fault, seen);
    } catch (const std::exception& e) {
      return e.what();
    }
  }

  std::unique_ptr<Models> m_models;
  std::vector<std::unique_ptr<Alone>> m_alone;
};

void EngineStepProperty::initTestCase() {
  m_models = std::make_unique<Models>();
  for (int i = 0; i < 2; ++i) m_alone.push_back(std::make_unique<Alone>(m_models->path(i)));
}

void EngineStepProperty::anyScheduleGivesTheSameAnswers() {
  const int asked = qEnvironmentVariableIntValue("TESSERA_CASES");
  const int numCases = asked > 0 ? asked : kCases;
  const auto firstSeed =
      static_cast<std::uint64_t>(qEnvironmentVariable("TESSERA_SEED", "1").toULongLong());
  Seen seen;
  for (int i = 0; i < numCases; ++i) {
    const std::uint64_t seed = firstSeed + static_cast<std::uint64_t>(i);
    const std::string wrong = runCase(seed, Fault::None, seen);
    QVERIFY2(wrong.empty(), fmt::format("TESSERA_SEED={}: {}", seed, wrong).c_str());
  }
  qInfo("%s",
        fmt::format("{} cases, {} requests, {} tokens; cases with mixed steps {}, preemption "
                    "{}, swap {}, copies {}, prefix hits {}, rejected guesses {}, batches {}, "
                    "contiguous {}, no cache {}; requests with several answers {}, beams {}",
                    seen.cases, seen.requests, seen.tokens, seen.mixed, seen.preempted,
                    seen.swapped, seen.copied, seen.hit, seen.rejected, seen.batched,
                    seen.contiguous, seen.cacheless, seen.several, seen.beams)
            .c_str());
  if (numCases < kCases) return;  // a short run by hand need not have seen everything
  QVERIFY(seen.mixed * 10 >= seen.cases * 8);
  for (const int count : {seen.preempted, seen.swapped, seen.copied, seen.hit, seen.rejected}) {
    QVERIFY(count >= 50);
  }
}

void EngineStepProperty::everySeededFaultIsFound_data() {
  QTest::addColumn<int>("fault");
  for (const Fault fault : kFaults) QTest::newRow(faultName(fault)) << static_cast<int>(fault);
}

void EngineStepProperty::everySeededFaultIsFound() {
  QFETCH(int, fault);
  Seen seen;
  for (std::uint64_t seed = 1; seed <= kMostCasesToFindAFault; ++seed) {
    if (!runCase(seed, static_cast<Fault>(fault), seen).empty()) return;
  }
  QFAIL("no case found it");
}

QTEST_GUILESS_MAIN(EngineStepProperty)
#include "tst_engine_step_property.moc"
