// Sequences to flat arrays, and large steps cut into batches.
// labels: pure
#include <vector>

#include <QtTest>

#include "engine/exec/packed_batch.h"

using namespace engine;
using namespace engine::exec;

namespace {

std::vector<std::int32_t> list(const std::int32_t* data, int count) {
  return {data, data + count};
}

using Numbers = std::vector<std::int32_t>;

}  // namespace

class TestPackedBatch : public QObject {
  Q_OBJECT

 private:
  const std::vector<TokenId> m_chunk = {10, 11, 12, 13, 14};
  const std::vector<TokenId> m_one = {20};
  const std::vector<BlockId> m_tableA = {BlockId(7), BlockId(3), BlockId(9)};
  const std::vector<BlockId> m_tableB = {BlockId(1)};

 private slots:

  void arraysSayWhichRowIsWhat() {
    // five tokens from position 6, blocks of 4: three blocks; one token at position 2: one block
    const std::vector<SequenceRows> step = {{m_chunk, 6, m_tableA, 1}, {m_one, 2, m_tableB, 1}};
    PackedBatch packed;
    packed.pack(step, 4);
    const kernels::RaggedBatch batch = packed.view(nullptr);
    QCOMPARE(batch.numTokens, 6);
    QCOMPARE(batch.numSeqs, 2);
    QCOMPARE(list(batch.tokens, 6), (Numbers{10, 11, 12, 13, 14, 20}));
    QCOMPARE(list(batch.positions, 6), (Numbers{6, 7, 8, 9, 10, 2}));
    QCOMPARE(list(batch.sequences, 6), (Numbers{0, 0, 0, 0, 0, 1}));
    QCOMPARE(list(batch.queryStart, 3), (Numbers{0, 5, 6}));
    QCOMPARE(list(batch.seqLen, 2), (Numbers{11, 3}));
    QCOMPARE(batch.maxBlocks, 3);
    QCOMPARE(list(batch.blockTable, 6), (Numbers{7, 3, 9, 1, -1, -1}));
    QCOMPARE(batch.numLogitRows, 2);
    QCOMPARE(list(batch.logitRows, 2), (Numbers{4, 5}));
  }

  void packingAgainForgetsTheLastBatch() {
    PackedBatch packed;
    packed.pack(std::vector<SequenceRows>{{m_chunk, 0, m_tableA, 5}}, 16);
    packed.pack(std::vector<SequenceRows>{{m_one, 2, m_tableB, 0}}, 16);
    QCOMPARE(packed.numTokens(), 1);
    QCOMPARE(packed.numLogitRows(), 0);
    QCOMPARE(packed.view(nullptr).maxBlocks, 1);
  }

  void batchesHoldEveryRowOnceInOrder_data() {
    QTest::addColumn<int>("maxTokens");
    for (const int n : {1, 2, 3, 4, 5, 6, 7, 100}) QTest::addRow("%d", n) << n;
  }

  void batchesHoldEveryRowOnceInOrder() {
    QFETCH(int, maxTokens);
    const std::vector<SequenceRows> step = {
        {m_chunk, 6, m_tableA, 3}, {m_one, 2, m_tableB, 1}, {m_chunk, 0, m_tableA, 0}};
    Numbers tokens, positions, wanted;
    for (const auto& part : splitIntoBatches(step, maxTokens)) {
      PackedBatch packed;
      packed.pack(part, 4);
      QVERIFY(packed.numTokens() <= maxTokens && packed.numTokens() > 0);
      const kernels::RaggedBatch batch = packed.view(nullptr);
      for (int i = 0; i < batch.numTokens; ++i) {
        tokens.push_back(batch.tokens[i]);
        positions.push_back(batch.positions[i]);
      }
      for (int i = 0; i < batch.numLogitRows; ++i) {
        wanted.push_back(batch.positions[batch.logitRows[i]]);
      }
    }
    QCOMPARE(tokens, (Numbers{10, 11, 12, 13, 14, 20, 10, 11, 12, 13, 14}));
    QCOMPARE(positions, (Numbers{6, 7, 8, 9, 10, 2, 0, 1, 2, 3, 4}));
    QCOMPARE(wanted, (Numbers{8, 9, 10, 2}));
  }
};

QTEST_GUILESS_MAIN(TestPackedBatch)
#include "tst_packed_batch.moc"
