#include "engine/kv/pool_snapshot.h"

#include <QtTest>

#include "tests/support/kv_rig.h"

using namespace engine;
using support::countingTokens;
using support::KvRig;

class PoolSnapshotTest : public QObject {
  Q_OBJECT

 private slots:
  void theSummaryCountsEveryBlockOnce();
  void anIdlePoolHasNoFragmentation();
  void aSplitContiguousPoolShowsItsHoles();
  void blocksSayWhoHoldsThemAndHowFullTheyAre();
};

void PoolSnapshotTest::theSummaryCountsEveryBlockOnce() {
  KvRig rig(8);
  KvRig::Held &gone = rig.add(), &one = rig.add();
  QVERIFY(rig.compute(gone, countingTokens(8, 500), 8));
  QVERIFY(rig.compute(one, countingTokens(10), 10));
  rig.release(gone);
  const PoolSummary summary = kv::summarisePool(rig.cache);
  QCOMPARE(summary.blockSize, 4);
  QCOMPARE(summary.numBlocks, std::int64_t{8});
  QCOMPARE(summary.freeBlocks, std::int64_t{3});
  QCOMPARE(summary.cachedBlocks, std::int64_t{2});
  QCOMPARE(summary.usedBlocks, std::int64_t{3});
  QCOMPARE(summary.internalFragmentation, 1.0 - 10.0 / 12.0);  // cached blocks do not count
}

void PoolSnapshotTest::anIdlePoolHasNoFragmentation() {
  KvRig rig(8);
  QCOMPARE(kv::summarisePool(rig.cache).internalFragmentation, 0.0);
  QCOMPARE(kv::summarisePool(rig.cache).externalFragmentation, 0.0);
}

void PoolSnapshotTest::aSplitContiguousPoolShowsItsHoles() {
  kv::KvCacheConfig config = support::pagedConfig(8, 4);
  config.allocator = AllocatorKind::Contiguous;
  config.maxContext = 8;
  KvRig rig(config);
  for (int i = 0; i < 4; ++i) QVERIFY(rig.compute(rig.add(), countingTokens(4), 4));
  rig.release(rig.held[0]);
  rig.release(rig.held[2]);
  const PoolSummary summary = kv::summarisePool(rig.cache);
  QCOMPARE(summary.freeBlocks, std::int64_t{4});
  QCOMPARE(summary.externalFragmentation, 0.5);  // the longest run has two of the four
  QCOMPARE(summary.internalFragmentation, 0.5);
}

void PoolSnapshotTest::blocksSayWhoHoldsThemAndHowFullTheyAre() {
  KvRig rig(8);
  KvRig::Held& one = rig.add();
  rig.cache.setStep(StepId(5));
  QVERIFY(rig.compute(one, countingTokens(6), 6));
  const std::vector<BlockSnapshot> blocks = kv::snapshotBlocks(rig.cache);
  QCOMPARE(blocks.size(), std::size_t{8});
  const BlockSnapshot& full = blocks[static_cast<std::size_t>(one.table.at(0).value)];
  const BlockSnapshot& partial = blocks[static_cast<std::size_t>(one.table.at(1).value)];
  QCOMPARE(full.state, BlockState::Used);
  QCOMPARE(full.owner, one.table.owner());
  QCOMPARE(full.filled, std::uint16_t{4});
  QVERIFY(full.hash != 0);
  QCOMPARE(full.allocatedStep, std::uint64_t{5});
  QCOMPARE(partial.filled, std::uint16_t{2});
  QCOMPARE(partial.logical, 1);
  QCOMPARE(partial.hash, std::uint64_t{0});
  QCOMPARE(blocks[7].state, BlockState::Free);
  QVERIFY(blocks[7].owner.isNone());
}

QTEST_GUILESS_MAIN(PoolSnapshotTest)
#include "tst_pool_snapshot.moc"
