#include "engine/sched/token_budget.h"

#include <QtTest>

using namespace engine::sched;

namespace {

ChunkFacts factsOf(std::int64_t pending, std::int64_t budgetLeft) {
  ChunkFacts facts;
  facts.pending = pending;
  facts.budgetLeft = budgetLeft;
  return facts;
}

}  // namespace

class TokenBudgetTest : public QObject {
  Q_OBJECT

 private slots:
  void decodesLeaveTheStarvingALittle();
  void aChunkIsWhatIsPendingOrWhatIsLeft();
  void theChunkSizeCapsIt();
  void theLongPrefillThresholdHoldsOnlyWhenSomebodyElseWaits();
  void starvingOthersGetTheirShare();
  void aShareIsNeverNothing();
};

void TokenBudgetTest::aChunkIsWhatIsPendingOrWhatIsLeft() {
  QCOMPARE(chunkTokens(factsOf(100, 512)), std::int64_t{100});
  QCOMPARE(chunkTokens(factsOf(8000, 512)), std::int64_t{512});
  QCOMPARE(chunkTokens(factsOf(8000, 0)), std::int64_t{0});
}

void TokenBudgetTest::theChunkSizeCapsIt() {
  ChunkFacts facts = factsOf(8000, 512);
  facts.prefillChunk = 64;
  QCOMPARE(chunkTokens(facts), std::int64_t{64});
  facts.prefillChunk = 5000;
  QCOMPARE(chunkTokens(facts), std::int64_t{512});
}

void TokenBudgetTest::theLongPrefillThresholdHoldsOnlyWhenSomebodyElseWaits() {
  ChunkFacts facts = factsOf(8000, 512);
  facts.longPrefillThreshold = 100;
  QCOMPARE(chunkTokens(facts), std::int64_t{512});
  facts.isAlone = false;
  QCOMPARE(chunkTokens(facts), std::int64_t{100});
}

void TokenBudgetTest::starvingOthersGetTheirShare() {
  ChunkFacts facts = factsOf(8000, 512);
  facts.starvingOthers = 3;
  QCOMPARE(chunkTokens(facts), std::int64_t{128});
  facts.pending = 50;
  QCOMPARE(chunkTokens(facts), std::int64_t{50});
}

void TokenBudgetTest::aShareIsNeverNothing() {
  ChunkFacts facts = factsOf(8000, 2);
  facts.starvingOthers = 9;
  QCOMPARE(chunkTokens(facts), std::int64_t{1});
  facts.budgetLeft = 0;
  QCOMPARE(chunkTokens(facts), std::int64_t{0});
}

void TokenBudgetTest::decodesLeaveTheStarvingALittle() {
  QCOMPARE(decodeReserve(0, 512), std::int64_t{0});
  QCOMPARE(decodeReserve(3, 512), std::int64_t{3});
  QCOMPARE(decodeReserve(300, 512), std::int64_t{128});
  QCOMPARE(decodeReserve(3, 1), std::int64_t{1});
}

QTEST_GUILESS_MAIN(TokenBudgetTest)
#include "tst_token_budget.moc"
