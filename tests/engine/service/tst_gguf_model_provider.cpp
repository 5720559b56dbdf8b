// Real files end to end: generated models through the whole engine. One workload under any knobs
// gives the same ids and the same bits of every sampled row (DESIGN.md, principle 2; H11).
// labels: golden threads timed
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/service/engine_service.h"
#include "engine/service/gguf_model_provider.h"
#include "tests/support/engine_client.h"
#include "tests/support/sanitized.h"
#include "tests/support/service_bench.h"
#include "tests/support/tiny_model.h"

using namespace engine;
using namespace engine::service;
using namespace test_support;

namespace {

std::unique_ptr<EngineClient> makeClient() {
  EngineOptions options;
  options.checkInvariants = true;
  return std::make_unique<EngineClient>(
      createEngineService({std::make_shared<GgufModelProvider>(), nullptr}, options));
}

struct Answer {
  std::vector<TokenId> ids;
  std::vector<std::uint64_t> rowHashes;

  friend bool operator==(const Answer&, const Answer&) = default;
};

struct Outcome {
  std::vector<Answer> answers;
  EngineCounters counters;
};

// Eight requests at once, some sharing a prefix, greedy and sampled.
std::vector<RequestSpec> workload(std::int64_t maxTokens) {
  std::vector<RequestSpec> specs;
  for (int i = 0; i < 8; ++i) {
    std::string prompt = "All of them begin with the same words, then ";
    prompt += std::string(static_cast<std::size_t>(1 + 7 * i), static_cast<char>('a' + i));
    RequestSpec spec = textRequest(
        prompt, i % 2 == 0 ? greedy(maxTokens) : seeded(maxTokens, static_cast<std::uint64_t>(i)));
    spec.sampling.ignoreEos = true;
    spec.wantRowHashes = true;
    specs.push_back(std::move(spec));
  }
  return specs;
}

}  // namespace

class TestGgufModelProvider : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir m_folder;
  std::string m_path;

  static Outcome answersOf(const EngineConfig& config, const std::vector<RequestSpec>& specs) {
    Outcome outcome;
    auto client = makeClient();
    if (!client->load(config)) {
      qWarning("%s", client->loadFailures.back().error.message.c_str());
      return outcome;
    }
    std::vector<RequestId> ids;
    for (const RequestSpec& spec : specs) ids.push_back(client->submit(spec));
    if (!client->waitForAll() || !client->waitForState(EngineState::Idle)) return outcome;
    for (const RequestId id : ids) {
      outcome.answers.push_back({client->request(id).ids, client->request(id).rowHashes});
    }
    outcome.counters = client->snapshot()->counters;
    return outcome;
  }

  EngineConfig configOf(IsaKind isa) const {
    EngineConfig config;
    config.load.modelPath = m_path;
    config.load.isa = isa;
    config.load.threads = 2;
    config.load.kvBlocks = 400;
    return config;
  }

 private slots:

  void initTestCase() {
    QVERIFY(m_folder.isValid());
    m_path = m_folder.filePath("tiny.gguf").toStdString();
    writeTinyModel({}, m_path);
  }

  void theSameAnswerHoweverItWasScheduled_data() {
    using Change = std::function<void(EngineConfig&)>;
    QTest::addColumn<IsaKind>("isa");
    QTest::addColumn<Change>("change");
    QTest::addColumn<bool>("preempts");
    for (const IsaKind isa : {IsaKind::Reference, IsaKind::Auto}) {
      const auto row = [isa](const char* name, bool preempts, Change change) {
        QTest::addRow("%s: %s", isaName(isa), name) << isa << std::move(change) << preempts;
      };
      row("a pool for three", true, [](EngineConfig& c) { c.load.kvBlocks = 3 * 200 / 16; });
      row("one sequence at a time", false, [](EngineConfig& c) { c.limits.maxSeqs = 1; });
      row("no prefix cache", false, [](EngineConfig& c) { c.limits.prefixCache = false; });
      row("a budget of 7", false, [](EngineConfig& c) { c.limits.maxBatchedTokens = 7; });
      row("chunks of 17", false, [](EngineConfig& c) { c.limits.prefillChunk = 17; });
      row("blocks of 1", false, [](EngineConfig& c) {
        c.load.blockSize = 1;
        c.load.kvBlocks = 6400;
      });
      row("blocks of 64", false, [](EngineConfig& c) {
        c.load.blockSize = 64;
        c.load.kvBlocks = 100;
      });
      row("one thread", false, [](EngineConfig& c) { c.load.threads = 1; });
      row("three threads", false, [](EngineConfig& c) { c.load.threads = 3; });
      row("static batches of 3", false, [](EngineConfig& c) {
        c.limits.batching = BatchingKind::Static;
        c.limits.maxBatch = 3;
      });
      row("contiguous", false, [](EngineConfig& c) {
        c.load.allocator = AllocatorKind::Contiguous;
        c.load.kvBlocks = 32 * 4;
      });
    }
  }

  void theSameAnswerHoweverItWasScheduled() {
    QFETCH(IsaKind, isa);
    QFETCH(std::function<void(EngineConfig&)>, change);
    QFETCH(bool, preempts);
    const std::vector<RequestSpec> specs = workload(100);
    const Outcome plain = answersOf(configOf(isa), specs);
    QCOMPARE(plain.answers.size(), specs.size());
    QCOMPARE(plain.counters.preemptions, std::uint64_t{0});
    EngineConfig changed = configOf(isa);
    change(changed);
    const Outcome other = answersOf(changed, specs);
    QCOMPARE(other.answers.size(), specs.size());
    QCOMPARE(other.counters.preemptions > 0, preempts);
    QCOMPARE(other.counters.leakedBlocks, std::int64_t{0});
    for (std::size_t i = 0; i < specs.size(); ++i) {
      QCOMPARE(other.answers[i].ids.size(), std::size_t{100});
      QCOMPARE(other.answers[i].ids, plain.answers[i].ids);
      QCOMPARE(other.answers[i].rowHashes, plain.answers[i].rowHashes);
    }
  }

  void aRequestAloneAnswersAsInCompany() {
    const std::vector<RequestSpec> specs = workload(60);
    const Outcome together = answersOf(configOf(IsaKind::Auto), specs);
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const Outcome alone = answersOf(configOf(IsaKind::Auto), {specs[i]});
      QVERIFY(alone.answers.at(0) == together.answers.at(i));
    }
  }

  void everyFamilyLoadsAndSaysWhatItIs_data() {
    QTest::addColumn<QString>("family");
    for (const char* family : {"llama", "qwen2", "gemma3"}) QTest::addRow("%s", family) << family;
  }

  void everyFamilyLoadsAndSaysWhatItIs() {
    QFETCH(QString, family);
    TinyModelSpec spec;
    spec.family = family.toStdString();
    spec.window = family == "gemma3" ? 32 : 0;
    EngineConfig config = configOf(IsaKind::Auto);
    config.load.modelPath = m_folder.filePath(family + ".gguf").toStdString();
    writeTinyModel(spec, config.load.modelPath);
    auto client = makeClient();
    QVERIFY(client->load(config));
    const RequestId id = client->submit("hello", greedy(12));
    QVERIFY(client->waitForEnd(id));
    QVERIFY(!client->request(id).ids.empty());
    const auto info = client->snapshot()->model;
    QCOMPARE(info->architecture, spec.family);
    QCOMPARE(info->numLayers, spec.layers);
    QCOMPARE(info->trainedContext, std::int64_t{spec.context});
    QVERIFY(info->hasChatTemplate);
    QCOMPARE(info->chatNote, std::string());
    QVERIFY(info->weightBytes > 0 && info->kvBytes > 0 && info->loadMs > 0);
    QVERIFY(!info->isa.empty());
  }

  void aFileWithoutAChatTemplateSaysWhatTurnsAreTakenFor() {
    TinyModelSpec spec;
    spec.chatTemplate = false;
    EngineConfig config = configOf(IsaKind::Auto);
    config.load.modelPath = m_folder.filePath("no-template.gguf").toStdString();
    writeTinyModel(spec, config.load.modelPath);
    auto client = makeClient();
    QVERIFY(client->load(config));
    const auto info = client->snapshot()->model;
    QVERIFY(info->hasChatTemplate);
    QCOMPARE(info->chatNote, std::string("the model file has no chat template; turns are put between "
                                         "<|im_start|> and <|im_end|>, which it knows"));
  }

  void aConversationGoesThroughTheFilesTemplate() {
    auto client = makeClient();
    QVERIFY(client->load(configOf(IsaKind::Auto)));
    RequestSpec spec = textRequest("", greedy(2));
    spec.prompt = ChatPrompt{R"({"messages":[{"role":"user","content":"a<|im_end|>"}]})", ""};
    const RequestId id = client->submit(spec);
    spec.prompt = ChatPrompt{R"({"messages":[{"role":"system","content":"x"}]})",
                             "{{ raise_exception('System role not supported') }}"};
    const RequestId refused = client->submit(spec);
    QVERIFY(client->waitForAll());
    const auto& ids = client->request(id).promptIds;
    QCOMPARE(std::count(ids.begin(), ids.end(), kTinyBpeImEnd), 1);
    QVERIFY(client->request(refused).finished.reason == FinishReason::Refused);
    QVERIFY(client->request(refused).finished.explanation.find("System role not supported") !=
            std::string::npos);
  }

  void cancelIsSeenWithinAHundredMilliseconds_data() {
    QTest::addColumn<bool>("inPrefill");
    QTest::addRow("prefill") << true;
    QTest::addRow("decode") << false;
  }

  void cancelIsSeenWithinAHundredMilliseconds() {
    QFETCH(bool, inPrefill);
    TinyModelSpec spec;
    spec.layers = 12;
    spec.hidden = spec.ffn = 512;
    spec.context = 4096;
    EngineConfig config = configOf(IsaKind::Reference);  // slow on purpose
    config.load.modelPath = m_folder.filePath("slow.gguf").toStdString();
    writeTinyModel(spec, config.load.modelPath);
    auto client = makeClient();
    QVERIFY(client->load(config));
    const std::string prompt(inPrefill ? 4000 : 3, 'a');
    SamplingParams params = greedy(3000);
    params.maxTokens = inPrefill ? 10 : 3000;
    params.ignoreEos = true;
    const RequestId id = client->submit(prompt, params);
    QVERIFY(client->waitFor([&] {
      const auto& r = client->request(id);
      return inPrefill ? r.isStarted : r.ids.size() > 2;
    }));
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    QVERIFY(client->request(id).numFinished == 0);
    const auto t0 = std::chrono::steady_clock::now();
    client->send(Cancel{id});
    QVERIFY(client->waitForEnd(id));
    QVERIFY2(msSince(t0) < deadlineMs(100), qPrintable(QString::number(msSince(t0))));
    QVERIFY(client->request(id).finished.reason == FinishReason::Cancelled);
    QVERIFY(client->waitForState(EngineState::Idle));
    QCOMPARE(client->snapshot()->pool->usedBlocks, std::int64_t{0});
  }

  void badFilesAndKnobsAreRefusedWithOneSentence_data() {
    using Change = std::function<void(EngineConfig&)>;
    QTest::addColumn<Change>("change");
    QTest::addColumn<QStringList>("words");
    const auto row = [](const char* name, Change change, QStringList words) {
      QTest::addRow("%s", name) << std::move(change) << std::move(words);
    };
    row("no such file", [](EngineConfig& c) { c.load.modelPath = "nowhere.gguf"; },
        {"nowhere.gguf"});
    row("a folder", [this](EngineConfig& c) { c.load.modelPath = m_folder.path().toStdString(); },
        {});
    row("context", [](EngineConfig& c) { c.load.maxContext = 9999; }, {"9999", "512"});
    row("block size", [](EngineConfig& c) { c.load.blockSize = 5; }, {"5"});
    row("pool",
        [](EngineConfig& c) {
          c.load.kvBlocks = 0;
          c.load.kvMemoryBytes = 10;
        },
        {"10"});
    row("cuda", [](EngineConfig& c) { c.load.device = DeviceKind::Cuda; }, {"cuda"});
  }

  void badFilesAndKnobsAreRefusedWithOneSentence() {
    QFETCH(std::function<void(EngineConfig&)>, change);
    QFETCH(QStringList, words);
    EngineConfig config = configOf(IsaKind::Auto);
    change(config);
    auto client = makeClient();
    QVERIFY(!client->load(config));
    const QString sentence = QString::fromStdString(client->loadFailures.at(0).error.message);
    QVERIFY(!sentence.isEmpty() && !sentence.contains('\n'));
    for (const QString& word : words) QVERIFY2(sentence.contains(word), qPrintable(sentence));
    QVERIFY(client->load(configOf(IsaKind::Auto)));
  }

  void memoryIsEstimatedWithoutLoading() {
    auto client = makeClient();
    client->send(Query{QueryId(7), EstimateQuery{configOf(IsaKind::Auto).load}});
    QVERIFY(client->waitFor([&] { return client->answers.contains(QueryId(7)); }));
    const auto* estimate = std::get_if<MemoryEstimate>(&client->answers[QueryId(7)].answer);
    QVERIFY(estimate != nullptr);
    QVERIFY(estimate->totalBytes > 0 && estimate->items.size() >= 2);
    QCOMPARE(estimate->kvCapacityTokens, std::int64_t{400 * 16});
  }

  // H06 and a first real answer; the file is SmolLM2-135M-Instruct.
  void aRealModelAnswers() {
    const QString folder = qEnvironmentVariable("TESSERA_MODELS");
    const QString path = folder + "/SmolLM2-135M-Instruct.Q4_1.gguf";
    if (folder.isEmpty() || !QFile::exists(path)) {
      QSKIP("SmolLM2-135M-Instruct.Q4_1.gguf is not in $TESSERA_MODELS");
    }
    EngineConfig config;
    config.load.modelPath = path.toStdString();
    config.load.kvBlocks = 64;
    auto client = makeClient();
    QVERIFY(client->load(config));
    const RequestId capital = client->submit("The capital of France is", greedy(8));
    RequestSpec spec = textRequest("", greedy(8));
    spec.prompt = ChatPrompt{R"({"messages":[{"role":"user","content":"Hi"}]})", ""};
    const RequestId chat = client->submit(spec);
    QVERIFY(client->waitForAll());
    const ClientRequest& answer = client->request(capital);
    QVERIFY2(answer.text.starts_with(" Paris"), answer.text.c_str());
    QCOMPARE(client->request(chat).promptIds.size(), std::size_t{31});
    QVERIFY(!client->request(chat).text.empty());
  }
};

QTEST_GUILESS_MAIN(TestGgufModelProvider)
#include "tst_gguf_model_provider.moc"
