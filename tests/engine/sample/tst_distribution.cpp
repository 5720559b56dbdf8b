// Probabilities of a chain: normalised, drawn in order of ids, and what is left beside another.
#include <cmath>
#include <vector>

#include <QtTest>

#include "engine/sample/distribution.h"

using namespace engine;
using namespace engine::sample;

class TestDistribution : public QObject {
  Q_OBJECT

 private slots:

  void weightsBecomeProbabilitiesById() {
    const Distribution one({{5, 3.0f}, {2, 1.0f}, {9, 0.0f}});
    QCOMPARE(one.shares().size(), std::size_t{2});
    QCOMPARE(one.of(2), 0.25f);
    QCOMPARE(one.of(5), 0.75f);
    QCOMPARE(one.of(9), 0.0f);
    QCOMPARE(one.draw(0.0), 2);
    QCOMPARE(one.draw(0.2499), 2);
    QCOMPARE(one.draw(0.2501), 5);
    QCOMPARE(one.draw(std::nextafter(1.0, 0.0)), 5);
  }

  void whatIsLeftIsThePositivePartNormalised() {
    const Distribution p({{1, 0.5f}, {2, 0.3f}, {3, 0.2f}});
    const Distribution q({{0, 0.4f}, {1, 0.1f}, {2, 0.3f}, {3, 0.2f}});
    const Distribution rest = p.lessThat(q);
    QCOMPARE(rest.shares().size(), std::size_t{1});
    QCOMPARE(rest.of(1), 1.0f);
    const Distribution less = p.lessThat(Distribution({{1, 0.25f}, {2, 0.75f}}));
    QVERIFY(std::abs(less.of(1) - 0.25f / 0.45f) < 1e-6f && less.of(2) == 0.0f);
    QVERIFY(std::abs(less.of(3) - 0.2f / 0.45f) < 1e-6f);
  }

  void nothingLeftGivesTheWholeBack() {
    const Distribution p({{1, 1.0f}, {2, 3.0f}});
    QCOMPARE(p.lessThat(p).of(2), 0.75f);
  }
};

QTEST_GUILESS_MAIN(TestDistribution)
#include "tst_distribution.moc"
