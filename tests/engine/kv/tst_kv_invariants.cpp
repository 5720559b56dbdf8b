// Each rule is bent once: a checker that finds nothing is worth nothing.
#include "engine/kv/kv_invariants.h"

#include <QtTest>
#include <functional>

#include "tests/support/kv_rig.h"

using namespace engine;
using namespace engine::kv;
using support::countingTokens;
using support::KvRig;

namespace {

// 8 blocks of 4: one request with 2 full blocks and a partial one, 2 cached blocks, 3 free ones.
KvFacts makeFacts() {
  KvRig rig(8);
  KvRig::Held &gone = rig.add(), &one = rig.add();
  (void)rig.compute(gone, countingTokens(8, 500), 8);
  (void)rig.compute(one, countingTokens(10), 10);
  rig.release(gone);
  KvFacts facts = takeFacts(rig.cache);
  const auto blocks = one.table.blocks();
  facts.holders.push_back({one.table.owner(), {blocks.begin(), blocks.end()}, 10, 2});
  return facts;
}

}  // namespace

class KvInvariantsTest : public QObject {
  Q_OBJECT

 private slots:
  void aSoundPoolHasNoViolations();
  void everyRuleReportsItsFault_data();
  void everyRuleReportsItsFault();
};

void KvInvariantsTest::aSoundPoolHasNoViolations() {
  const KvFacts facts = makeFacts();
  QCOMPARE(facts.numFree, std::int64_t{3});
  QCOMPARE(facts.numCached, std::int64_t{2});
  QVERIFY(findViolations(facts).empty());
}

using Bend = std::function<void(KvFacts&)>;
Q_DECLARE_METATYPE(Bend)

void KvInvariantsTest::everyRuleReportsItsFault_data() {
  QTest::addColumn<Bend>("bend");
  QTest::addColumn<QString>("expected");
  const auto row = [](const char* name, Bend bend, const char* expected) {
    QTest::newRow(name) << bend << QString(expected);
  };
  row(
      "a block is lost", [](KvFacts& f) { --f.numFree; }, "are not the 8 blocks");
  row(
      "counted wrongly", [](KvFacts& f) { --f.numFree, ++f.numUsed; }, "counted as");
  row(
      "freed twice", [](KvFacts& f) { f.freeOrder.push_back(f.freeOrder[0]); }, "free list twice");
  row(
      "used and free", [](KvFacts& f) { f.freeOrder.push_back(f.holders[0].table[0]); },
      "in another state");
  row(
      "missing", [](KvFacts& f) { f.freeOrder.pop_back(); }, "missing from the free list");
  row(
      "cached is lost", [](KvFacts& f) { f.evictionOrder.pop_back(); },
      "missing from the eviction list");
  row(
      "ghost", [](KvFacts& f) { f.freeOrder.emplace_back(99); }, "does not exist");
  row(
      "one holder too many",
      [](KvFacts& f) {
        ++f.blocks[static_cast<std::size_t>(f.holders[0].table[0].value)].refCount;
      },
      "counts 2 holders and has 1");
  row(
      "free but held",
      [](KvFacts& f) { f.blocks[static_cast<std::size_t>(f.freeOrder[0].value)].refCount = 1; },
      "in the wrong state");
  row(
      "free but hashed",
      [](KvFacts& f) { f.blocks[static_cast<std::size_t>(f.freeOrder[0].value)].hash = 5; },
      "has a hash");
  row(
      "hash not in the index",
      [](KvFacts& f) {
        f.findable[static_cast<std::size_t>(f.holders[0].table[0].value)].hash = 1;
      },
      "pool and index disagree");
  row(
      "parent is gone",
      [](KvFacts& f) {
        const auto parent = static_cast<std::size_t>(f.holders[0].table[0].value);
        f.findable[parent].hash = f.blocks[parent].hash = 0;
      },
      "its parent");
  row(
      "parent goes first", [](KvFacts& f) { std::swap(f.evictionOrder[0], f.evictionOrder[1]); },
      "before its child");
  row(
      "entries", [](KvFacts& f) { ++f.numEntries; }, "the index has");
  row(
      "computed beyond its slots", [](KvFacts& f) { f.holders[0].numComputed = 13; },
      "in 12 slots");
  row(
      "computed but not written", [](KvFacts& f) { f.holders[0].numComputed = 11; },
      "counts on 3 slots");
  row(
      "findable too early", [](KvFacts& f) { f.holders[0].numComputed = 6; }, "is findable before");
  row(
      "published too early", [](KvFacts& f) { f.holders[0].publishedBlocks = 3; },
      "published 3 blocks");
  row(
      "half a block is findable",
      [](KvFacts& f) {
        f.blocks[static_cast<std::size_t>(f.holders[0].table[0].value)].filled = 3;
      },
      "with 3 of 4 slots");
  row(
      "twice in one table", [](KvFacts& f) { f.holders[0].table[2] = f.holders[0].table[0]; },
      "holds a block twice");
}

void KvInvariantsTest::everyRuleReportsItsFault() {
  QFETCH(Bend, bend);
  QFETCH(QString, expected);
  KvFacts facts = makeFacts();
  bend(facts);
  QString all;
  for (const std::string& one : findViolations(facts)) all += QString::fromStdString(one) + "\n";
  QVERIFY2(all.contains(expected), qPrintable("found: " + all));
}

QTEST_GUILESS_MAIN(KvInvariantsTest)
#include "tst_kv_invariants.moc"
