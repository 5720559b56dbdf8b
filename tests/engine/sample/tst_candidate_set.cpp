// Each filter against its plain definition: sort everything, then cut.
// labels: pure
#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <vector>

#include <QtTest>

#include "engine/base/random.h"
#include "engine/sample/candidate_set.h"

using namespace engine;
using namespace engine::sample;

namespace {

struct Plain {
  double p;
  TokenId id;
};

std::vector<Plain> softmaxByRank(const std::vector<float>& row) {
  const double max = *std::max_element(row.begin(), row.end());
  double sum = 0.0;
  for (const float x : row) sum += std::exp(double{x} - max);
  std::vector<Plain> result;
  for (std::size_t i = 0; i < row.size(); ++i) {
    result.push_back({std::exp(double{row[i]} - max) / sum, static_cast<TokenId>(i)});
  }
  std::stable_sort(result.begin(), result.end(), [](auto& a, auto& b) { return a.p > b.p; });
  return result;
}

std::set<TokenId> idsOf(const CandidateSet& set) {
  std::set<TokenId> ids;
  for (const Candidate& c : set.remaining()) ids.insert(c.id);
  return ids;
}

std::set<TokenId> firstOf(const std::vector<Plain>& ranked, std::size_t count) {
  std::set<TokenId> ids;
  for (std::size_t i = 0; i < std::min(count, ranked.size()); ++i) ids.insert(ranked[i].id);
  return ids;
}

std::size_t plainTopP(const std::vector<Plain>& ranked, double p) {
  double mass = 0.0;
  std::size_t count = 0;
  while (count < ranked.size() && (count == 0 || mass < p)) mass += ranked[count++].p;
  return count;
}

std::set<TokenId> plainTypical(std::vector<Plain> ranked, double p) {
  double entropy = 0.0;
  for (const Plain& x : ranked) entropy -= x.p * std::log(x.p);
  std::stable_sort(ranked.begin(), ranked.end(), [&](auto& a, auto& b) {
    return std::abs(-std::log(a.p) - entropy) < std::abs(-std::log(b.p) - entropy);
  });
  return firstOf(ranked, plainTopP(ranked, p));
}

}  // namespace

class TestCandidateSet : public QObject {
  Q_OBJECT

 private:
  std::vector<std::vector<float>> m_rows;

 private slots:

  void initTestCase() {
    std::mt19937 generator(11);
    for (const std::size_t size :
         {std::size_t{1}, std::size_t{5}, std::size_t{300}, std::size_t{5000}}) {
      for (const float spread : {0.3f, 3.0f, 20.0f}) {
        std::normal_distribution<float> normal(0.0f, spread);
        std::vector<float> row(size);
        for (float& x : row) x = normal(generator);
        m_rows.push_back(row);
      }
    }
  }

  void topKKeepsTheBest() {
    for (std::vector<float> row : m_rows) {
      const auto ranked = softmaxByRank(row);
      for (const std::int64_t k : {1, 2, 40, 299, 300, 4999, 100000}) {
        CandidateSet set;
        set.reset(row);
        set.keepTopK(k);
        QCOMPARE(idsOf(set), firstOf(ranked, static_cast<std::size_t>(k)));
      }
    }
  }

  void topKBreaksTiesByLowestId() {
    std::vector<float> row(600, 2.0f);
    row[500] = 3.0f;
    CandidateSet set;
    set.reset(row);
    set.keepTopK(3);
    QCOMPARE(idsOf(set), (std::set<TokenId>{0, 1, 500}));
  }

  void topPKeepsTheSmallestSetThatHoldsTheMass() {
    for (std::vector<float> row : m_rows) {
      const auto ranked = softmaxByRank(row);
      for (const double p : {0.0, 0.1, 0.5, 0.9, 0.95, 0.999}) {
        CandidateSet set;
        set.reset(row);
        set.keepTopP(p);
        QCOMPARE(set.remaining().size(), plainTopP(ranked, p));
        QCOMPARE(idsOf(set), firstOf(ranked, plainTopP(ranked, p)));
      }
    }
  }

  void topPOfAListRenormalises() {
    std::vector<float> row = m_rows[6];
    CandidateSet set;
    set.reset(row);
    set.keepTopK(10);
    std::vector<float> ten;
    for (const Candidate& c : set.best(10)) ten.push_back(c.logit);
    set.keepTopP(0.7);
    QCOMPARE(set.remaining().size(), plainTopP(softmaxByRank(ten), 0.7));
  }

  void minPComparesWithTheLargest() {
    for (std::vector<float> row : m_rows) {
      const auto ranked = softmaxByRank(row);
      for (const double p : {0.001, 0.05, 0.5, 1.0}) {
        CandidateSet set;
        set.reset(row);
        set.keepMinP(p);
        const auto count = std::count_if(ranked.begin(), ranked.end(),
                                         [&](const Plain& x) { return x.p >= p * ranked[0].p; });
        QCOMPARE(idsOf(set), firstOf(ranked, static_cast<std::size_t>(count)));
      }
    }
  }

  void typicalKeepsTheNearestToTheEntropy() {
    for (std::vector<float> row : m_rows) {
      if (row.size() < 5) continue;
      for (const double p : {0.0, 0.2, 0.7, 0.95}) {
        CandidateSet set;
        set.reset(row);
        set.keepTypicalP(p);
        QCOMPARE(idsOf(set), plainTypical(softmaxByRank(row), p));
      }
    }
  }

  void maskedTokensNeverComeBack() {
    constexpr float kOut = -std::numeric_limits<float>::infinity();
    std::vector<float> row(700, kOut);
    row[10] = 1.0f;
    row[650] = 1.5f;
    CandidateSet set;
    set.reset(row);
    set.divideBy(0.5f);
    set.keepTopK(40);
    QCOMPARE(idsOf(set), (std::set<TokenId>{10, 650}));
    set.reset(row);
    for (int i = 0; i < 100; ++i) {
      const TokenId id = set.draw(i / 100.0);
      QVERIFY(id == 10 || id == 650);
    }
    QCOMPARE(set.draw(0x1.fffffffffffffp-1), 650);
  }

  // More tokens than the filters look at first; the mass lies far below the best.
  void topPOfAFlatRowKeepsNearlyAll() {
    std::vector<float> row(5000, -30.0f);
    row[1234] = 0.0f;
    for (std::size_t i = 0; i < 3000; ++i) row[i] += 28.0f - static_cast<float>(i % 7);
    row[1234] = 0.0f;
    const auto ranked = softmaxByRank(row);
    for (const double p : {0.5, 0.99, 0.999999}) {
      CandidateSet set;
      set.reset(row);
      set.keepTopP(p);
      QCOMPARE(idsOf(set), firstOf(ranked, plainTopP(ranked, p)));
    }
  }

  // As if the divided row had been given.
  void filtersSeeTheDividedRow() {
    for (const std::vector<float>& row : m_rows) {
      const float max = *std::max_element(row.begin(), row.end());
      std::vector<float> divided = row;
      for (float& x : divided) x = (x - max) / 2.5f;
      const auto check = [&](auto filter) {
        CandidateSet set, plain;
        set.reset(row);
        set.divideBy(2.5f);
        plain.reset(divided);
        filter(set);
        filter(plain);
        QCOMPARE(idsOf(set), idsOf(plain));
        QCOMPARE(set.draw(0.37), plain.draw(0.37));
      };
      check([](CandidateSet&) {});
      check([](CandidateSet& set) { set.keepTopK(3); });
      check([](CandidateSet& set) { set.keepTopP(0.8); });
      check([](CandidateSet& set) { set.keepMinP(0.1); });
      check([](CandidateSet& set) { set.keepTypicalP(0.5); });
    }
  }

  void aTinyTemperatureDoesNotOverflow() {
    std::vector<float> row = {100.0f, 99.0f, -100.0f};
    CandidateSet set;
    set.reset(row);
    set.divideBy(1e-40f);
    QCOMPARE(set.draw(0.999), 0);
  }

  // Rows and lists of the same candidates draw the same distribution: chi-square against softmax.
  void drawsFollowTheSoftmax_data() {
    QTest::addColumn<bool>("asList");
    QTest::addRow("row") << false;
    QTest::addRow("list") << true;
  }

  void drawsFollowTheSoftmax() {
    QFETCH(bool, asList);
    std::vector<float> row(600, -std::numeric_limits<float>::infinity());
    const std::vector<float> logits = {1.0f, 0.0f, -1.0f, 2.0f, 0.5f, -0.5f, 1.5f, -2.0f};
    for (std::size_t i = 0; i < logits.size(); ++i) row[i * 80] = logits[i];  // over several tiles
    CandidateSet set;
    set.reset(row);
    if (asList) set.keepMinP(1e-9);
    constexpr int kDraws = 20000;
    std::vector<int> counts(logits.size(), 0);
    for (int i = 0; i < kDraws; ++i) {
      const TokenId id =
          set.draw(counterDraw(3, 0, static_cast<std::uint64_t>(i), DrawStream::Sample));
      QCOMPARE(id % 80, 0);
      ++counts[static_cast<std::size_t>(id / 80)];
    }
    double chiSquare = 0.0;
    for (const Plain& x : softmaxByRank(logits)) {
      const double expected = x.p * kDraws;
      chiSquare += std::pow(counts[static_cast<std::size_t>(x.id)] - expected, 2) / expected;
    }
    QVERIFY2(chiSquare < 24.3, qPrintable(QString::number(chiSquare)));  // 7 degrees, 0.1 %
  }
};

QTEST_GUILESS_MAIN(TestCandidateSet)
#include "tst_candidate_set.moc"
