#include "engine/kv/swap_space.h"

#include <QtTest>
#include <algorithm>

using namespace engine::kv;

class SwapSpaceTest : public QObject {
  Q_OBJECT

 private slots:
  void takesAllOrNone();
  void placesUsedBeforeComeFirst();
};

void SwapSpaceTest::takesAllOrNone() {
  SwapSpace space(5);
  const auto first = space.tryTake(3);
  QVERIFY(first && first->size() == 3);
  QVERIFY(!space.tryTake(3));
  QCOMPARE(space.numUsed(), std::int64_t{3});
  const auto second = space.tryTake(2);
  QVERIFY(second);
  QCOMPARE(space.numFree(), std::int64_t{0});
  for (const SwapSlot slot : *first) {
    QVERIFY(std::ranges::find(*second, slot) == second->end());
    QVERIFY(space.isUsed(slot));
  }
  space.give(*first);
  QCOMPARE(space.numFree(), std::int64_t{3});
  QVERIFY(!space.isUsed(first->front()));
}

void SwapSpaceTest::placesUsedBeforeComeFirst() {
  SwapSpace space(1000);
  for (int i = 0; i < 10; ++i) {
    const auto taken = space.tryTake(4);
    QVERIFY(taken);
    for (const SwapSlot slot : *taken) QVERIFY(slot < 4);
    space.give(*taken);
  }
}

QTEST_GUILESS_MAIN(SwapSpaceTest)
#include "tst_swap_space.moc"
