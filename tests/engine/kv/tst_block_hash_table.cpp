#include "engine/kv/block_hash_table.h"

#include <QtTest>
#include <map>
#include <random>

using namespace engine::kv;

class BlockHashTableTest : public QObject {
  Q_OBJECT

 private slots:
  void findsWhatIsThereAndNothingElse();
  void agreesWithAMapWhateverIsDone_data();
  void agreesWithAMapWhateverIsDone();
};

void BlockHashTableTest::findsWhatIsThereAndNothingElse() {
  BlockHashTable table(3);
  QVERIFY(table.insert(7, 1));
  QVERIFY(!table.insert(7, 2));
  QCOMPARE(table.find(7), 1);
  QCOMPARE(table.find(8), -1);
  table.erase(7);
  QCOMPARE(table.find(7), -1);
  QCOMPARE(table.size(), std::size_t{0});
}

void BlockHashTableTest::agreesWithAMapWhateverIsDone_data() {
  QTest::addColumn<int>("range");
  QTest::newRow("every hash collides") << 0;
  QTest::newRow("many do") << 1;
  QTest::newRow("hardly any do") << 2;
}

void BlockHashTableTest::agreesWithAMapWhateverIsDone() {
  QFETCH(int, range);
  std::mt19937_64 random(static_cast<std::uint64_t>(range) + 1);
  const auto draw = [&]() -> std::uint64_t {
    const std::uint64_t one = random() % 80 + 1;
    if (range == 0) return one << 20;  // the same home for all
    return range == 1 ? one : one * 0x9E3779B97F4A7C15ull;
  };
  BlockHashTable table(60);
  std::map<std::uint64_t, std::int32_t> expected;
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t hash = draw();
    const auto found = expected.find(hash);
    QCOMPARE(table.find(hash), found == expected.end() ? -1 : found->second);
    if (found != expected.end()) {
      table.erase(hash);
      expected.erase(found);
    } else if (expected.size() < 60) {
      QVERIFY(table.insert(hash, i));
      expected[hash] = i;
    }
    QCOMPARE(table.size(), expected.size());
  }
  for (const auto& [hash, block] : expected) QCOMPARE(table.find(hash), block);
}

QTEST_GUILESS_MAIN(BlockHashTableTest)
#include "tst_block_hash_table.moc"
