// labels: pure
#include "kernels/cpu/huge_arena.h"

#include <QtTest>

#include <cstdint>
#include <limits>
#include <utility>

using kernels::cpu::HugeArena;

class TestHugeArena : public QObject {
  Q_OBJECT
 private slots:
  void startsAtAHugePageAndHandsOutWholeCacheLines();
  void memoryIsZeroAndWritableToItsEnd();
  void refusesWhatDoesNotFit();
  void refusesWhatNoSystemHas();
  void movingHandsTheMemoryOver();
};

void TestHugeArena::startsAtAHugePageAndHandsOutWholeCacheLines() {
  HugeArena arena;
  QVERIFY(arena.reserve(1000));
  const std::byte* first = arena.allocate(1);
  const std::byte* second = arena.allocate(65);
  QCOMPARE(reinterpret_cast<std::uintptr_t>(first) % (2u << 20), std::uintptr_t{0});
  QCOMPARE(second - first, 64);
  QCOMPARE(arena.used(), std::size_t{192});
}

void TestHugeArena::memoryIsZeroAndWritableToItsEnd() {
  constexpr std::size_t kBytes = (std::size_t{4} << 20) + 4096;
  HugeArena arena;
  QVERIFY(arena.reserve(kBytes));
  std::byte* data = arena.allocate(kBytes);
  QVERIFY(data != nullptr);
  for (std::size_t i = 0; i < kBytes; i += 512) QCOMPARE(data[i], std::byte{0});
  data[kBytes - 1] = std::byte{7};
  QVERIFY(arena.reserve(64));  // gives the old memory back
  QCOMPARE(arena.used(), std::size_t{0});
}

void TestHugeArena::refusesWhatDoesNotFit() {
  HugeArena arena;
  QVERIFY(arena.allocate(1) == nullptr);
  QVERIFY(arena.reserve(128));
  QVERIFY(arena.allocate(129) == nullptr);
  QVERIFY(arena.allocate(std::numeric_limits<std::size_t>::max()) == nullptr);
  QVERIFY(arena.allocate(128) != nullptr);
  QVERIFY(arena.allocate(1) == nullptr);
}

void TestHugeArena::refusesWhatNoSystemHas() {
  HugeArena arena;
  QVERIFY(!arena.reserve(std::numeric_limits<std::size_t>::max()));
  QVERIFY(!arena.reserve(std::size_t{1} << 60));
  QCOMPARE(arena.capacity(), std::size_t{0});
}

void TestHugeArena::movingHandsTheMemoryOver() {
  HugeArena from;
  QVERIFY(from.reserve(256));
  std::byte* data = from.allocate(64);
  data[0] = std::byte{42};
  HugeArena to = std::move(from);
  QCOMPARE(data[0], std::byte{42});
  QCOMPARE(to.used(), std::size_t{64});
  QVERIFY(to.allocate(128) == data + 64);
}

QTEST_GUILESS_MAIN(TestHugeArena)
#include "tst_huge_arena.moc"
