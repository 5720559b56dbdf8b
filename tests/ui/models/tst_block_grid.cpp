// labels: pure
#include <QTest>

#include "ui/models/block_grid.h"

using ui::models::BlockGrid;

class BlockGridTest : public QObject {
  Q_OBJECT

 private slots:
  void everyBlockFitsAndIsFoundAtItsOwnCentre_data() {
    QTest::addColumn<int>("count");
    QTest::addColumn<QSizeF>("area");
    QTest::newRow("one") << 1 << QSizeF(300, 200);
    QTest::newRow("prime") << 1009 << QSizeF(731, 402);
    QTest::newRow("design") << 1536 << QSizeF(1000, 370);
    QTest::newRow("many") << 65536 << QSizeF(900, 900);
  }

  void everyBlockFitsAndIsFoundAtItsOwnCentre() {
    QFETCH(int, count);
    QFETCH(QSizeF, area);
    const BlockGrid grid = BlockGrid::fit(count, area);
    QVERIFY(grid.size().width() <= area.width());
    QVERIFY(grid.size().height() <= area.height());
    for (int i = 0; i < count; ++i) QCOMPARE(grid.indexAt(grid.cellRect(i).center()), i);
  }

  void cellsAreAsLargeAsFits() {
    const BlockGrid grid = BlockGrid::fit(100, QSizeF(100, 100));
    QCOMPARE(grid.cell(), 10.0);
    QCOMPARE(grid.columns(), 10);
  }

  void nothingIsHitOutside() {
    const BlockGrid grid = BlockGrid::fit(10, QSizeF(100, 100));
    QCOMPARE(grid.indexAt({-1, 5}), -1);
    QCOMPARE(grid.indexAt({grid.size().width() + 1, 5}), -1);
    QCOMPARE(grid.indexAt({5, grid.size().height() + 1}), -1);
    QCOMPARE(BlockGrid::fit(0, QSizeF(10, 10)).indexAt({1, 1}), -1);
  }
};

QTEST_GUILESS_MAIN(BlockGridTest)
#include "tst_block_grid.moc"
