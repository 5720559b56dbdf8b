// A model's file that changes while it is loaded or in use: what was read of it is neither kept nor
// passed off as an answer, and the program goes on.
// labels: threads
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/service/engine_service.h"
#include "engine/service/gguf_model_provider.h"
#include "engine/service/perplexity.h"
#include "kernels/core/ops.h"
#include "tests/support/aged_file.h"
#include "tests/support/engine_client.h"
#include "tests/support/service_bench.h"
#include "tests/support/tiny_model.h"

using namespace engine;
using namespace engine::service;
using namespace test_support;

namespace {

using Act = std::function<void(const std::string& path)>;

constexpr std::uint64_t kLeft = 4096;  // of a file that is cut short

void cutShort(const std::string& path) {
  std::filesystem::resize_file(path, kLeft);
}

void spoil(const std::string& path) {
  const std::uint64_t size = std::filesystem::file_size(path);
  overwrite(path, size / 2, std::string(size / 3, '\1'));
}

void touch(const std::string& path) {
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now());
}

// Another file of the same name, then none.
void replaceName(const std::string& path) {
  writeFile(path + ".new", "another");
  std::filesystem::rename(path + ".new", path);
  std::filesystem::remove(path);
}

bool holds(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return true;
  qWarning("\"%s\" lacks \"%s\"", text.c_str(), part.c_str());
  return false;
}

std::unique_ptr<EngineClient> makeClient() {
  EngineOptions options;
  options.checkInvariants = true;
  return std::make_unique<EngineClient>(
      createEngineService({std::make_shared<GgufModelProvider>(), nullptr}, options));
}

}  // namespace

class TestChangedFile : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir m_folder;
  std::string m_path, m_draftPath, m_kept, m_content;

  EngineConfig config(IsaKind isa = IsaKind::Auto) const {
    EngineConfig config;
    config.load.modelPath = m_path;
    config.load.isa = isa;
    config.load.threads = 2;
    config.load.kvBlocks = 64;
    return config;
  }

  EngineConfig withDraft() const {
    EngineConfig config = this->config();
    config.load.draftModelPath = m_draftPath;
    config.limits.speculation = SpeculationKind::Draft;
    config.limits.speculateAdaptive = false;
    return config;
  }

  // Loads, and does `act` as soon as a load tells of this stage and fraction.
  Result<LoadedModel> load(const EngineConfig& config,
                           const std::string& stage,
                           double fraction,
                           const std::function<void()>& act) const {
    bool isDone = false;
    LoadObserver observer;
    observer.progress = [&](const std::string& at, double reached, std::int64_t) {
      if (isDone || at != stage || reached < fraction) return;
      act();
      isDone = true;
    };
    GgufModelProvider provider(m_kept);
    const auto opened = TRY(provider.open(config, observer));
    return opened->load(config, observer);
  }

  static SamplingParams some(std::int64_t maxTokens) {
    SamplingParams params = greedy(maxTokens);
    params.ignoreEos = true;
    return params;
  }

  // A request of which 3 steps were made when `act` comes.
  static RequestId actAmidAnAnswer(EngineClient& client,
                                   const SamplingParams& sampling,
                                   const std::function<void()>& act) {
    client.send(Pause{});
    const RequestId id = client.submit("Once upon a time", sampling);
    client.send(StepOnce{3});
    (void)client.waitFor([&] { return client.request(id).ids.size() >= 2; });
    act();
    client.send(Resume{});
    return id;
  }

  void checkFailed(EngineClient& client, RequestId id) const {
    QVERIFY(client.waitForEnd(id));
    const RequestFinished& finished = client.request(id).finished;
    QCOMPARE(finished.reason, FinishReason::Failed);
    QVERIFY(holds(finished.explanation,
                  m_path + ": was cut short from " + std::to_string(m_content.size()) + " to " +
                      std::to_string(kLeft) +
                      " bytes while it was in use; the model must be loaded again"));
  }

 private slots:

  void initTestCase() {
    QVERIFY(m_folder.isValid());
    m_path = m_folder.filePath("model.gguf").toStdString();
    m_draftPath = m_folder.filePath("draft.gguf").toStdString();
    m_kept = m_folder.filePath("kept").toStdString();
    writeTinyModel({}, m_path);
    m_content = readFile(m_path);
    QVERIFY(m_content.size() > (std::size_t{64} << 10));
  }

  void init() {
    writeAgedFile(m_path, m_content);
    writeAgedFile(m_draftPath, m_content);
    std::filesystem::remove_all(m_kept);
  }

  void aLoadWhoseFileChangesFailsAndKeepsNothing_data() {
    QTest::addColumn<QString>("stage");
    QTest::addColumn<double>("fraction");
    QTest::addColumn<Act>("act");
    QTest::addColumn<QString>("said");
    const std::string cut = "was cut short from " + std::to_string(m_content.size()) + " to " +
                            std::to_string(kLeft) + " bytes while it was read";
    const auto rows = [&](const char* stage, double fraction) {
      const auto row = [&](const char* name, Act act, const std::string& said) {
        QTest::addRow("%s, %s %.2f", name, stage, fraction)
            << QString(stage) << fraction << std::move(act) << QString::fromStdString(said);
      };
      row("cut short", cutShort, cut);
      row("other bytes", spoil, "was changed while it was read");
      row("touched", touch, "was changed while it was read");
    };
    rows("reading", 0.5);
    rows("reading", 1.0);
    if (kernels::cpu::supportedIsas().empty()) return;
    rows("packing", 0.0);
    rows("packing", 0.3);  // the name of what would be kept is known
    rows("packing", 0.6);
  }

  void aLoadWhoseFileChangesFailsAndKeepsNothing() {
    QFETCH(QString, stage);
    QFETCH(double, fraction);
    QFETCH(Act, act);
    QFETCH(QString, said);
    const auto failed =
        load(config(), stage.toStdString(), fraction, [&] { act(m_path); });
    QVERIFY(!failed.isOk());
    QCOMPARE(failed.error().code, ErrorCode::CorruptFile);
    QCOMPARE(failed.error().message, m_path + ": " + said.toStdString());
    QVERIFY(!std::filesystem::exists(m_kept) || std::filesystem::is_empty(m_kept));
    // as it should be, it loads
    writeAgedFile(m_path, m_content);
    QVERIFY(load(config(), "", 0, [] {}).isOk());
    if (!kernels::cpu::supportedIsas().empty()) QVERIFY(!std::filesystem::is_empty(m_kept));
  }

  void aLoadWhoseDraftChangesFails() {
    const auto failed =
        load(withDraft(), "packing the draft model", 0.0, [&] { spoil(m_draftPath); });
    QVERIFY(!failed.isOk());
    QCOMPARE(failed.error().message, m_draftPath + ": was changed while it was read");
  }

  void aLoadWhoseNameGoesIsNoFailure() {
    const auto loaded = load(config(), "reading", 1.0, [&] { replaceName(m_path); });
    QVERIFY2(loaded.isOk(), loaded.isOk() ? "" : loaded.error().message.c_str());
  }

  void aStoppedLoadIsToldAsSuch() {
    std::atomic<bool> isStopped{false};
    LoadObserver observer;
    observer.cancel = &isStopped;
    observer.progress = [&](const std::string& stage, double fraction, std::int64_t) {
      if (stage != "reading" || fraction < 1.0) return;
      spoil(m_path);
      isStopped = true;
    };
    GgufModelProvider provider(m_kept);
    const auto opened = provider.open(config(), observer);
    QVERIFY(!opened.isOk());
    QCOMPARE(opened.error().code, ErrorCode::Cancelled);
  }

  void stepsOfACutFileFailUntilItIsLoadedAgain_data() {
    QTest::addColumn<IsaKind>("isa");
    QTest::newRow("all weights in the file") << IsaKind::Reference;
    QTest::newRow("packed weights") << IsaKind::Auto;
  }

  void stepsOfACutFileFailUntilItIsLoadedAgain() {
    QFETCH(IsaKind, isa);
    const auto client = makeClient();
    QVERIFY(client->load(config(isa)));
    const RequestId whole = client->submit("Once upon a time", some(20));
    QVERIFY(client->waitForEnd(whole));
    QCOMPARE(client->request(whole).ids.size(), std::size_t{20});

    const RequestId amid =
        actAmidAnAnswer(*client, some(200), [&] { cutShort(m_path); });
    checkFailed(*client, amid);
    QVERIFY(client->request(amid).ids.size() < 200);
    // more than an engine with a fault of its own would bear
    for (int i = 0; i < 5; ++i) {
      const RequestId one = client->submit("And then", some(5));
      const RequestId other = client->submit("And then again", some(5));
      checkFailed(*client, one);
      checkFailed(*client, other);
      QVERIFY(client->request(one).ids.empty());
    }
    SamplingParams beams = some(5);
    beams.beamWidth = 2;
    checkFailed(*client, client->submit("In two ways", beams));
    QVERIFY(client->waitForState(EngineState::Idle));
    QVERIFY(client->notices.empty());

    writeAgedFile(m_path, m_content);
    checkFailed(*client, client->submit("Not loaded yet", some(5)));
    QVERIFY(client->load(config(isa)));
    const RequestId again = client->submit("Once upon a time", some(20));
    QVERIFY(client->waitForEnd(again));
    QCOMPARE(client->request(again).ids, client->request(whole).ids);
  }

  void aChangedFileIsToldOnceAndRequestsGoOn_data() {
    QTest::addColumn<Act>("act");
    QTest::newRow("other bytes") << Act(spoil);
    QTest::newRow("touched") << Act(touch);
  }

  void aChangedFileIsToldOnceAndRequestsGoOn() {
    QFETCH(Act, act);
    const auto client = makeClient();
    QVERIFY(client->load(config()));
    for (std::size_t load = 1; load <= 2; ++load) {
      const RequestId id = actAmidAnAnswer(*client, some(20), [&] { act(m_path); });
      QVERIFY(client->waitForEnd(id));
      QCOMPARE(client->request(id).finished.reason, FinishReason::Length);
      QVERIFY(client->waitForEnd(client->submit("And then", some(5))));
      QCOMPARE(client->notices.size(), load);
      QCOMPARE(client->notices.back().severity, Severity::Warning);
      QCOMPARE(client->notices.back().text,
               m_path + ": was changed while it was in use, so answers may be wrong until the "
                        "model is loaded again");
      writeAgedFile(m_path, m_content);
      QVERIFY(client->load(config()));
    }
    QVERIFY(client->waitForEnd(client->submit("And then", some(5))));
    QCOMPARE(client->notices.size(), std::size_t{2});
  }

  void aFileWhoseNameGoesIsNotTold() {
    const auto client = makeClient();
    QVERIFY(client->load(config()));
    const RequestId whole = client->submit("Once upon a time", some(20));
    QVERIFY(client->waitForEnd(whole));
    const RequestId id = actAmidAnAnswer(*client, some(20), [&] { replaceName(m_path); });
    QVERIFY(client->waitForEnd(id));
    QCOMPARE(client->request(id).ids, client->request(whole).ids);
    QVERIFY(client->notices.empty());
  }

  // Its guesses are verified: answers stay what they are.
  void aChangedDraftIsToldAndAnswersStayRight_data() {
    QTest::addColumn<Act>("act");
    QTest::addColumn<QString>("said");
    QTest::newRow("cut short")
        << Act(cutShort)
        << "the draft model failed and steps go on without it: " + QString::fromStdString(m_draftPath);
    QTest::newRow("other bytes")
        << Act(spoil)
        << QString::fromStdString(m_draftPath) +
               ": was changed while it was in use, so its guesses may be worse until the models are "
               "loaded again";
  }

  void aChangedDraftIsToldAndAnswersStayRight() {
    QFETCH(Act, act);
    QFETCH(QString, said);
    const auto client = makeClient();
    QVERIFY(client->load(withDraft()));
    const RequestId whole = client->submit("Once upon a time", some(40));
    QVERIFY(client->waitForEnd(whole));
    QVERIFY(client->waitForState(EngineState::Idle));
    QVERIFY(client->snapshot()->speculation.drafted > 0);
    const RequestId id = actAmidAnAnswer(*client, some(40), [&] { act(m_draftPath); });
    QVERIFY(client->waitForEnd(id));
    QCOMPARE(client->request(id).finished.reason, FinishReason::Length);
    QCOMPARE(client->request(id).ids, client->request(whole).ids);
    QCOMPARE(client->notices.size(), std::size_t{1});
    QVERIFY(holds(client->notices[0].text, said.toStdString()));
  }

  void whatScoresATextNoticesToo_data() {
    QTest::addColumn<Act>("act");
    QTest::addColumn<bool>("fails");
    QTest::newRow("cut short") << Act(cutShort) << true;
    QTest::newRow("other bytes") << Act(spoil) << false;
  }

  void whatScoresATextNoticesToo() {
    QFETCH(Act, act);
    QFETCH(bool, fails);
    const auto model = load(config(), "", 0, [] {});
    QVERIFY(model.isOk());
    std::vector<TokenId> tokens;
    for (int i = 0; i < 96; ++i) tokens.push_back(i * 7 % 256);
    ChunkRule rule;
    rule.context = 32;
    int numPositions = 0;
    const auto sink = [&](std::span<const float>, TokenId) -> Result<void> {
      if (numPositions++ == 0) act(m_path);
      return {};
    };
    const auto scored = scoreChunks(*model->executor, tokens, rule, nullptr, sink);
    QCOMPARE(scored.isOk(), !fails);
    const std::string warning = model->executor->takeWarning();
    if (fails) {
      QCOMPARE(scored.error().code, ErrorCode::CorruptFile);
      QVERIFY(holds(scored.error().message, m_path + ": was cut short from "));
      QCOMPARE(numPositions, 15);  // of the first chunk
      QVERIFY(warning.empty());
    } else {
      QCOMPARE(warning, m_path + ": was changed while it was in use");
    }
    QVERIFY(model->executor->takeWarning().empty());
  }
};

QTEST_GUILESS_MAIN(TestChangedFile)
#include "tst_changed_file.moc"
