// labels: pure
#include "kernels/cpu/tile_layout.h"

#include <QtTest>

using namespace kernels::cpu;
using kernels::DType;

class TestTileLayout : public QObject {
  Q_OBJECT
 private slots:
  void sizesAddUpToWholeCacheLines();
  void onlySuperBlockFormatsHaveHeaders();
  void slowFormatsAreNamedOnceEach();
  void fastFormatsNeedNoNote();
};

void TestTileLayout::sizesAddUpToWholeCacheLines() {
  for (int t = 0; t < kernels::kNumDTypes; ++t) {
    const TileLayout layout = tileLayoutOf(static_cast<DType>(t), CodeOrder::ByStep);
    const std::size_t group = codeBytes(layout) + groupScaleBytes(layout);
    QCOMPARE(codeBytes(layout) % 64, std::size_t{0});
    QCOMPARE(tileBytes(layout, 16) % 64, std::size_t{0});
    QCOMPARE(tileBytes(layout, 16), 16 * group + 2 * superHeaderBytes(layout));
  }
}

void TestTileLayout::onlySuperBlockFormatsHaveHeaders() {
  for (int t = 0; t < kernels::kNumDTypes; ++t) {
    const auto type = static_cast<DType>(t);
    QCOMPARE(hasSuperBlocks(tileLayoutOf(type, CodeOrder::ByStep)),
             kernels::dtypeInfo(type).elementsPerBlock == 256);
  }
}

void TestTileLayout::slowFormatsAreNamedOnceEach() {
  const std::vector<DType> types = {DType::BF16, DType::Q8_0, DType::F16, DType::BF16};
  const std::string note = slowFormatsNote(types, CodeOrder::ByStep);
  QVERIFY(note.find("F16 is multiplied in float32") != std::string::npos);
  QCOMPARE(note.find("BF16"), note.rfind("BF16"));
  QVERIFY(note.find("Q8_0") == std::string::npos);
  const std::string tiles = slowFormatsNote(types, CodeOrder::ByPair);
  QVERIFY(tiles.find("F16 is multiplied in float32 without tile registers") != std::string::npos);
  QVERIFY(tiles.find("BF16") == std::string::npos);
}

void TestTileLayout::fastFormatsNeedNoNote() {
  const std::vector<DType> types = {DType::Q4_0, DType::Q4_1, DType::Q5_0,   DType::Q5_1,
                                    DType::Q8_0, DType::Q2_K, DType::Q3_K,   DType::Q4_K,
                                    DType::Q5_K, DType::Q6_K, DType::IQ4_NL, DType::IQ4_XS};
  QVERIFY(slowFormatsNote(types, CodeOrder::ByStep).empty());
  QVERIFY(slowFormatsNote(types, CodeOrder::ByPair).empty());
  QVERIFY(slowFormatsNote({}, CodeOrder::ByStep).empty());
}

QTEST_GUILESS_MAIN(TestTileLayout)
#include "tst_tile_layout.moc"
