// labels: pure
#include <QTest>
#include <cmath>

#include "engine/api/capacity.h"
#include "engine/api/kv_type.h"
#include "kernels/core/kv_layout.h"

using namespace engine;
using namespace engine::accounting;

namespace {

// Llama-3-8B: 32 layers, 32 query heads, 8 key-value heads of 128.
ModelShape eightBillion(KvDType dtype) {
  ModelShape shape;
  shape.numLayers = 32;
  shape.hidden = 4096;
  shape.numHeads = 32;
  shape.numKvHeads = 8;
  shape.headDim = 128;
  shape.ffn = 14336;
  shape.vocabSize = 128256;
  shape.kvBytesPerTokenLayer = kvBytesPerTokenLayer(dtype, 8, 128);
  return shape;
}

std::int64_t usersOnH100(KvDType dtype) {
  const double pool = poolBytes({80e9, 0.9, 16.06e9});
  return capacityUsers(capacityTokens(pool, kvBytesPerToken(eightBillion(dtype))), 8192, 16);
}

}  // namespace

class CapacityTest : public QObject {
  Q_OBJECT

 private slots:
  void aTokenTakesTwoVectorsALayerAndKeyValueHead() {
    QCOMPARE(kvBytesPerToken(eightBillion(KvDType::F16)), 131072.0);
    QCOMPARE(kvBytesPerToken(eightBillion(KvDType::F16)) * 8192, 1073741824.0);  // one GiB
    QCOMPARE(kvBytesPerToken(eightBillion(KvDType::F32)), 262144.0);
    QCOMPARE(kvBytesPerToken(eightBillion(KvDType::Fp8)), 65536.0);
  }

  void scalesCountForInt8AndInt4() {
    const double wide = kvBytesPerToken(eightBillion(KvDType::F16));
    QCOMPARE(wide / kvBytesPerToken(eightBillion(KvDType::Int8)), 256.0 / 130.0);  // 1.97
    // One scale and offset for every 64 values, so 72 bytes a head of 128. The worked number 3.76
    // (68 bytes, 196 users of 8,192 tokens) has one pair a head: a coarser rule, not what is stored.
    QCOMPARE(wide / kvBytesPerToken(eightBillion(KvDType::Int4)), 256.0 / 72.0);  // 3.56
    // heads of 64 pay relatively more for their scales
    QCOMPARE(2 * 64.0 / kvVectorBytes(KvDType::Int8, 64), 128.0 / 66.0);  // 1.94
    QCOMPARE(2 * 64.0 / kvVectorBytes(KvDType::Int4, 64), 128.0 / 36.0);  // 3.56
  }

  void theCacheHoldsWhatIsCounted_data() {
    QTest::addColumn<int>("dtype");
    for (const KvDType dtype : {KvDType::F32, KvDType::F16, KvDType::BF16, KvDType::Fp8,
                                KvDType::Int8, KvDType::Int4}) {
      QTest::newRow(kvDTypeName(dtype)) << static_cast<int>(dtype);
    }
  }

  void theCacheHoldsWhatIsCounted() {
    QFETCH(int, dtype);
    const auto asked = static_cast<KvDType>(dtype);
    for (const int headDim : {5, 64, 80, 96, 128, 192, 256}) {
      kernels::KvLayout layout;
      layout.type = kvTypeOf(asked).value();
      layout.numLayers = 3;
      layout.numKvHeads = 2;
      layout.headDim = headDim;
      QCOMPARE(3 * kvBytesPerTokenLayer(asked, 2, headDim),
               static_cast<double>(layout.bytesPerToken()));
    }
  }

  void fewerKeyValueHeadsTakeLess() {
    const ModelShape shape = eightBillion(KvDType::F16);
    QCOMPARE(kvBytesPerToken(shape, HeadSharing::Mha), 524288.0);
    QCOMPARE(kvBytesPerToken(shape, HeadSharing::Gqa), 131072.0);
    QCOMPARE(kvBytesPerToken(shape, HeadSharing::Mqa), 16384.0);
  }

  void usersAtEightThousandTokensOnOneH100() {
    QCOMPARE(usersOnH100(KvDType::F16), 52);
    QCOMPARE(usersOnH100(KvDType::Fp8), 104);
    QCOMPARE(usersOnH100(KvDType::Int8), 102);
    QCOMPARE(usersOnH100(KvDType::Int4), 185);
  }

  void seventyBillionWeightsLeaveRoomForOneLongUserOnTwoDevices() {
    const double pool = poolBytes({160e9, 0.9, 141.1e9});
    QVERIFY(std::abs(pool - 2.9e9) < 1e6);
    QCOMPARE(capacityTokens(pool, 327680.0), 8850);
    QCOMPARE(capacityUsers(8850, 8192, 16), 1);
  }

  void weightsThatDoNotFitLeaveNothing() {
    QVERIFY(poolBytes({80e9, 0.9, 141.1e9}) < 0);
    QCOMPARE(capacityTokens(poolBytes({80e9, 0.9, 141.1e9}), 327680.0), 0);
    QCOMPARE(capacityUsers(0, 8192, 16), 0);
  }

  void aUserTakesWholeBlocks() {
    QCOMPARE(capacityUsers(64, 17, 16), 2);   // 4 blocks, 2 each
    QCOMPARE(capacityUsers(47, 16, 16), 2);   // the last 15 tokens make no block
    QCOMPARE(capacityUsers(64, 0, 16), 0);
  }
};

QTEST_GUILESS_MAIN(CapacityTest)
#include "tst_capacity.moc"
