// The contract of Ops, kept by every backend: the same bits however the work was scheduled.
#include "kernels/core/ops.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include <QtTest>

#include "kernels/core/request_check.h"
#include "tests/kernels/tiny_decoder.h"

using namespace tests;
using kernels::BackendResult;
using kernels::DType;
using kernels::KvType;
using kernels::Outcome;
using kernels::cpu::Isa;

class OpsTest : public QObject {
  Q_OBJECT

 private slots:
  void chunksBlocksAndThreadsLeaveTheBits_data() { backendRows(); }

  void chunksBlocksAndThreadsLeaveTheBits() {
    const std::vector<float> expected = whole(16, 1, blockRun(7, 0, 1));
    for (const int blockSize : {1, 2, 4, 8, 16, 32, 64}) {
      const int numBlocks = 100 / blockSize + 1;
      for (const int threads : {1, 2, 3}) {
        const std::vector<std::int32_t> blocks =
            blockRun(numBlocks, threads, threads == 2 ? 3 : 1, numBlocks * 3 + 1);
        const BackendResult result = create(blockSize, numBlocks * 3 + 1, threads);
        TinySequence sequence{m_tokens, blocks};
        std::size_t at = 0;
        for (int rows = threads; sequence.numDone < 100; rows = rows * 2 % 31 + 1) {
          const int count = std::min(rows, 100 - sequence.numDone);
          std::vector<float> logits;
          QVERIFY(runStep(*result.ops, *m_decoder, {{&sequence, count}}, logits).isOk());
          QVERIFY2(std::memcmp(logits.data(), &expected[at], logits.size() * 4) == 0,
                   qPrintable(QString("block %1, %2 threads, row %3").arg(blockSize).arg(threads)
                                  .arg(sequence.numDone)));
          at += logits.size();
        }
      }
    }
  }

  void batchMatesLeaveTheBits_data() { backendRows(); }

  // Prefill chunks, decode rows and sequences without a row share a step.
  void batchMatesLeaveTheBits() {
    const std::vector<float> expected = whole(16, 1, blockRun(7, 0, 1));
    const BackendResult result = create(16, 64, 2);
    const std::size_t vocab = static_cast<std::size_t>(m_decoder->spec().vocabSize);
    TinySequence ours{m_tokens, blockRun(7, 50, 1)};
    TinySequence mate{randomTokens(100, 67, 77), blockRun(7, 1, 2)};
    TinySequence idle{randomTokens(100, 67, 78), blockRun(7, 2, 2)};
    std::vector<float> logits;
    QVERIFY(runStep(*result.ops, *m_decoder, {{&idle, 33}}, logits).isOk());
    std::size_t at = 0;
    for (const int rows : {1, 40, 1, 1, 17, 0, 40}) {
      const int mates = rows > 1 ? 1 : 14;
      QVERIFY(runStep(*result.ops, *m_decoder, {{&mate, mates}, {&idle, 0}, {&ours, rows}}, logits).isOk());
      const float* own = logits.data() + static_cast<std::size_t>(mates) * vocab;
      QVERIFY(std::memcmp(own, &expected[at], static_cast<std::size_t>(rows) * vocab * 4) == 0);
      at += static_cast<std::size_t>(rows) * vocab;
    }
    QCOMPARE(at, expected.size());
  }

  void garbageInUnusedSlotsLeavesTheBits_data() { backendRows(); }

  void garbageInUnusedSlotsLeavesTheBits() {
    const std::vector<float> expected = whole(8, 1, blockRun(13, 0, 1));
    for (const int blockSize : {4, 8, 16}) {
      const BackendResult result = create(blockSize, 30, 2);
      const std::vector<std::byte> ones(result.ops->layout().bytesPerBlock(), std::byte{0xFF});
      for (int block = 0; block < 30; ++block) result.ops->writeBlock(block, ones.data());
      TinySequence sequence{m_tokens, blockRun(100 / blockSize + 1, 2, 1)};
      std::size_t at = 0;
      for (const int rows : {1, 62, 37}) {
        std::vector<float> logits;
        QVERIFY(runStep(*result.ops, *m_decoder, {{&sequence, rows}}, logits).isOk());
        QVERIFY(std::memcmp(logits.data(), &expected[at], logits.size() * 4) == 0);
        at += logits.size();
      }
    }
  }

  void blocksMoveByCopyAndThroughHostMemory_data() { backendRows(); }

  void blocksMoveByCopyAndThroughHostMemory() {
    const std::vector<float> expected = whole(16, 1, blockRun(7, 0, 1));
    const BackendResult result = create(16, 32, 2);
    TinySequence sequence{m_tokens, blockRun(7, 0, 1)};
    std::vector<float> logits;
    QVERIFY(runStep(*result.ops, *m_decoder, {{&sequence, 50}}, logits).isOk());
    const std::vector<kernels::BlockCopy> copies = {{0, 20}, {2, 22}};
    result.ops->copyBlocks(copies);
    std::vector<std::byte> host(result.ops->layout().bytesPerBlock());
    for (const int block : {1, 3}) {
      result.ops->readBlock(block, host.data());
      result.ops->writeBlock(20 + block, host.data());
    }
    const std::vector<std::byte> ones(host.size(), std::byte{0xFF});
    for (int block = 0; block < 7; ++block) result.ops->writeBlock(block, ones.data());
    sequence.blocks = blockRun(7, 20, 1);
    QVERIFY(runStep(*result.ops, *m_decoder, {{&sequence, 50}}, logits).isOk());
    QVERIFY(std::memcmp(logits.data(), &expected[expected.size() / 2], logits.size() * 4) == 0);
  }

  void logitsComeInAnyRange_data() { backendRows(); }

  void logitsComeInAnyRange() {
    const std::vector<float> expected = whole(16, 1, blockRun(7, 0, 1));
    const BackendResult result = create(16, 8, 2);
    TinySequence sequence{m_tokens, blockRun(7)};
    const TinyBatch holder({{&sequence, 100}});
    kernels::RaggedBatch batch = holder.view();
    const std::int32_t rows[] = {99, 3, 50, 4};
    batch.logitRows = rows;
    batch.numLogitRows = 4;
    QVERIFY(result.ops->embed(batch).isOk());
    for (int layer = 0; layer < m_decoder->spec().numLayers; ++layer) {
      QVERIFY(result.ops->qkv(layer, batch).isOk() && result.ops->attend(layer, batch).isOk());
      QVERIFY(result.ops->project(layer, batch).isOk() && result.ops->mlp(layer, batch).isOk());
    }
    for (const int first : {2, 0, 3}) {
      const int count = first == 3 ? 1 : 2;
      std::vector<float> logits(static_cast<std::size_t>(count) * 67);
      QVERIFY(result.ops->logits(batch, first, count, logits.data(), {}).isOk());
      for (int i = 0; i < count; ++i) {
        QVERIFY(std::memcmp(&logits[static_cast<std::size_t>(i) * 67],
                            &expected[static_cast<std::size_t>(rows[first + i]) * 67], 67 * 4) == 0);
      }
    }
  }

  void everyRunOfLogitsIsToldOfAndTheLastTimeIsFinal_data() { backendRows(); }

  void everyRunOfLogitsIsToldOfAndTheLastTimeIsFinal() {
    QFETCH(int, type);
    constexpr int kVocab = 600, kRows = 70, kRuns = 3;
    m_decoder = std::make_unique<TinyDecoder>(
        TinyShape{.vocabSize = kVocab, .finalSoftCap = 30.0f, .type = static_cast<DType>(type)});
    const BackendResult result = create(16, 8, 3);
    TinySequence sequence{m_tokens, blockRun(7)};
    std::vector<float> logits, told(std::size_t{kRows} * kVocab);
    std::atomic<int> counts[kRows][kRuns] = {};
    const auto watch = [&](int row, int run, const float* columns, int numColumns) {
      ++counts[row][run];
      QCOMPARE(numColumns, run < 2 ? 256 : 88);
      std::copy_n(columns, numColumns, told.begin() + row * kVocab + run * kernels::kLogitsRun);
    };
    QVERIFY(runStep(*result.ops, *m_decoder, {{&sequence, kRows}}, logits, nullptr, watch).isOk());
    for (const auto& row : counts) {
      for (const std::atomic<int>& count : row) QVERIFY(count == 1 || count == 2);
    }
    QVERIFY(std::memcmp(told.data(), logits.data(), told.size() * 4) == 0);
    // and the logits are the same when nobody watches
    std::vector<float> unwatched;
    sequence.numDone = 0;
    QVERIFY(runStep(*result.ops, *m_decoder, {{&sequence, kRows}}, unwatched).isOk());
    QVERIFY(std::memcmp(unwatched.data(), logits.data(), told.size() * 4) == 0);
  }

  void aBatchOutOfBoundsIsRefused_data() { backendRows(); }

  void aBatchOutOfBoundsIsRefused() {
    const BackendResult result = create(16, 8, 1);
    std::vector<float> logits;
    TinySequence badToken{{1, 67}, {0}}, badBlock{{1, 2}, {8}}, tooLong{randomTokens(1025, 67, 1), blockRun(65)};
    for (TinySequence* sequence : {&badToken, &badBlock, &tooLong}) {
      const int rows = static_cast<int>(sequence->tokens.size());
      const kernels::Status status = runStep(*result.ops, *m_decoder, {{sequence, rows}}, logits);
      QCOMPARE(status.outcome, Outcome::DeviceFailed);
      QVERIFY(!status.message.empty());
    }
    QVERIFY(runStep(*result.ops, *m_decoder, {}, logits).isOk());  // an empty step is none
  }

  void aRaisedCancelEndsTheStep_data() { backendRows(); }

  void aRaisedCancelEndsTheStep() {
    const BackendResult result = create(16, 8, 2);
    TinySequence sequence{m_tokens, blockRun(7)};
    const std::atomic<bool> cancel{true};
    std::vector<float> logits;
    const kernels::Status status =
        runStep(*result.ops, *m_decoder, {{&sequence, 100}}, logits, &cancel);
    QCOMPARE(status.outcome, Outcome::Cancelled);
    // The next step is not touched by it.
    const std::vector<float> expected = whole(16, 1, blockRun(7, 0, 1));
    QVERIFY(runStep(*result.ops, *m_decoder, {{&sequence, 100}}, logits).isOk());
    QVERIFY(std::memcmp(logits.data(), expected.data(), expected.size() * 4) == 0);
  }

  void init() {
    QFETCH(int, type);
    QFETCH(int, isa);
    const auto isas = kernels::cpu::supportedIsas();
    if (isa >= 0 && std::find(isas.begin(), isas.end(), static_cast<Isa>(isa)) == isas.end()) {
      QSKIP("this processor cannot run these kernels");
    }
    m_tokens = randomTokens(100, 67, 3);
    m_decoder = std::make_unique<TinyDecoder>(
        TinyShape{.numHeads = 6, .window = 20, .isGemma = true, .type = static_cast<DType>(type)});
  }

 private:
  void backendRows() {
    QTest::addColumn<int>("isa");  // -1: the reference
    QTest::addColumn<int>("kv");
    QTest::addColumn<int>("type");
    const auto add = [](const char* name, int isa, KvType kv, DType type) {
      QTest::newRow(name) << isa << static_cast<int>(kv) << static_cast<int>(type);
    };
    add("reference f32", -1, KvType::F32, DType::Q8_0);
    add("reference bf16", -1, KvType::BF16, DType::F32);
    add("avx2 f32", static_cast<int>(Isa::Avx2), KvType::F32, DType::F32);
    add("avx2 f16", static_cast<int>(Isa::Avx2), KvType::F16, DType::Q4_1);
    add("avx2 bf16", static_cast<int>(Isa::Avx2), KvType::BF16, DType::Q8_0);
    add("avx512vnni f32", static_cast<int>(Isa::Avx512Vnni), KvType::F32, DType::Q4_1);
    add("avx512vnni f16", static_cast<int>(Isa::Avx512Vnni), KvType::F16, DType::Q8_0);
    add("avx512vnni bf16", static_cast<int>(Isa::Avx512Vnni), KvType::BF16, DType::Q4_1);
    add("amx bf16", static_cast<int>(Isa::Amx), KvType::BF16, DType::Q4_1);
    add("amx-bf16 bf16", static_cast<int>(Isa::AmxBf16), KvType::BF16, DType::Q4_1);
    add("amx-bf16 f16", static_cast<int>(Isa::AmxBf16), KvType::F16, DType::Q8_0);
    for (const KvType kv : {KvType::Fp8E4M3, KvType::Int8, KvType::Int4}) {
      const std::string name = kernels::kvTypeName(kv);
      add(("reference " + name).c_str(), -1, kv, DType::Q8_0);
      add(("avx2 " + name).c_str(), static_cast<int>(Isa::Avx2), kv, DType::Q4_1);
      add(("avx512vnni " + name).c_str(), static_cast<int>(Isa::Avx512Vnni), kv, DType::Q8_0);
    }
  }

  BackendResult create(int blockSize, int numBlocks, int threads) {
    QFETCH(int, isa);
    QFETCH(int, kv);
    const auto request = m_decoder->request(static_cast<KvType>(kv), blockSize, numBlocks, threads);
    BackendResult result = isa < 0 ? kernels::reference::createOps(request)
                                   : kernels::cpu::createOps(request, static_cast<Isa>(isa));
    if (!result.ops) qFatal("%s", result.status.message.c_str());
    return result;
  }

  // Logits of all 100 rows, computed in one step.
  std::vector<float> whole(int blockSize, int threads, std::vector<std::int32_t> blocks) {
    const BackendResult result = create(blockSize, static_cast<int>(blocks.size()), threads);
    TinySequence sequence{m_tokens, std::move(blocks)};
    std::vector<float> logits;
    if (!runStep(*result.ops, *m_decoder, {{&sequence, 100}}, logits).isOk()) qFatal("step failed");
    return logits;
  }

  std::vector<std::int32_t> m_tokens;
  std::unique_ptr<TinyDecoder> m_decoder;
};

QTEST_GUILESS_MAIN(OpsTest)
#include "tst_ops.moc"
