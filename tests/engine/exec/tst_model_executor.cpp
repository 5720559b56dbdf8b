// The forward pass as an ordered log of Ops calls: order, cancel, failure, chunks of logits.
// labels: contract
#include <string>
#include <vector>

#include <QtTest>

#include "engine/exec/model_executor.h"
#include "engine/model/gguf_weight_source.h"
#include "tests/support/recording_ops.h"
#include "tests/support/tiny_model.h"

using namespace engine;
using namespace engine::exec;
using test_support::RecordingOps;

class TestModelExecutor : public QObject {
  Q_OBJECT

 private:
  struct Fixture {
    RecordingOps* ops;
    std::unique_ptr<ModelExecutor> executor;

    explicit Fixture(int maxBatchedTokens = 512, std::int64_t vocabSize = 8) {
      auto made = std::make_unique<RecordingOps>(2, vocabSize);
      ops = made.get();
      executor =
          std::make_unique<ModelExecutor>(nullptr, std::move(made), vocabSize, maxBatchedTokens);
    }
  };

  QTemporaryDir m_folder;
  const std::vector<TokenId> m_tokens = {1, 2, 3, 4, 5};
  const std::vector<BlockId> m_table = {BlockId(0), BlockId(1)};
  const std::vector<std::string> m_forward = {"embed 5",   "qkv 0",     "attend 0",
                                              "project 0", "mlp 0",     "qkv 1",
                                              "attend 1",  "project 1", "mlp 1"};

 private slots:

  void layersRunInOrderThenLogits() {
    Fixture f;
    std::vector<int> rows;
    const std::vector<SequenceRows> step = {{m_tokens, 0, m_table, 2}};
    QVERIFY(f.executor
                ->execute(step, nullptr,
                          [&](int first, int count, const float* logits) {
                            rows.push_back(first);
                            rows.push_back(count);
                            // the fake's logits tell the token of the row
                            QCOMPARE(logits[0], 4.0f);
                            QCOMPARE(logits[8], 5.0f);
                          })
                .isOk());
    auto expected = m_forward;
    expected.push_back("logits 0+2");
    QCOMPARE(f.ops->log, expected);
    QCOMPARE(rows, (std::vector<int>{0, 2}));
  }

  void whoWatchesIsToldOfTheRowsThatComeNext() {
    Fixture f;
    std::vector<float> told;
    const std::vector<SequenceRows> step = {{m_tokens, 0, m_table, 2}};
    const LogitsSink sink(
        [&](int, int count, const float* logits) {
          QCOMPARE(told, (std::vector<float>{logits[0], logits[8]}));
          QCOMPARE(count, 2);
        },
        [&](int row, int run, const float* columns, int numColumns) {
          QCOMPARE(row, static_cast<int>(told.size()));
          QCOMPARE(run, 0);
          QCOMPARE(numColumns, 8);
          told.push_back(columns[0]);
        });
    QVERIFY(f.executor->execute(step, nullptr, sink).isOk());
    QCOMPARE(told, (std::vector<float>{4.0f, 5.0f}));
  }

  void aChunkThatSamplesNothingStopsAfterItsLastKeysAndValues() {
    Fixture f;
    QVERIFY(f.executor->execute(std::vector<SequenceRows>{{m_tokens, 0, m_table, 0}}, nullptr, {})
                .isOk());
    QCOMPARE(f.ops->log.back(), std::string("qkv 1"));
  }

  void cancelIsSeenBetweenLayers() {
    Fixture f;
    std::atomic<bool> cancel = false;
    f.ops->onCall = [&](const std::string& call) {
      if (call == "mlp 0") cancel = true;
    };
    const auto done =
        f.executor->execute(std::vector<SequenceRows>{{m_tokens, 0, m_table, 1}}, &cancel, {});
    QVERIFY(!done.isOk());
    QCOMPARE(done.error().code, ErrorCode::Cancelled);
    QCOMPARE(f.ops->log.back(), std::string("mlp 0"));
  }

  void aFailedOperationEndsTheStepWithItsSentence() {
    Fixture f;
    f.ops->failAt = "project 1";
    const auto done =
        f.executor->execute(std::vector<SequenceRows>{{m_tokens, 0, m_table, 1}}, nullptr, {});
    QVERIFY(!done.isOk());
    QCOMPARE(done.error().code, ErrorCode::DeviceFailed);
    QCOMPARE(done.error().message, std::string("project 1 failed"));
    QCOMPARE(f.ops->log.back(), std::string("project 1"));
  }

  void moreRowsThanTheBackendHoldsAreCutAndNumberedOn() {
    Fixture f(2);
    std::vector<float> seen;
    const std::vector<SequenceRows> step = {{m_tokens, 0, m_table, 5}};
    QVERIFY(f.executor
                ->execute(step, nullptr,
                          [&](int first, int count, const float* logits) {
                            QCOMPARE(first, static_cast<int>(seen.size()));
                            for (int i = 0; i < count; ++i) seen.push_back(logits[i * 8]);
                          })
                .isOk());
    QCOMPARE(seen, (std::vector<float>{1, 2, 3, 4, 5}));
    QCOMPARE(std::count(f.ops->log.begin(), f.ops->log.end(), "embed 2"), 2);
  }

  void aShapeThatNoFastRecipeTakesRunsByTheReferenceAndSaysSo() {
    const auto supported = kernels::cpu::supportedIsas();
    if (supported.empty()) QSKIP("this processor has no fast recipe");
    test_support::TinyModelSpec spec;
    spec.family = "qwen3";
    spec.heads = 130;  // 65 share a KV head
    spec.kvHeads = 2;
    const std::string path = m_folder.filePath("narrow.gguf").toStdString();
    test_support::writeTinyModel(spec, path);
    const std::shared_ptr<const model::WeightSource> source =
        std::move(model::GgufWeightSource::open(path)).value();
    const model::ModelConfig config = *source->config();
    ModelExecutorOptions options;
    options.numBlocks = 4;
    options.threads = 1;
    options.backend = {supported.front(), "", false};
    const auto executor = ModelExecutor::create(source, config, options);
    QVERIFY2(executor.isOk(), executor ? "" : executor.error().message.c_str());
    QCOMPARE((*executor)->info().isa, std::string("reference"));
    QVERIFY((*executor)->info().note.find("65 query heads") != std::string::npos);
    options.backend.isAsked = true;
    const auto asked = ModelExecutor::create(source, config, options);
    QVERIFY(!asked.isOk());
    QCOMPARE(asked.error().code, ErrorCode::Unsupported);
  }

  void logitsComeInBoundedChunks() {
    Fixture f(4096, 4 << 20);  // 16 MiB a row: two rows fit
    QCOMPARE(f.executor->maxLogitRows(), 2);
    std::vector<int> counts;
    const std::vector<SequenceRows> step = {{m_tokens, 0, m_table, 5}};
    QVERIFY(
        f.executor
            ->execute(step, nullptr, [&](int, int count, const float*) { counts.push_back(count); })
            .isOk());
    QCOMPARE(counts, (std::vector<int>{2, 2, 1}));
  }
};

QTEST_GUILESS_MAIN(TestModelExecutor)
#include "tst_model_executor.moc"
