#include "engine/kv/block_pool.h"

#include <QtTest>

using namespace engine;
using namespace engine::kv;

namespace {

const RequestId kA(1), kB(2);

std::vector<BlockId> ids(std::initializer_list<int> values) {
  std::vector<BlockId> all;
  for (const int value : values) all.emplace_back(value);
  return all;
}

// Takes a block, makes it findable and lets go of it.
BlockId cacheOne(BlockPool& pool, std::uint64_t hash) {
  const BlockId id = *pool.tryAllocate(kA, 0);
  pool.setFilled(id, pool.blockSize());
  pool.setHash(id, hash);
  pool.release(id, kA, 0);
  return id;
}

}  // namespace

class BlockPoolTest : public QObject {
  Q_OBJECT

 private slots:
  void freeBlocksComeInOrderAndTheLastFreedComesFirst();
  void freeCachedAndUsedAlwaysAddUp();
  void nothingIsAllocatedFromAPoolThatIsAllUsed();
  void aCachedBlockIsEvictedOnlyWhenNoneIsFree();
  void theLeastRecentlyReleasedIsEvictedFirst();
  void theHookHearsOfAnEvictionBeforeTheBlockIsHandedOut();
  void aHitTakesABlockOutOfTheEvictionOrder();
  void aSharedBlockStaysUntilItsLastHolderGoes();
  void anUnhashedBlockBecomesFreeAndKeepsNothing();
  void everyOperationIsReported();
  void rollBackRestoresListsCountsAndHolders();
  void recordsOfATransactionAreToldAtItsCommit();
  void peakAndCountersOfARollBackAreForgotten();
};

void BlockPoolTest::freeBlocksComeInOrderAndTheLastFreedComesFirst() {
  BlockPool pool(4, 16);
  QCOMPARE(pool.freeOrder(), ids({0, 1, 2, 3}));
  QCOMPARE(*pool.tryAllocate(kA, 0), BlockId(0));
  QCOMPARE(*pool.tryAllocate(kA, 1), BlockId(1));
  pool.release(BlockId(0), kA, 0);
  QCOMPARE(pool.freeOrder(), ids({0, 2, 3}));
}

void BlockPoolTest::freeCachedAndUsedAlwaysAddUp() {
  BlockPool pool(5, 16);
  cacheOne(pool, 77);
  pool.tryAllocate(kB, 0);
  pool.tryAllocate(kB, 1);
  QCOMPARE(pool.numFree(), 2);
  QCOMPARE(pool.numCached(), 1);
  QCOMPARE(pool.numUsed(), 2);
  QCOMPARE(pool.numAvailable(), 3);
}

void BlockPoolTest::nothingIsAllocatedFromAPoolThatIsAllUsed() {
  BlockPool pool(1, 16);
  QVERIFY(pool.tryAllocate(kA, 0).has_value());
  QVERIFY(!pool.tryAllocate(kB, 0).has_value());
  QCOMPARE(pool.block(BlockId(0)).owner, kA);
  BlockPool empty(0, 16);
  QVERIFY(!empty.tryAllocate(kA, 0).has_value());
}

void BlockPoolTest::aCachedBlockIsEvictedOnlyWhenNoneIsFree() {
  BlockPool pool(2, 16);
  const BlockId cached = cacheOne(pool, 77);
  QCOMPARE(cached, BlockId(0));
  QCOMPARE(*pool.tryAllocate(kB, 0), BlockId(1));
  QCOMPARE(pool.block(cached).state, BlockState::Cached);
  QCOMPARE(*pool.tryAllocate(kB, 1), cached);
  QCOMPARE(pool.block(cached).hash, std::uint64_t{0});
  QCOMPARE(pool.block(cached).filled, 0);
  QCOMPARE(pool.counters().evictions, std::uint64_t{1});
}

void BlockPoolTest::theLeastRecentlyReleasedIsEvictedFirst() {
  BlockPool pool(3, 16);
  std::vector<BlockId> taken;
  for (int i = 0; i < 3; ++i) taken.push_back(*pool.tryAllocate(kA, i));
  for (int i = 0; i < 3; ++i)
    pool.setHash(taken[static_cast<std::size_t>(i)], 10 + static_cast<std::uint64_t>(i));
  pool.release(taken[1], kA, 1);
  pool.release(taken[2], kA, 2);
  pool.release(taken[0], kA, 0);
  QCOMPARE(pool.evictionOrder(), ids({1, 2, 0}));
  QCOMPARE(*pool.tryAllocate(kB, 0), BlockId(1));
}

void BlockPoolTest::theHookHearsOfAnEvictionBeforeTheBlockIsHandedOut() {
  BlockPool pool(1, 16);
  BlockState seen = BlockState::Free;
  pool.setEvictionHook([&](BlockId id) { seen = pool.block(id).state; });
  cacheOne(pool, 77);
  pool.tryAllocate(kB, 0);
  QCOMPARE(seen, BlockState::Cached);
}

void BlockPoolTest::aHitTakesABlockOutOfTheEvictionOrder() {
  BlockPool pool(2, 16);
  const BlockId id = cacheOne(pool, 77);
  pool.takeHit(id, kB, 3);
  QVERIFY(pool.evictionOrder().empty());
  QCOMPARE(pool.block(id).owner, kB);
  QCOMPARE(pool.block(id).logical, 3);
  QCOMPARE(pool.numUsed(), 1);
  pool.takeHit(id, kA, 0);  // a second holder
  QCOMPARE(pool.block(id).refCount, 2u);
  QCOMPARE(pool.block(id).owner, kB);
  QCOMPARE(pool.counters().hits, std::uint64_t{2});
}

void BlockPoolTest::aSharedBlockStaysUntilItsLastHolderGoes() {
  BlockPool pool(1, 16);
  const BlockId id = *pool.tryAllocate(kA, 0);
  pool.share(id, kB, 0);
  pool.release(id, kA, 0);
  QCOMPARE(pool.block(id).state, BlockState::Used);
  QVERIFY(!pool.tryAllocate(kA, 0).has_value());
  pool.release(id, kB, 0);
  QCOMPARE(pool.block(id).state, BlockState::Free);
}

void BlockPoolTest::anUnhashedBlockBecomesFreeAndKeepsNothing() {
  BlockPool pool(2, 16);
  const BlockId id = *pool.tryAllocate(kA, 0);
  pool.setFilled(id, 9);
  pool.release(id, kA, 0);
  QCOMPARE(pool.block(id).filled, 0);
  QCOMPARE(pool.numFree(), 2);
}

void BlockPoolTest::everyOperationIsReported() {
  std::vector<BlockRecord> events;
  BlockPool pool(2, 16, [&](const BlockRecord& record) { events.push_back(record); });
  pool.setStep(StepId(9));
  const BlockId id = *pool.tryAllocate(kA, 4);
  pool.share(id, kB, 4);
  pool.release(id, kB, 4);
  pool.setHash(id, 77);
  pool.release(id, kA, 4);
  pool.takeHit(id, kB, 4);
  pool.release(id, kB, 4);
  pool.tryAllocate(kA, 0);
  pool.tryAllocate(kA, 1);  // evicts
  pool.release(BlockId(1), kA, 0);
  std::vector<BlockOp> ops;
  for (const BlockRecord& record : events) ops.push_back(record.op);
  const std::vector<BlockOp> expected{
      BlockOp::Allocate, BlockOp::Share,    BlockOp::Unshare, BlockOp::Unshare,  BlockOp::Hit,
      BlockOp::Unshare,  BlockOp::Allocate, BlockOp::Evict,   BlockOp::Allocate, BlockOp::Free};
  QCOMPARE(ops, expected);
  QCOMPARE(events[0].iteration, std::uint64_t{9});
  QCOMPARE(events[0].request, kA.value);
  QCOMPARE(events[0].logical, 4);
  QCOMPARE(events[1].refCount, std::uint16_t{2});
  QCOMPARE(events[3].refCount, std::uint16_t{0});  // idle and findable
  QCOMPARE(events[3].hash, std::uint64_t{77});
  QCOMPARE(events[7].hash, std::uint64_t{77});
}

void BlockPoolTest::rollBackRestoresListsCountsAndHolders() {
  BlockPool pool(6, 16);
  cacheOne(pool, 70);
  const BlockId held = *pool.tryAllocate(kA, 0);
  const BlockId cached = cacheOne(pool, 71);
  const auto freeBefore = pool.freeOrder();
  const auto evictionBefore = pool.evictionOrder();
  pool.beginTransaction();
  while (pool.tryAllocate(kB, 0)) continue;  // all free ones, both cached ones
  pool.release(held, kA, 0);
  pool.tryAllocate(kB, 0);
  pool.share(held, kA, 1);
  pool.rollBackTransaction();
  QCOMPARE(pool.freeOrder(), freeBefore);
  QCOMPARE(pool.evictionOrder(), evictionBefore);
  QCOMPARE(pool.block(held).refCount, 1u);
  QCOMPARE(pool.block(held).owner, kA);
  QCOMPARE(pool.block(cached).hash, std::uint64_t{71});
  QCOMPARE(pool.numUsed(), 1);
  QCOMPARE(pool.numCached(), 2);
}

void BlockPoolTest::recordsOfATransactionAreToldAtItsCommit() {
  int told = 0;
  BlockPool pool(2, 16, [&](const BlockRecord&) { ++told; });
  pool.beginTransaction();
  pool.tryAllocate(kA, 0);
  QCOMPARE(told, 0);
  pool.commitTransaction();
  QCOMPARE(told, 1);
  pool.beginTransaction();
  pool.tryAllocate(kA, 1);
  pool.rollBackTransaction();
  QCOMPARE(told, 1);
}

void BlockPoolTest::peakAndCountersOfARollBackAreForgotten() {
  BlockPool pool(4, 16);
  pool.tryAllocate(kA, 0);
  pool.beginTransaction();
  pool.tryAllocate(kA, 1);
  pool.tryAllocate(kA, 2);
  QCOMPARE(pool.counters().peakUsed, 3);
  pool.rollBackTransaction();
  QCOMPARE(pool.counters().peakUsed, 1);
  QCOMPARE(pool.counters().allocations, std::uint64_t{1});
}

QTEST_GUILESS_MAIN(BlockPoolTest)
#include "tst_block_pool.moc"
