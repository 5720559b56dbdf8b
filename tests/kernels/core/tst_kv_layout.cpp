#include "kernels/core/kv_layout.h"

#include <QtTest>

using kernels::KvLayout;
using kernels::KvType;

class KvLayoutTest : public QObject {
  Q_OBJECT

 private slots:
  void bytesCountValuesAndScales_data() {
    QTest::addColumn<int>("type");
    QTest::addColumn<int>("headDim");
    QTest::addColumn<int>("values");  // of a token and layer, 3 KV heads
    QTest::addColumn<int>("scales");
    const auto row = [](const char* name, KvType type, int headDim, int values, int scales) {
      QTest::newRow(name) << static_cast<int>(type) << headDim << values << scales;
    };
    row("f32", KvType::F32, 64, 2 * 3 * 64 * 4, 0);
    row("f16", KvType::F16, 64, 2 * 3 * 64 * 2, 0);
    row("bf16", KvType::BF16, 80, 2 * 3 * 80 * 2, 0);
    row("fp8", KvType::Fp8E4M3, 64, 2 * 3 * 64, 0);
    row("int8", KvType::Int8, 64, 2 * 3 * 64, 2 * 3 * 2);
    row("int4", KvType::Int4, 64, 2 * 3 * 32, 2 * 3 * 4);
    row("int4, one group of 96", KvType::Int4, 96, 2 * 3 * 48, 2 * 3 * 4);
    row("int4, four groups of 64", KvType::Int4, 256, 2 * 3 * 128, 2 * 3 * 16);
  }

  void bytesCountValuesAndScales() {
    QFETCH(int, type);
    QFETCH(int, headDim);
    QFETCH(int, values);
    QFETCH(int, scales);
    KvLayout layout;
    layout.type = static_cast<KvType>(type);
    layout.numLayers = 30;
    layout.numKvHeads = 3;
    layout.headDim = headDim;
    layout.blockSize = 16;
    QCOMPARE(layout.valueBytesPerTokenLayer(), static_cast<std::size_t>(values));
    QCOMPARE(layout.scaleBytesPerTokenLayer(), static_cast<std::size_t>(scales));
    QCOMPARE(layout.bytesPerToken(), static_cast<std::size_t>(30 * (values + scales)));
    QCOMPARE(layout.bytesPerBlock(), static_cast<std::size_t>(16 * 30 * (values + scales)));
  }
};

QTEST_GUILESS_MAIN(KvLayoutTest)
#include "tst_kv_layout.moc"
