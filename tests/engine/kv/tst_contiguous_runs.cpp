#include "engine/kv/contiguous_runs.h"

#include <QtTest>
#include <string>

using namespace engine::kv;

namespace {

// '.' is free
auto map(const std::string& text) {
  return [text](std::int32_t i) { return text[static_cast<std::size_t>(i)] == '.'; };
}

}  // namespace

class ContiguousRunsTest : public QObject {
  Q_OBJECT

 private slots:
  void theFirstRunThatIsLongEnoughIsTaken();
  void aRunMayEndAtTheLastBlock();
  void scatteredBlocksAreNoRun();
  void theLongestRunIsMeasured();
};

void ContiguousRunsTest::theFirstRunThatIsLongEnoughIsTaken() {
  QCOMPARE(findRun(9, 3, map("#..#...#.")), std::optional<std::int32_t>(4));
  QCOMPARE(findRun(9, 1, map("#..#...#.")), std::optional<std::int32_t>(1));
}

void ContiguousRunsTest::aRunMayEndAtTheLastBlock() {
  QCOMPARE(findRun(5, 2, map("###..")), std::optional<std::int32_t>(3));
}

void ContiguousRunsTest::scatteredBlocksAreNoRun() {
  QVERIFY(!findRun(6, 2, map(".#.#.#")).has_value());
  QVERIFY(!findRun(0, 1, map("")).has_value());
}

void ContiguousRunsTest::theLongestRunIsMeasured() {
  QCOMPARE(longestRun(9, map("#..#...#.")), std::int64_t{3});
  QCOMPARE(longestRun(2, map("##")), std::int64_t{0});
}

QTEST_GUILESS_MAIN(ContiguousRunsTest)
#include "tst_contiguous_runs.moc"
