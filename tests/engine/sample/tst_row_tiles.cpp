// Rows are known when all their tiles are.
// labels: pure
#include <vector>

#include <QtTest>

#include "engine/sample/row_tiles.h"

using namespace engine::sample;

class TestRowTiles : public QObject {
  Q_OBJECT

 private slots:

  void aRowIsKnownOnceAllItsTilesAre() {
    const std::vector<float> row(600, 1.5f);
    RowTiles tiles;
    tiles.reset(2, row.size());
    tiles.add(1, 2, row.data() + 512, 88);
    tiles.add(1, 0, row.data(), kColumnTile);
    QVERIFY(tiles.of(1).empty());
    tiles.add(1, 1, row.data() + 256, kColumnTile);
    QCOMPARE(tiles.of(1).size(), std::size_t{3});
    QVERIFY(tiles.of(0).empty());
    const auto known = summarizeRow(row, tiles.of(1)), found = summarizeRow(row);
    QVERIFY(known->logSumExp == found->logSumExp);
  }

  void resetForgets() {
    const std::vector<float> row(256, 1.0f);
    RowTiles tiles;
    tiles.reset(1, row.size());
    tiles.add(0, 0, row.data(), row.size());
    QCOMPARE(tiles.of(0).size(), std::size_t{1});
    tiles.reset(3, 512);
    for (std::size_t i = 0; i < 3; ++i) QVERIFY(tiles.of(i).empty());
  }

  // What a row holds that is no number is found when the row is summed up.
  void aTileThatIsNotFiniteSpoilsTheRow() {
    std::vector<float> row(300, 1.0f);
    row[299] = std::numeric_limits<float>::infinity();
    RowTiles tiles;
    tiles.reset(1, row.size());
    tiles.add(0, 0, row.data(), 256);
    tiles.add(0, 1, row.data() + 256, 44);
    const auto summary = summarizeRow(row, tiles.of(0));
    QVERIFY(!summary.isOk());
    QVERIFY(summary.error().message.find("token 299") != std::string::npos);
  }
};

QTEST_GUILESS_MAIN(TestRowTiles)
#include "tst_row_tiles.moc"
