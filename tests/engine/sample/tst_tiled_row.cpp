// Rows that are mostly passed by.
// labels: pure
#include <limits>
#include <vector>

#include <QtTest>

#include "engine/sample/tiled_row.h"

using namespace engine::sample;

class TestTiledRow : public QObject {
  Q_OBJECT

 private:
  // Tops of its four tiles, the last one of 32 columns: 5, 1, 9, 3.
  static std::vector<float> row() {
    std::vector<float> values(800, -2.0f);
    values[10] = 5.0f;
    values[300] = 1.0f;
    values[600] = values[700] = 9.0f;
    values[799] = 3.0f;
    return values;
  }

  static std::vector<std::size_t> columnsAtLeast(const TiledRow& tiled, float least) {
    std::vector<std::size_t> columns;
    tiled.forEachAtLeast(least, [&](float, std::size_t column) { columns.push_back(column); });
    return columns;
  }

 private slots:

  void itKnowsTheLargest() {
    const std::vector<float> values = row();
    TiledRow tiled;
    tiled.reset(values);
    QCOMPARE(tiled.numTiles(), std::size_t{4});
    QCOMPARE(tiled.top(), 9.0f);
  }

  void atLeastSoManyReachTheBound() {
    const std::vector<float> values = row();
    TiledRow tiled;
    tiled.reset(values);
    QCOMPARE(tiled.reachedBy(1), 9.0f);
    QCOMPARE(tiled.reachedBy(2), 5.0f);
    QCOMPARE(tiled.reachedBy(4), 1.0f);
    QCOMPARE(tiled.reachedBy(5), -std::numeric_limits<float>::infinity());
  }

  void whatReachesABoundIsVisitedByColumn() {
    const std::vector<float> values = row();
    TiledRow tiled;
    tiled.reset(values);
    QCOMPARE(columnsAtLeast(tiled, 3.0f), (std::vector<std::size_t>{10, 600, 700, 799}));
    QCOMPARE(columnsAtLeast(tiled, -2.0f).size(), std::size_t{800});
    QVERIFY(columnsAtLeast(tiled, 9.5f).empty());
  }

  void minusInfinityIsNeverVisited() {
    std::vector<float> values = row();
    values[10] = values[799] = -std::numeric_limits<float>::infinity();
    TiledRow tiled;
    tiled.reset(values);
    QCOMPARE(columnsAtLeast(tiled, -std::numeric_limits<float>::infinity()).size(),
             std::size_t{798});
  }

  void dividedValuesAreShiftedToTheLargest() {
    const std::vector<float> values = row();
    TiledRow tiled;
    tiled.reset(values);
    tiled.divideBy(0.5f);
    QCOMPARE(tiled.top(), 0.0f);
    QCOMPARE(tiled.reachedBy(2), -8.0f);
    QCOMPARE(columnsAtLeast(tiled, -12.0f), (std::vector<std::size_t>{10, 600, 700, 799}));
    alignas(64) float buffer[kColumnTile];
    QCOMPARE(tiled.tile(0, buffer)[10], -8.0f);
    QCOMPARE(tiled.tile(3, buffer).size(), std::size_t{32});
  }

  void whatIsKnownOfTheTilesIsBelieved() {
    const std::vector<float> values = row();
    const std::vector<TileSummary> tiles(4, TileSummary{4.0f, 1.0f, true});
    TiledRow tiled;
    tiled.reset(values, tiles);
    QCOMPARE(tiled.top(), 4.0f);
  }
};

QTEST_GUILESS_MAIN(TestTiledRow)
#include "tst_tiled_row.moc"
