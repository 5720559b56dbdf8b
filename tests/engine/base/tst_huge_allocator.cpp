#include <QtTest/QtTest>

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "engine/base/huge_allocator.h"

using Table = std::vector<std::uint64_t, engine::HugeAllocator<std::uint64_t>>;

class TestHugeAllocator : public QObject {
  Q_OBJECT

 private slots:

  void tablesOfAnySizeKeepWhatIsWritten_data() {
    QTest::addColumn<qulonglong>("count");
    // around one huge page, which holds 262,144 of them
    for (const qulonglong count : {1ull, 1000ull, 262143ull, 262144ull, 262145ull, 1000000ull}) {
      QTest::addRow("%llu", count) << count;
    }
  }

  void tablesOfAnySizeKeepWhatIsWritten() {
    QFETCH(qulonglong, count);
    Table table(count);
    std::iota(table.begin(), table.end(), 7);
    table.resize(2 * count, 3);  // from one kind of memory to the other, for some
    Table moved = std::move(table);
    QCOMPARE(moved.front(), std::uint64_t{7});
    QCOMPARE(moved[count - 1], std::uint64_t{7} + count - 1);
    QCOMPARE(moved.back(), std::uint64_t{3});
  }

  void largeTablesBeginOnAHugePage() {
    const Table table(300000);
    QCOMPARE(reinterpret_cast<std::uintptr_t>(table.data()) % (2u << 20), std::uintptr_t{0});
  }

  void whatCannotBeHadThrows() {
    engine::HugeAllocator<std::uint64_t> allocator;
    QVERIFY_EXCEPTION_THROWN((void)allocator.allocate(std::size_t{1} << 60), std::bad_alloc);
    QVERIFY_EXCEPTION_THROWN((void)allocator.allocate(std::size_t{1} << 61), std::bad_alloc);
  }
};

QTEST_GUILESS_MAIN(TestHugeAllocator)
#include "tst_huge_allocator.moc"
