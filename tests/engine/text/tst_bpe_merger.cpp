#include <QtTest/QtTest>

#include <map>
#include <random>
#include <utility>
#include <vector>

#include "engine/text/bpe_merger.h"
#include "tests/support/processor_timer.h"

using engine::TokenId;
using engine::text::BpeMerger;

namespace {

// The definition, read aloud: find the best-ranked pair, leftmost first, merge it, again.
using Rules = std::map<std::pair<TokenId, TokenId>, std::pair<int, TokenId>>;

void mergePlainly(const Rules& rules, std::vector<TokenId>& symbols) {
  while (true) {
    std::size_t best = symbols.size();
    int bestRank = 0;
    for (std::size_t at = 0; at + 1 < symbols.size(); ++at) {
      const auto rule = rules.find({symbols[at], symbols[at + 1]});
      if (rule == rules.end()) continue;
      if (best != symbols.size() && rule->second.first >= bestRank) continue;
      best = at;
      bestRank = rule->second.first;
    }
    if (best == symbols.size()) return;
    symbols[best] = rules.at({symbols[best], symbols[best + 1]}).second;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

}  // namespace

class TestBpeMerger : public QObject {
  Q_OBJECT

 private slots:
  void theBestRankGoesFirst();
  void overlappingPairsMergeFromTheLeft();
  void nothingAndOneSymbolStay();
  void randomRulesGiveWhatTheDefinitionGives();
  void aMillionSymbolsAreQuick();
};

void TestBpeMerger::theBestRankGoesFirst() {
  BpeMerger merger;
  merger.add(1, 2, 12, 1);
  merger.add(2, 3, 23, 0);
  std::vector<TokenId> symbols = {1, 2, 3};
  merger.merge(symbols);
  QCOMPARE(symbols, (std::vector<TokenId>{1, 23}));
}

void TestBpeMerger::overlappingPairsMergeFromTheLeft() {
  BpeMerger merger;
  merger.add(1, 1, 11, 0);
  std::vector<TokenId> symbols(5, 1);
  merger.merge(symbols);
  QCOMPARE(symbols, (std::vector<TokenId>{11, 11, 1}));
}

void TestBpeMerger::nothingAndOneSymbolStay() {
  BpeMerger merger;
  merger.add(1, 1, 11, 0);
  std::vector<TokenId> symbols;
  merger.merge(symbols);
  QVERIFY(symbols.empty());
  symbols = {1};
  merger.merge(symbols);
  QCOMPARE(symbols, (std::vector<TokenId>{1}));
}

void TestBpeMerger::randomRulesGiveWhatTheDefinitionGives() {
  std::mt19937 random(3);
  for (int round = 0; round < 400; ++round) {
    BpeMerger merger;
    Rules rules;
    for (int rank = 0; rank < 40; ++rank) {
      const auto left = static_cast<TokenId>(random() % (3 + rank));
      const auto right = static_cast<TokenId>(random() % (3 + rank));
      const auto merged = static_cast<TokenId>(3 + rank);
      merger.add(left, right, merged, rank);
      rules.emplace(std::pair(left, right), std::pair(rank, merged));
    }
    for (int word = 0; word < 20; ++word) {
      std::vector<TokenId> symbols(random() % 40);
      for (TokenId& symbol : symbols) symbol = static_cast<TokenId>(random() % 3);
      std::vector<TokenId> expected = symbols;
      mergePlainly(rules, expected);
      merger.merge(symbols);
      QCOMPARE(symbols, expected);
    }
  }
}

void TestBpeMerger::aMillionSymbolsAreQuick() {
  BpeMerger merger;
  for (TokenId level = 0; level < 15; ++level) merger.add(level, level, level + 1, level);
  std::vector<TokenId> symbols(1 << 20, 0);
  test_support::ProcessorTimer timer;
  timer.start();
  merger.merge(symbols);
  const std::int64_t elapsedMs = timer.elapsed();
  QCOMPARE(symbols, std::vector<TokenId>(32, 15));
  QVERIFY2(elapsedMs < 5000, qPrintable(QString("%1 ms").arg(elapsedMs)));  // ~300 ms when quiet
}

QTEST_GUILESS_MAIN(TestBpeMerger)
#include "tst_bpe_merger.moc"
