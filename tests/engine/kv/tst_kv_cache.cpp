#include "engine/kv/kv_cache.h"

#include <QtTest>

#include "engine/kv/pool_snapshot.h"
#include "tests/support/kv_rig.h"

using namespace engine;
using namespace engine::kv;
using support::countingTokens;
using support::KvRig;

class KvCacheTest : public QObject {
  Q_OBJECT

 private slots:
  void positionsAreMappedThroughTheTable();
  void fourSamplesOfAPromptShareAllButTheirPartialBlocks();
  void equalBlocksComputedTwiceBecomeOne();
  void aBlockOfAnotherNamespaceIsNotExchanged();
  void aRejectedDraftNeverBecomesFindable();
  void whatADeadStepWroteIsForgotten();
  void theTailOfASequenceIsEvictedBeforeItsHead();
  void contiguousAndPagedWasteAsWorkedOut();
  void holesRefuseALongRunThoughEnoughIsFree();
};

void KvCacheTest::positionsAreMappedThroughTheTable() {
  BlockTable table(RequestId(1), 16);
  table.entries() = {BlockId(7), BlockId(2), BlockId(19)};
  QCOMPARE(table.at(37 / 16), BlockId(19));
  QCOMPARE(table.slotOf(37), std::int64_t{309});
  QCOMPARE(table.slotOf(0), std::int64_t{112});
  QCOMPARE(table.capacity(), std::int64_t{48});
}

void KvCacheTest::fourSamplesOfAPromptShareAllButTheirPartialBlocks() {
  KvRig rig(200, 16);
  KvRig::Held* samples[4] = {&rig.add(), &rig.add(), &rig.add(), &rig.add()};
  QVERIFY(rig.compute(*samples[0], countingTokens(300), 300));
  for (int i = 1; i < 4; ++i) {
    rig.cache.fork(samples[0]->table, 19, samples[i]->table);
    samples[i]->numComputed = 300;
    samples[i]->published = samples[0]->published;
  }
  for (std::int64_t end = 301; end <= 400; ++end) {
    for (int i = 0; i < 4; ++i) {
      auto tokens = countingTokens(300);
      const auto own = countingTokens(end - 300, 1000 * (i + 1));
      tokens.insert(tokens.end(), own.begin(), own.end());
      QVERIFY(rig.compute(*samples[i], tokens, end));
    }
  }
  QCOMPARE(rig.cache.pool().numUsed(), std::int64_t{46});  // 100 without sharing
  QCOMPARE(rig.copies.size(), std::size_t{3});
  int withFour = 0;
  for (int i = 0; i < 200; ++i) withFour += rig.cache.pool().block(BlockId(i)).refCount == 4;
  QCOMPARE(withFour, 18);
  QVERIFY(rig.violations().empty());
}

void KvCacheTest::equalBlocksComputedTwiceBecomeOne() {
  KvRig rig(8);
  const auto tokens = countingTokens(10);
  KvRig::Held &one = rig.add(), &two = rig.add();
  // both are under way before either has published anything
  auto reservation = rig.cache.openReservation();
  std::vector<BlockCopy> copies;
  QVERIFY(reservation->tryGrow(one.table, 0, 10, copies));
  QVERIFY(reservation->tryGrow(two.table, 0, 10, copies));
  reservation->commit();
  for (KvRig::Held* each : {&one, &two}) {
    rig.cache.markWritten(each->table, 0, 10);
    each->numComputed = 10;
    each->published = rig.cache.publish(each->table, {&each->chain, tokens}, 0, 10);
  }
  QCOMPARE(two.table.at(0), one.table.at(0));
  QCOMPARE(two.table.at(1), one.table.at(1));
  QVERIFY(two.table.at(2) != one.table.at(2));  // the partial one stays its own
  QCOMPARE(rig.cache.pool().numUsed(), std::int64_t{4});
  QVERIFY(rig.violations().empty());
}

void KvCacheTest::aBlockOfAnotherNamespaceIsNotExchanged() {
  KvRig rig(8);
  const auto tokens = countingTokens(5);
  QVERIFY(rig.compute(rig.add("a"), tokens, 5));
  QVERIFY(rig.compute(rig.add("b"), tokens, 5));
  QCOMPARE(rig.cache.pool().numUsed(), std::int64_t{4});
  QVERIFY(rig.violations().empty());
}

void KvCacheTest::aRejectedDraftNeverBecomesFindable() {
  KvRig rig(8);
  const auto tokens = countingTokens(8);
  KvRig::Held& one = rig.add();
  QVERIFY(rig.compute(one, tokens, 6));
  auto reservation = rig.cache.openReservation();
  std::vector<BlockCopy> copies;
  QVERIFY(reservation->tryGrow(one.table, 6, 4, copies));  // a token and three drafts
  reservation->commit();
  rig.cache.markWritten(one.table, 6, 1);  // all three are rejected
  one.numComputed = 7;
  one.published = rig.cache.publish(one.table, {&one.chain, tokens}, one.published, 7);
  QCOMPARE(one.published, std::int64_t{1});
  QCOMPARE(rig.cache.pool().block(one.table.at(1)).hash, std::uint64_t{0});
  QVERIFY(rig.violations().empty());
}

void KvCacheTest::whatADeadStepWroteIsForgotten() {
  KvRig rig(2);
  const auto tokens = countingTokens(5);
  KvRig::Held &one = rig.add(), &other = rig.add();
  QVERIFY(rig.compute(one, tokens, 5));
  rig.release(one);
  std::vector<BlockId> taken;
  {
    auto reservation = rig.cache.openReservation();
    std::vector<BlockCopy> copies;
    QVERIFY(reservation->tryGrow(other.table, 0, 8, copies));
    taken = reservation->takenBlocks();
  }
  rig.cache.forget(taken);
  QCOMPARE(rig.cache.pool().numCached(), std::int64_t{0});
  QCOMPARE(rig.enter(rig.add(), tokens).numTokens, std::int64_t{0});
  QVERIFY(rig.violations().empty());
}

void KvCacheTest::theTailOfASequenceIsEvictedBeforeItsHead() {
  KvRig rig(4);
  const auto tokens = countingTokens(13);
  KvRig::Held& one = rig.add();
  QVERIFY(rig.compute(one, tokens, 13));
  const std::vector<BlockId> blocks(one.table.blocks().begin(), one.table.blocks().end());
  rig.release(one);
  const std::vector<BlockId> expected{blocks[2], blocks[1], blocks[0]};
  QCOMPARE(rig.cache.pool().evictionOrder(), expected);
}

void KvCacheTest::contiguousAndPagedWasteAsWorkedOut() {
  KvCacheConfig config = support::pagedConfig(256, 16);
  KvRig paged(config);
  QVERIFY(paged.compute(paged.add(), countingTokens(100), 100));
  QCOMPARE(qRound(summarisePool(paged.cache).internalFragmentation * 1000), 107);
  QCOMPARE(summarisePool(paged.cache).usedBlocks, std::int64_t{7});
  QCOMPARE(summarisePool(paged.cache).externalFragmentation, 0.0);
  config.allocator = AllocatorKind::Contiguous;
  config.maxContext = 2048;
  KvRig contiguous(config);
  QVERIFY(contiguous.compute(contiguous.add(), countingTokens(100), 100));
  QCOMPARE(qRound(summarisePool(contiguous.cache).internalFragmentation * 1000), 951);
}

void KvCacheTest::holesRefuseALongRunThoughEnoughIsFree() {
  BlockPool pool(512, 16);
  PrefixIndex index(16, 512);
  const Placement two{true, 128}, three{true, 188};  // 2,048 and 3,000 tokens
  std::deque<BlockTable> tables;
  std::vector<BlockCopy> copies;
  for (int i = 0; i < 4; ++i) {
    KvReservation reservation(pool, index, two);
    tables.emplace_back(RequestId(static_cast<std::uint64_t>(i)), 16);
    QVERIFY(reservation.tryGrow(tables.back(), 0, 1, copies));
    reservation.commit();
  }
  for (const int i : {0, 2}) {
    KvReservation reservation(pool, index, two);
    reservation.release(tables[static_cast<std::size_t>(i)]);
    reservation.commit();
  }
  QCOMPARE(pool.numFree() * 16, std::int64_t{4096});
  KvReservation reservation(pool, index, three);
  BlockTable late(RequestId(9), 16);
  QVERIFY(!reservation.tryGrow(late, 0, 1, copies));
  QCOMPARE(late.size(), std::int64_t{0});
}

QTEST_GUILESS_MAIN(KvCacheTest)
#include "tst_kv_cache.moc"
