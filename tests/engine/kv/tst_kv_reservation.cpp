#include "engine/kv/kv_reservation.h"

#include <QtTest>

#include "tests/support/kv_rig.h"

using namespace engine;
using namespace engine::kv;
using support::countingTokens;
using support::KvRig;

class KvReservationTest : public QObject {
  Q_OBJECT

 private slots:
  void whatIsNotCommittedComesBack();
  void aGrowthThatDoesNotFitTakesNothing();
  void growthWithinTheLastBlockTakesNothing();
  void theFirstWriteToASharedBlockCopiesIt();
  void theLastHolderWritesInPlace();
  void rollBackUndoesCopyAttachAndRelease();
  void rollBackBringsEvictedBlocksBack();
  void blocksGivenBackInAStepServeItsOtherRows();
  void theContiguousRunIsTakenAtOnce();
};

void KvReservationTest::whatIsNotCommittedComesBack() {
  KvRig rig(8);
  KvRig::Held& one = rig.add();
  std::vector<BlockCopy> copies;
  {
    auto reservation = rig.cache.openReservation();
    QVERIFY(reservation->tryGrow(one.table, 0, 10, copies));
    QCOMPARE(one.table.size(), std::int64_t{3});
    QCOMPARE(reservation->takenBlocks().size(), std::size_t{3});
  }
  QCOMPARE(one.table.size(), std::int64_t{0});
  QCOMPARE(rig.cache.pool().numFree(), std::int64_t{8});
  QVERIFY(rig.events.empty());
  QVERIFY(rig.violations().empty());
}

void KvReservationTest::aGrowthThatDoesNotFitTakesNothing() {
  KvRig rig(3);
  KvRig::Held& one = rig.add();
  QVERIFY(rig.compute(one, countingTokens(8), 8));
  auto reservation = rig.cache.openReservation();
  std::vector<BlockCopy> copies;
  QVERIFY(!reservation->tryGrow(one.table, 8, 5, copies));
  QCOMPARE(one.table.size(), std::int64_t{2});
  QCOMPARE(rig.cache.pool().numFree(), std::int64_t{1});
  QVERIFY(reservation->tryGrow(one.table, 8, 4, copies));
}

void KvReservationTest::growthWithinTheLastBlockTakesNothing() {
  KvRig rig(3);
  KvRig::Held& one = rig.add();
  QVERIFY(rig.compute(one, countingTokens(5), 5));
  for (std::int64_t end = 6; end <= 8; ++end) {
    QCOMPARE(rig.cache.blocksToGrow(one.table, end - 1, 1), std::int64_t{0});
    QVERIFY(rig.compute(one, countingTokens(end), end));
    QCOMPARE(one.table.size(), std::int64_t{2});
  }
  QCOMPARE(rig.cache.blocksToGrow(one.table, 8, 1), std::int64_t{1});
}

void KvReservationTest::theFirstWriteToASharedBlockCopiesIt() {
  KvRig rig(8);
  const auto tokens = countingTokens(6);
  KvRig::Held &parent = rig.add(), &child = rig.add();
  QVERIFY(rig.compute(parent, tokens, 6));
  rig.cache.fork(parent.table, 2, child.table);
  child.numComputed = 6;
  child.published = parent.published;
  const BlockId shared = parent.table.at(1);
  QCOMPARE(rig.cache.blocksToGrow(child.table, 6, 1), std::int64_t{1});
  QVERIFY(rig.compute(child, countingTokens(7), 7));
  QCOMPARE(rig.copies.size(), std::size_t{1});
  QCOMPARE(rig.copies[0].from, shared);
  QCOMPARE(rig.copies[0].to, child.table.at(1));
  QVERIFY(child.table.at(1) != shared);
  QCOMPARE(child.table.at(0), parent.table.at(0));  // only what is written to is copied
  QVERIFY(rig.violations().empty());
}

void KvReservationTest::theLastHolderWritesInPlace() {
  KvRig rig(8);
  KvRig::Held &parent = rig.add(), &child = rig.add();
  QVERIFY(rig.compute(parent, countingTokens(6), 6));
  rig.cache.fork(parent.table, 2, child.table);
  child.numComputed = 6;
  child.published = parent.published;
  QVERIFY(rig.compute(child, countingTokens(7), 7));
  QVERIFY(rig.compute(parent, countingTokens(7), 7));
  QCOMPARE(rig.copies.size(), std::size_t{1});
  QCOMPARE(rig.cache.pool().counters().cowCopies, std::uint64_t{1});
  QVERIFY(rig.violations().empty());
}

void KvReservationTest::rollBackUndoesCopyAttachAndRelease() {
  KvRig rig(8);
  const auto tokens = countingTokens(9);
  KvRig::Held &one = rig.add(), &child = rig.add(), &hit = rig.add(), &victim = rig.add();
  QVERIFY(rig.compute(one, tokens, 6));
  rig.cache.fork(one.table, 2, child.table);
  child.numComputed = 6;
  child.published = one.published;
  QVERIFY(rig.compute(victim, countingTokens(8, 300), 8));
  const auto before = takeFacts(rig.cache);
  const std::vector<BlockId> victimBlocks(victim.table.blocks().begin(),
                                          victim.table.blocks().end());
  const BlockId shared = one.table.at(1);
  {
    auto reservation = rig.cache.openReservation();
    std::vector<BlockCopy> copies;
    QVERIFY(reservation->tryGrow(child.table, 6, 1, copies));
    reservation->attach(hit.table, rig.cache.findPrefix({&hit.chain, tokens}));
    QCOMPARE(hit.table.size(), std::int64_t{1});
    reservation->release(victim.table);
    QVERIFY(reservation->tryGrow(hit.table, 4, 16, copies));
  }
  QCOMPARE(child.table.at(1), shared);
  QCOMPARE(hit.table.size(), std::int64_t{0});
  QCOMPARE(std::vector<BlockId>(victim.table.blocks().begin(), victim.table.blocks().end()),
           victimBlocks);
  const auto after = takeFacts(rig.cache);
  QCOMPARE(after.freeOrder, before.freeOrder);
  QCOMPARE(after.evictionOrder, before.evictionOrder);
  QVERIFY(rig.violations().empty());
}

void KvReservationTest::rollBackBringsEvictedBlocksBack() {
  KvRig rig(3);
  const auto tokens = countingTokens(9);
  KvRig::Held &one = rig.add(), &other = rig.add();
  QVERIFY(rig.compute(one, tokens, 9));
  rig.release(one);
  {
    auto reservation = rig.cache.openReservation();
    std::vector<BlockCopy> copies;
    QVERIFY(reservation->tryGrow(other.table, 0, 12, copies));
    HashChain chain = rig.cache.makeChain("");
    QCOMPARE(rig.cache.findPrefix({&chain, tokens}).numTokens, std::int64_t{0});
  }
  HashChain chain = rig.cache.makeChain("");
  QCOMPARE(rig.cache.findPrefix({&chain, tokens}).numTokens, std::int64_t{8});
  QVERIFY(rig.violations().empty());
}

void KvReservationTest::blocksGivenBackInAStepServeItsOtherRows() {
  KvRig rig(2);
  KvRig::Held &victim = rig.add(), &row = rig.add();
  QVERIFY(rig.compute(victim, countingTokens(7), 7));
  auto reservation = rig.cache.openReservation();
  std::vector<BlockCopy> copies;
  QVERIFY(!reservation->tryGrow(row.table, 0, 4, copies));
  reservation->release(victim.table);
  QVERIFY(reservation->tryGrow(row.table, 0, 8, copies));
  reservation->commit();
  victim.numComputed = victim.published = 0;
  QCOMPARE(rig.cache.pool().numUsed(), std::int64_t{2});
  QVERIFY(rig.violations().empty());
}

void KvReservationTest::theContiguousRunIsTakenAtOnce() {
  KvCacheConfig config = support::pagedConfig(8, 4);
  config.allocator = AllocatorKind::Contiguous;
  config.maxContext = 10;  // three blocks each
  KvRig rig(config);
  KvRig::Held &one = rig.add(), &two = rig.add(), &three = rig.add();
  QVERIFY(rig.compute(one, countingTokens(1), 1));
  QCOMPARE(one.table.size(), std::int64_t{3});
  QVERIFY(rig.compute(one, countingTokens(9), 9));  // no more blocks
  QCOMPARE(one.table.size(), std::int64_t{3});
  QCOMPARE(one.table.at(2).value, one.table.at(0).value + 2);
  QVERIFY(rig.compute(two, countingTokens(1), 1));
  QVERIFY(!rig.compute(three, countingTokens(1), 1));  // two blocks are free
  rig.release(one);
  QVERIFY(rig.compute(three, countingTokens(1), 1));
  QVERIFY(rig.violations().empty());
}

QTEST_GUILESS_MAIN(KvReservationTest)
#include "tst_kv_reservation.moc"
