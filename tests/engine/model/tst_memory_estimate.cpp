#include <QtTest/QtTest>

#include <QTemporaryDir>

#include "engine/model/gguf_weight_source.h"
#include "engine/model/memory_estimate.h"
#include "tests/support/tiny_model.h"

using engine::EngineConfig;
using engine::ErrorCode;
using engine::KvDType;
using engine::LoadConfig;
using engine::model::GgufWeightSource;
using engine::model::resolveKvBlocks;

namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr std::int64_t kPlenty = std::int64_t{1} << 40;  // blocks

}  // namespace

class TestMemoryEstimate : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<engine::model::WeightSource> openTiny(
      const test_support::TinyModelSpec& spec = {}) {
    const std::string path = m_folder.filePath("tiny.gguf").toStdString();
    test_support::writeTinyModel(spec, path);
    return GgufWeightSource::open(path).value();
  }

  QTemporaryDir m_folder;

 private slots:

  void readsTheAvailableMemoryOfMeminfo() {
    const auto bytes = engine::model::parseFreeMemory(
        "MemTotal:       24000000 kB\nMemFree:         5 kB\nMemAvailable:   123456 kB\n");
    QCOMPARE(bytes.value(), std::int64_t{123456} * 1024);
    QVERIFY(!engine::model::parseFreeMemory("MemTotal: 5 kB\n").has_value());
    QVERIFY(!engine::model::parseFreeMemory("MemAvailable:").has_value());
    QVERIFY(!engine::model::parseFreeMemory("MemAvailable: 99999999999999999 kB").has_value());
    QVERIFY(engine::model::freeMemoryBytes().value() > 0);
  }

  void thePoolIsAQuarterOfFreeMemoryAndAtMostFourGiB() {
    QCOMPARE(*resolveKvBlocks({}, 1000, 8000000, kPlenty), std::int64_t{2000});
    QCOMPARE(*resolveKvBlocks({}, kGiB, 100 * kGiB, kPlenty), std::int64_t{4});
  }

  void activationsAreThoseOfTheRowsTheBackendTakesAtOnce() {
    const auto source = openTiny();
    const auto bytesWith = [&source](int budget) {
      EngineConfig config;
      config.limits.maxBatchedTokens = budget;
      const auto estimate = engine::model::estimateMemory(*source, config, kGiB).value();
      for (const engine::MemoryItem& item : estimate.items) {
        if (item.name == "activations") return item.bytes;
      }
      return std::int64_t{0};
    };
    const std::int64_t least = bytesWith(512), most = bytesWith(2048);
    QVERIFY(least > 0 && least < most);
    QCOMPARE(bytesWith(16), least);
    QVERIFY(bytesWith(1000) > least && bytesWith(1000) < most);
    QCOMPARE(bytesWith(100000), most);
  }

  void askedMemoryAndAskedBlocksWin() {
    LoadConfig config;
    config.kvMemoryBytes = 10 * kGiB;
    QCOMPARE(*resolveKvBlocks(config, kGiB, 0, 1), std::int64_t{10});
    config.kvBlocks = 3;
    QCOMPARE(*resolveKvBlocks(config, kGiB, 0, 1), std::int64_t{3});
  }

  void thePoolIsNoLargerThanAllSequencesCanUse() {
    EngineConfig config;
    config.limits.maxSeqs = 4;
    config.load.blockSize = 16;
    QCOMPARE(engine::model::usefulBlocks(config, 100), std::int64_t{4 * 7});  // a last block in part
    QCOMPARE(engine::model::usefulBlocks(config, std::int64_t{1} << 62), std::int64_t{4} * 2147483647);
    QCOMPARE(*resolveKvBlocks(config.load, 1000, 100 * kGiB, 28), std::int64_t{28});
    const auto source = openTiny();  // context 512
    const auto whole = engine::model::estimateMemory(*source, config, 100 * kGiB);
    QCOMPARE(whole->kvCapacityTokens, std::int64_t{4 * 512});
    config.load.maxContext = 100;
    const auto shorter = engine::model::estimateMemory(*source, config, 100 * kGiB);
    QCOMPARE(shorter->kvCapacityTokens, std::int64_t{4 * 7 * 16});
  }

  void aPoolTooSmallForOneBlockSaysBothSizes() {
    LoadConfig config;
    config.kvMemoryBytes = 4095;
    const auto blocks = resolveKvBlocks(config, 4096, 0, kPlenty);
    QVERIFY(!blocks.isOk());
    QCOMPARE(blocks.error().code, ErrorCode::InvalidArgument);
    QVERIFY(blocks.error().message.find("4,095") != std::string::npos);
    QVERIFY(blocks.error().message.find("4,096") != std::string::npos);
    QVERIFY(!resolveKvBlocks({}, 4096, 4096, kPlenty).isOk());
    config.kvBlocks = std::int64_t{1} << 40;
    QVERIFY(!resolveKvBlocks(config, 1, 0, kPlenty).isOk());
  }

  void itemisesAModel() {
    const auto source = openTiny();
    EngineConfig config;
    config.load.kvBlocks = 1536;
    const auto estimate = engine::model::estimateMemory(*source, config, 8 * kGiB);
    QVERIFY2(estimate.isOk(), estimate ? "" : estimate.error().message.c_str());
    QCOMPARE(estimate->items.size(), std::size_t{4});
    // 269 x 64 embedding, two layers of (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 96), five norms
    const std::int64_t parameters = 269 * 64 + 2 * (8192 + 4096 + 18432) + 5 * 64;
    QCOMPARE(estimate->items[0].bytes, 4 * parameters);
    // 2 layers, K and V, 2 heads of 16, 2 bytes: 256 bytes a token
    QCOMPARE(estimate->items[1].bytes, std::int64_t{1536 * 16 * 256});
    QCOMPARE(estimate->items[1].note, std::string("1,536 blocks of 16 tokens, bf16"));
    QVERIFY(estimate->items[2].bytes > 512 * 64 * 4);
    QCOMPARE(estimate->items[3].bytes, std::int64_t{269 * 220});
    std::int64_t sum = 0;
    for (const auto& item : estimate->items) sum += item.bytes;
    QCOMPARE(estimate->totalBytes, sum);
    QCOMPARE(estimate->freeBytes, 8 * kGiB);
    QCOMPARE(estimate->kvCapacityTokens, std::int64_t{1536 * 16});
  }

  void theReferenceRecipeKeepsFloatKvUnlessAskedOtherwise() {
    const auto source = openTiny();
    const auto spec = (*source).config()->decoder;
    LoadConfig config;
    config.isa = engine::IsaKind::Reference;
    QCOMPARE(engine::model::kvLayoutOf(spec, config).type, kernels::KvType::F32);
    config.kvDtype = KvDType::F16;
    QCOMPARE(engine::model::kvLayoutOf(spec, config).type, kernels::KvType::F16);
    QCOMPARE(engine::model::kvLayoutOf(spec, LoadConfig{}).type, kernels::KvType::BF16);
  }

  void anEmbeddingOfItsOwnStaysInTheFile() {
    test_support::TinyModelSpec spec;
    spec.tiedOutput = false;
    const auto source = openTiny(spec);
    const auto weights = source->weights(*source->config());
    const auto tied = openTiny();
    const auto tiedWeights = tied->weights(*tied->config());
    QCOMPARE(engine::model::weightBytes(*weights), engine::model::weightBytes(*tiedWeights));
  }

  void aPoolBeyondAllMemoryIsAnErrorNotAWrap() {
    const auto source = openTiny();
    EngineConfig config;
    config.load.kvBlocks = 2147483647;
    config.load.blockSize = 1 << 30;
    QVERIFY(!engine::model::estimateMemory(*source, config, kGiB).isOk());
  }
};

QTEST_GUILESS_MAIN(TestMemoryEstimate)
#include "tst_memory_estimate.moc"
