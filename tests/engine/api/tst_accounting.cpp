// Costs against numbers worked out by hand and by counting one by one.
// labels: pure
#include <cmath>
#include <vector>

#include <QtTest>

#include "engine/api/accounting.h"

using namespace engine::accounting;

namespace {

// Llama-3-8B with 16-bit weights and cache.
ModelShape llama8b() {
  ModelShape shape;
  shape.numLayers = 32;
  shape.hidden = 4096;
  shape.numHeads = 32;
  shape.numKvHeads = 8;
  shape.headDim = 128;
  shape.ffn = 14336;
  shape.vocabSize = 128256;
  shape.layerWeightBytes = 2 * layerParameters(shape);
  shape.outputWeightBytes = 2.0 * 4096 * 128256;
  shape.embeddingRowBytes = 2.0 * 4096;
  shape.kvBytesPerTokenLayer = 131072.0 / 32;
  return shape;
}

bool isNear(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::abs(b);
}

}  // namespace

class TestAccounting : public QObject {
  Q_OBJECT

 private slots:

  void parametersAreCounted() { QVERIFY(isNear(layerParameters(llama8b()), 6'979'321'856.0)); }

  void pairsMatchCountingOneByOne() {
    for (const int window : {0, 1, 3, 8, 100}) {
      for (int kvLength = 1; kvLength < 20; ++kvLength) {
        for (int tokens = 1; tokens <= kvLength; ++tokens) {
          double pairs = 0;
          for (int position = kvLength - tokens; position < kvLength; ++position) {
            pairs += window == 0 ? position + 1 : std::min(position + 1, window);
          }
          QCOMPARE(attendedPairs(tokens, kvLength, window), pairs);
        }
      }
    }
  }

  void aDecodeStepReadsWeightsOnceAndEachCacheOnce() {
    const ModelShape shape = llama8b();
    const std::vector<RowCost> users(8, RowCost{1, 8192, 1});
    const StepCost cost = stepCost(shape, users);
    const double weights = shape.layerWeightBytes + shape.outputWeightBytes;
    QVERIFY(isNear(cost.bytes, weights + 8 * 8192.0 + 8 * 131072.0 * 8193));
    const double linear = 2 * 8 * (layerParameters(shape) + 4096.0 * 128256);
    QVERIFY(isNear(cost.flops, linear + 8 * 32 * 4.0 * 4096 * 8192));
  }

  void aChunkWithoutLogitsLeavesTheOutputMatrixAlone() {
    const ModelShape shape = llama8b();
    const std::vector<RowCost> with = {{512, 512, 1}}, without = {{512, 512, 0}};
    QVERIFY(isNear(stepCost(shape, with).bytes - stepCost(shape, without).bytes,
                   shape.outputWeightBytes));
    QVERIFY(
        isNear(stepCost(shape, with).flops - stepCost(shape, without).flops, 2 * 4096.0 * 128256));
  }

  void windowsBoundWhatIsReadAndComputed() {
    ModelShape shape = llama8b();
    shape.windows.assign(32, 512);
    const std::vector<RowCost> one = {{1, 8192, 1}};
    const StepCost cost = stepCost(shape, one);
    const double weights = shape.layerWeightBytes + shape.outputWeightBytes;
    QVERIFY(isNear(cost.bytes, weights + 8192.0 + 131072.0 * 513));
  }

  void nothingCostsNothing() {
    const StepCost cost = stepCost(llama8b(), {});
    QCOMPARE(cost.flops, 0.0);
    QCOMPARE(cost.bytes, 0.0);
  }
};

QTEST_GUILESS_MAIN(TestAccounting)
#include "tst_accounting.moc"
