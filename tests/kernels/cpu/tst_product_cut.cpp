// labels: kernel
// Items of a product: every row of every tile in one of them, none too small, threads kept even.
#include <QtTest>

#include "kernels/cpu/product_cut.h"

using namespace kernels::cpu;

class TestProductCut : public QObject {
  Q_OBJECT

 private slots:
  void everyRowOfEveryTileIsInOneItem();
  void fewRowsAreCutByTiles();
  void fewRowsOfALargeProductEndEvenly();
  void smallProductsAreHandedOutInFewItems();
  void moreRowsThanThereIsRoomForAreCut();
  void rowsOfUnitsAreCutToKeepThreadsEven();
  void rowsOfATileRegisterStayTogether();
};

namespace {

// How often each row of each tile is in an item.
std::vector<int> covered(const ProductCut& cut) {
  std::vector<int> counts(static_cast<std::size_t>(cut.numRows) *
                          static_cast<std::size_t>(cut.numTiles));
  for (int item = 0; item < cut.numItems(); ++item) {
    const MatmulRange range = cut.range(item);
    for (int row = range.rowBegin; row < range.rowEnd; ++row) {
      for (int tile = range.tileBegin; tile < range.tileEnd; ++tile) {
        ++counts[static_cast<std::size_t>(row * cut.numTiles + tile)];
      }
    }
  }
  return counts;
}

bool isPartition(const ProductCut& cut) {
  const std::vector<int> counts = covered(cut);
  return std::count(counts.begin(), counts.end(), 1) == std::ssize(counts);
}

}  // namespace

void TestProductCut::everyRowOfEveryTileIsInOneItem() {
  for (const int threads : {1, 2, 7, 64}) {
    for (const int rows : {1, 2, 5, 8, 17, 32, 100, 515}) {
      for (const int tiles : {1, 2, 18, 30, 97}) {
        for (const int maxRows : {16, 40, 512}) {
          QVERIFY(isPartition(cutProduct(threads, rows, tiles, 576, maxRows)));
          for (const int least : {4, 16}) {
            const ProductCut cut = cutUnits(threads, rows, tiles, 2, 15, least, maxRows);
            QVERIFY(isPartition(cut));
            QVERIFY(cut.rowsPerItem <= std::max(16, maxRows));
          }
        }
      }
    }
  }
}

void TestProductCut::fewRowsAreCutByTiles() {
  const ProductCut cut = cutProduct(2, 8, 96, 1152, 512);
  QCOMPARE(cut.rowsPerItem, 8);
  QCOMPARE(cut.tilesPerItem, 5);  // 96 tiles in 20 items and no smaller ones
}

void TestProductCut::fewRowsOfALargeProductEndEvenly() {
  for (const int rows : {1, 8, 32}) {
    QCOMPARE(cutProduct(2, rows, 1536, 1152, 512).tilesPerItem, 14);  // 516,096 weights
  }
  QCOMPARE(cutProduct(2, 33, 1536, 1152, 512).tilesPerItem, 55);  // 2^26 products
  QCOMPARE(cutProduct(2, 8, 344, 20'000, 512).tilesPerItem, 1);   // a tile is not cut
}

void TestProductCut::smallProductsAreHandedOutInFewItems() {
  const ProductCut cut = cutProduct(2, 1, 18, 576, 512);
  QCOMPARE(cut.tilesPerItem, 4);  // 73,728 products
  QCOMPARE(cut.numItems(), 5);
}

void TestProductCut::moreRowsThanThereIsRoomForAreCut() {
  const ProductCut cut = cutProduct(2, 100, 18, 576, 40);
  QCOMPARE(cut.rowsPerItem, 32);
  QCOMPARE(cut.numRowBlocks(), 4);
}

void TestProductCut::rowsOfUnitsAreCutToKeepThreadsEven() {
  QCOMPARE(cutUnits(2, 1, 18, 2, 15, 4, 512).rowsPerItem, 1);
  QCOMPARE(cutUnits(2, 5, 18, 2, 15, 4, 512).rowsPerItem, 5);
  QCOMPARE(cutUnits(2, 8, 18, 2, 15, 4, 512).rowsPerItem, 4);
  QCOMPARE(cutUnits(2, 9, 18, 2, 15, 4, 512).rowsPerItem, 5);
  QCOMPARE(cutUnits(2, 32, 18, 2, 15, 4, 512).rowsPerItem, 16);  // two for each of 15 units
  QCOMPARE(cutUnits(2, 32, 200, 2, 100, 4, 512).rowsPerItem, 32);  // units enough
}

void TestProductCut::rowsOfATileRegisterStayTogether() {
  QCOMPARE(cutUnits(2, 8, 18, 2, 15, 16, 512).rowsPerItem, 16);
  QCOMPARE(cutUnits(2, 40, 18, 2, 15, 16, 512).rowsPerItem, 32);
  QCOMPARE(cutUnits(2, 40, 18, 2, 15, 16, 31).rowsPerItem, 16);
}

QTEST_GUILESS_MAIN(TestProductCut)
#include "tst_product_cut.moc"
