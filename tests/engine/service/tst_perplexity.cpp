// labels: pure
// The rule on an executor whose distributions are known by hand.
#include <QTest>
#include <array>
#include <cmath>

#include "engine/service/perplexity.h"

using namespace engine;

namespace {

// Gives token t the logit log(weight[t]) whatever came before; remembers every token it was fed.
class FixedDistribution final : public exec::Executor {
 public:
  Result<void> execute(std::span<const exec::SequenceRows> sequences,
                       const std::atomic<bool>*,
                       const exec::LogitsSink& sink) override {
    for (const exec::SequenceRows& rows : sequences) {
      if (rows.firstPosition == 0) firstTokens.push_back(rows.tokens.front());
      for (int i = 0; i < rows.numLogitRows; ++i) sink(i, 1, m_row.data());
    }
    return {};
  }
  std::int64_t vocabSize() const override { return 4; }
  int maxLogitRows() const override { return 8; }
  const kernels::KvLayout& layout() const override { return m_layout; }
  kernels::BackendInfo info() const override { return {}; }
  kernels::OpsCounters takeCounters() override { return {}; }
  void copyBlocks(std::span<const kernels::BlockCopy>) override {}
  void readBlock(BlockId, std::byte*) const override {}
  void writeBlock(BlockId, const std::byte*) override {}

  std::vector<TokenId> firstTokens;

 private:
  std::array<float, 4> m_row = {std::log(0.5f), std::log(0.25f), std::log(0.125f), std::log(0.125f)};
  kernels::KvLayout m_layout{kernels::KvType::F32, 1, 1, 4, 16, 64};
};

}  // namespace

class PerplexityTest : public QObject {
  Q_OBJECT

 private slots:
  void onlyTheSecondHalfOfEachChunkCounts() {
    // Two chunks of 8 and a rest: positions 4..6 predict tokens 5..7, three a chunk.
    std::vector<TokenId> tokens(19, 3);
    for (std::size_t chunk : {0u, 8u}) {
      tokens[chunk + 5] = 0;
      tokens[chunk + 6] = 1;
      tokens[chunk + 7] = 1;
    }
    FixedDistribution executor;
    const auto result = service::measurePerplexity(executor, tokens, {8, TokenId{2}}, nullptr);
    QVERIFY(result.isOk());
    QCOMPARE(result->chunks, 2);
    QCOMPARE(result->positions, 6);
    const double mean = (std::log(2.0) + 2 * std::log(4.0)) / 3;
    QVERIFY(std::abs(result->perplexity - std::exp(mean)) < 1e-5);
    QCOMPARE(executor.firstTokens, (std::vector<TokenId>{2, 2}));  // BOS stands in for each first token
  }

  void aTextBelowTwoChunksIsRefusedWithBothNumbers() {
    FixedDistribution executor;
    const auto result = service::measurePerplexity(executor, std::vector<TokenId>(15, 0), {8, std::nullopt}, nullptr);
    QVERIFY(!result.isOk());
    QCOMPARE(result.error().code, ErrorCode::InvalidArgument);
    QVERIFY(result.error().message.find("15") != std::string::npos);
    QVERIFY(result.error().message.find("16") != std::string::npos);
  }
};

QTEST_GUILESS_MAIN(PerplexityTest)
#include "tst_perplexity.moc"
