#include "engine/kv/prefix_index.h"

#include <QtTest>

#include "tests/support/kv_rig.h"

using namespace engine;
using namespace engine::kv;
using support::countingTokens;
using support::KvRig;

class PrefixIndexTest : public QObject {
  Q_OBJECT

 private slots:
  void aPrefixIsFoundBlockByBlock();
  void aFullHitStillLeavesATokenToCompute_data();
  void aFullHitStillLeavesATokenToCompute();
  void onlyFullBlocksAreFound();
  void equalHashesWithOtherTokensAreNoHit();
  void anotherNamespaceFindsNothing();
  void anotherModelFindsNothing();
  void theSameBlockUnderAnotherPrefixIsNoHit();
  void blocksAreFindableOnlyOncePublished();
  void aHiddenBlockIsNotFoundAndCanComeBack();
  void anEvictedBlockIsNotFound();
  void theMissNamesTheFirstTokenThatDiffers();
  void theMissNamesTheEviction();
  void theMissNamesTheNamespace();
  void theMissNamesTheBlockFloor();
  void nothingLikeItWasSeen();
};

void PrefixIndexTest::aPrefixIsFoundBlockByBlock() {
  KvRig rig(8);
  const auto tokens = countingTokens(13);
  KvRig::Held& first = rig.add();
  QVERIFY(rig.compute(first, tokens, 13));
  auto longer = countingTokens(12);
  longer.insert(longer.end(), {90, 91, 92, 93, 94});
  KvRig::Held& second = rig.add();
  const PrefixMatch match = rig.enter(second, longer);
  QCOMPARE(match.numTokens, std::int64_t{12});
  QCOMPARE(match.blocks,
           std::vector<BlockId>(first.table.blocks().begin(), first.table.blocks().begin() + 3));
  QCOMPARE(rig.cache.pool().block(match.blocks[0]).refCount, 2u);
  QVERIFY(rig.violations().empty());
}

void PrefixIndexTest::aFullHitStillLeavesATokenToCompute_data() {
  QTest::addColumn<int>("length");
  QTest::addColumn<int>("found");
  QTest::newRow("1") << 1 << 0;
  QTest::newRow("block - 1") << 3 << 0;
  QTest::newRow("block") << 4 << 0;
  QTest::newRow("block + 1") << 5 << 4;
  QTest::newRow("two blocks") << 8 << 4;
  QTest::newRow("two blocks + 1") << 9 << 8;
}

void PrefixIndexTest::aFullHitStillLeavesATokenToCompute() {
  QFETCH(int, length);
  QFETCH(int, found);
  KvRig rig(8);
  const auto tokens = countingTokens(12);
  QVERIFY(rig.compute(rig.add(), tokens, 12));
  const auto prompt = countingTokens(length);
  QCOMPARE(rig.enter(rig.add(), prompt).numTokens, std::int64_t{found});
}

void PrefixIndexTest::onlyFullBlocksAreFound() {
  KvRig rig(8);
  const auto tokens = countingTokens(7);
  QVERIFY(rig.compute(rig.add(), tokens, 7));
  QCOMPARE(rig.enter(rig.add(), countingTokens(30)).numTokens, std::int64_t{4});
}

void PrefixIndexTest::equalHashesWithOtherTokensAreNoHit() {
  // a chain that has already hashed A answers for B: as if both hashed alike
  KvRig rig(8);
  const auto tokens = countingTokens(9);
  QVERIFY(rig.compute(rig.add(), tokens, 9));
  HashChain chain = rig.cache.makeChain("");
  chain.hashOf(1, tokens);
  auto forged = tokens;
  forged[5] = 500;
  QCOMPARE(rig.cache.findPrefix({&chain, tokens}).numTokens, std::int64_t{8});
  QCOMPARE(rig.cache.findPrefix({&chain, forged}).numTokens, std::int64_t{4});
  forged[0] = 500;
  QCOMPARE(rig.cache.findPrefix({&chain, forged}).numTokens, std::int64_t{0});
}

void PrefixIndexTest::anotherNamespaceFindsNothing() {
  KvRig rig(8);
  const auto tokens = countingTokens(9);
  QVERIFY(rig.compute(rig.add("alice"), tokens, 9));
  QCOMPARE(rig.enter(rig.add("bob"), tokens).numTokens, std::int64_t{0});
  QCOMPARE(rig.enter(rig.add("alice"), tokens).numTokens, std::int64_t{8});
}

void PrefixIndexTest::anotherModelFindsNothing() {
  KvRig rig(8);
  const auto tokens = countingTokens(9);
  QVERIFY(rig.compute(rig.add(), tokens, 9));
  HashChain other("another model", "", 4);
  QCOMPARE(rig.cache.findPrefix({&other, tokens}).numTokens, std::int64_t{0});
}

void PrefixIndexTest::theSameBlockUnderAnotherPrefixIsNoHit() {
  KvRig rig(8);
  const std::vector<TokenId> one{1, 2, 3, 4, 5, 6, 7, 8, 9}, other{4, 3, 2, 1, 5, 6, 7, 8, 9};
  QVERIFY(rig.compute(rig.add(), one, 9));
  QCOMPARE(rig.enter(rig.add(), other).numTokens, std::int64_t{0});
  const std::vector<TokenId> tail{5, 6, 7, 8, 9};
  QCOMPARE(rig.enter(rig.add(), tail).numTokens, std::int64_t{0});
}

void PrefixIndexTest::blocksAreFindableOnlyOncePublished() {
  KvRig rig(8);
  const auto tokens = countingTokens(9);
  KvRig::Held& one = rig.add();
  std::vector<BlockCopy> copies;
  auto reservation = rig.cache.openReservation();
  QVERIFY(reservation->tryGrow(one.table, 0, 9, copies));
  reservation->commit();
  rig.cache.markWritten(one.table, 0, 9);
  one.numComputed = 9;
  HashChain chain = rig.cache.makeChain("");
  QCOMPARE(rig.cache.findPrefix({&chain, tokens}).numTokens, std::int64_t{0});
  one.published = rig.cache.publish(one.table, {&one.chain, tokens}, 0, 9);
  QCOMPARE(one.published, std::int64_t{2});
  QCOMPARE(rig.cache.findPrefix({&chain, tokens}).numTokens, std::int64_t{8});
}

void PrefixIndexTest::aHiddenBlockIsNotFoundAndCanComeBack() {
  PrefixIndex index(2, 4);
  HashChain chain("m", "", 2);
  const auto tokens = countingTokens(5);
  const PrefixQuery query{&chain, tokens};
  index.publish(query, 0, BlockId(3), BlockId());
  index.publish(query, 1, BlockId(1), BlockId(3));
  QCOMPARE(index.find(query).numTokens, std::int64_t{4});
  index.hide(BlockId(1));
  QCOMPARE(index.find(query).numTokens, std::int64_t{2});
  QCOMPARE(index.numEntries(), std::size_t{1});
  index.restoreHidden();
  QCOMPARE(index.find(query).numTokens, std::int64_t{4});
  index.hide(BlockId(1));
  index.commitHidden();
  QCOMPARE(index.find(query).numTokens, std::int64_t{2});
  index.publish(query, 1, BlockId(0), BlockId(3));
  QCOMPARE(index.find(query).blocks[1], BlockId(0));
}

void PrefixIndexTest::anEvictedBlockIsNotFound() {
  KvRig rig(3);
  const auto tokens = countingTokens(9);
  KvRig::Held& one = rig.add();
  QVERIFY(rig.compute(one, tokens, 9));
  rig.release(one);
  QCOMPARE(rig.cache.pool().numCached(), std::int64_t{2});
  KvRig::Held& other = rig.add();
  QVERIFY(rig.compute(other, countingTokens(8, 700), 8));  // the free block, then the tail
  QCOMPARE(rig.enter(rig.add(), tokens).numTokens, std::int64_t{4});
  QVERIFY(rig.violations().empty());
}

void PrefixIndexTest::theMissNamesTheFirstTokenThatDiffers() {
  KvRig rig(8);
  const auto tokens = countingTokens(13);
  QVERIFY(rig.compute(rig.add(), tokens, 13));
  auto other = tokens;
  other[6] = 999;
  HashChain chain = rig.cache.makeChain("");
  const PrefixQuery query{&chain, other};
  PrefixMatch match = rig.cache.findPrefix(query);
  rig.cache.explainMiss(query, match);
  QCOMPARE(match.numTokens, std::int64_t{4});
  QCOMPARE(match.miss, PrefixMiss::DifferentToken);
  QCOMPARE(match.position, std::int64_t{6});
}

void PrefixIndexTest::theMissNamesTheEviction() {
  KvRig rig(3);
  const auto tokens = countingTokens(9);
  KvRig::Held& one = rig.add();
  QVERIFY(rig.compute(one, tokens, 9));
  rig.release(one);
  QVERIFY(rig.compute(rig.add(), countingTokens(8, 700), 8));
  HashChain chain = rig.cache.makeChain("");
  const PrefixQuery query{&chain, tokens};
  PrefixMatch match = rig.cache.findPrefix(query);
  rig.cache.explainMiss(query, match);
  QCOMPARE(match.numTokens, std::int64_t{4});
  QCOMPARE(match.miss, PrefixMiss::Evicted);
}

void PrefixIndexTest::theMissNamesTheNamespace() {
  KvRig rig(8);
  const auto tokens = countingTokens(9);
  QVERIFY(rig.compute(rig.add("alice"), tokens, 9));
  HashChain chain = rig.cache.makeChain("bob");
  const PrefixQuery query{&chain, tokens};
  PrefixMatch match = rig.cache.findPrefix(query);
  rig.cache.explainMiss(query, match);
  QCOMPARE(match.miss, PrefixMiss::Namespace);
}

void PrefixIndexTest::theMissNamesTheBlockFloor() {
  KvRig rig(8);
  QVERIFY(rig.compute(rig.add(), countingTokens(13), 13));
  HashChain chain = rig.cache.makeChain("");
  const auto prompt = countingTokens(11);
  const PrefixQuery query{&chain, prompt};
  PrefixMatch match = rig.cache.findPrefix(query);
  rig.cache.explainMiss(query, match);
  QCOMPARE(match.numTokens, std::int64_t{8});
  QCOMPARE(match.miss, PrefixMiss::BlockFloor);
  QCOMPARE(match.position, std::int64_t{8});
}

void PrefixIndexTest::nothingLikeItWasSeen() {
  KvRig rig(8);
  QVERIFY(rig.compute(rig.add(), countingTokens(9), 9));
  HashChain chain = rig.cache.makeChain("");
  const auto prompt = countingTokens(9, 5000);
  const PrefixQuery query{&chain, prompt};
  PrefixMatch match = rig.cache.findPrefix(query);
  rig.cache.explainMiss(query, match);
  QCOMPARE(match.miss, PrefixMiss::NeverSeen);
  QCOMPARE(match.position, std::int64_t{0});
}

QTEST_GUILESS_MAIN(PrefixIndexTest)
#include "tst_prefix_index.moc"
