#include "engine/kv/hash_chain.h"

#include <QtTest>
#include <set>

#include "tests/support/kv_rig.h"

using namespace engine;
using namespace engine::kv;

class HashChainTest : public QObject {
  Q_OBJECT

 private slots:
  void aHashCoversEveryTokenBeforeIt();
  void partsOfTheKeyCannotRunIntoEachOther();
  void aGrowingSequenceKeepsItsHashes();
  void oneTokenAnywhereChangesAllHashesFromThereOn();
};

void HashChainTest::aHashCoversEveryTokenBeforeIt() {
  const std::vector<TokenId> one{1, 2, 3, 4}, other{9, 2, 3, 4}, same{5, 6, 7, 8};
  QVERIFY(chainHash(chainHash(1, one), same) != chainHash(chainHash(1, other), same));
}

void HashChainTest::partsOfTheKeyCannotRunIntoEachOther() {
  const std::set<std::uint64_t> roots{
      rootHash("ab", "c"), rootHash("a", "bc"), rootHash("abc", ""),  rootHash("", "abc"),
      rootHash("ab", ""),  rootHash("", "ab"),  rootHash("a:1", "b"), rootHash("a", "1:b")};
  QCOMPARE(roots.size(), std::size_t{8});
}

void HashChainTest::aGrowingSequenceKeepsItsHashes() {
  std::vector<TokenId> tokens = support::countingTokens(8);
  HashChain chain("m", "", 4), whole("m", "", 4);
  const std::uint64_t first = chain.hashOf(0, tokens);
  tokens.insert(tokens.end(), {8, 9, 10, 11});
  QCOMPARE(chain.hashOf(2, tokens), whole.hashOf(2, tokens));
  QCOMPARE(chain.hashOf(0, tokens), first);
}

void HashChainTest::oneTokenAnywhereChangesAllHashesFromThereOn() {
  const std::vector<TokenId> tokens = support::countingTokens(16);
  HashChain chain("m", "", 4);
  for (std::size_t changed = 0; changed < 16; ++changed) {
    std::vector<TokenId> other = tokens;
    other[changed] += 1000;
    HashChain otherChain("m", "", 4);
    for (std::size_t block = 0; block < 4; ++block) {
      const bool isEqual = chain.hashOf(block, tokens) == otherChain.hashOf(block, other);
      QCOMPARE(isEqual, block < changed / 4);
    }
  }
}

QTEST_GUILESS_MAIN(HashChainTest)
#include "tst_hash_chain.moc"
