// The row arithmetic of the sampler against plain double arithmetic.
// labels: pure
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <QtTest>

#include "engine/sample/column_tiles.h"

using namespace engine;
using namespace engine::sample;

class TestColumnTiles : public QObject {
  Q_OBJECT

 private:
  static std::vector<float> randomRow(std::size_t size, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal(0.0f, 4.0f);
    std::vector<float> row(size);
    for (float& x : row) x = normal(generator);
    return row;
  }

  // One lane of an exponential, operation by operation.
  static float plainExp(float x) {
    if (!(x >= -87.0f)) return 0.0f;
    const float magic = 12582912.0f, shifted = x * 1.44269504f + magic, n = shifted - magic;
    const float r = x - n * 0.693359375f - n * -2.12194440e-4f;
    float p = 1.0f / 5040.0f;
    for (const float term : {1.0f / 720.0f, 1.0f / 120.0f, 1.0f / 24.0f, 1.0f / 6.0f, 0.5f, 1.0f,
                             1.0f}) {
      p = p * r + term;
    }
    return p * std::ldexp(1.0f, static_cast<int>(n));
  }

 private slots:

  // Whichever instructions this processor has: sixteen chains, then halves onto each other.
  void theBitsAreThoseOfSixteenPlainLanes() {
    for (const std::size_t count : {std::size_t{3}, std::size_t{200}, kColumnTile}) {
      const std::vector<float> row = randomRow(count, 5);
      const float max = *std::max_element(row.begin(), row.end());
      QCOMPARE(maxOfTile(row.data(), count), max);
      alignas(64) float out[kColumnTile];
      const float sum = expTile(row.data(), count, max, out);
      float lanes[16] = {};
      for (std::size_t i = 0; i < kColumnTile; ++i) {
        const float weight = i < count ? plainExp(row[i] - max) : 0.0f;
        QVERIFY(out[i] == weight);
        lanes[i % 16] += weight;
      }
      for (int half = 8; half > 0; half /= 2) {
        for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
      }
      QVERIFY(sum == lanes[0]);
    }
  }

  void exponentialsAreWithinTwoUnitsInTheLastPlace() {
    alignas(64) float out[kColumnTile];
    for (float x = -86.9f; x < 80.0f; x += 0.37f) {
      expTile(&x, 1, 0.0f, out);
      const double exact = std::exp(double{x});
      QVERIFY2(std::abs(out[0] - exact) <= 2.5e-7 * exact, qPrintable(QString::number(x)));
      QCOMPARE(out[1], 0.0f);
    }
  }

  void minusInfinityAndVerySmallWeighNothing() {
    const float in[3] = {-std::numeric_limits<float>::infinity(), -88.0f, -3.0e38f};
    alignas(64) float out[kColumnTile];
    QCOMPARE(expTile(in, 3, 0.0f, out), 0.0f);
  }

  void logSumExpMatchesPlainDoubles_data() {
    QTest::addColumn<int>("size");
    for (const int size : {1, 7, 8, 255, 256, 257, 1001, 49152}) QTest::addRow("%d", size) << size;
  }

  void logSumExpMatchesPlainDoubles() {
    QFETCH(int, size);
    const std::vector<float> row = randomRow(static_cast<std::size_t>(size), 7);
    double max = row[0], sum = 0.0;
    for (const float x : row) max = std::max(max, double{x});
    for (const float x : row) sum += std::exp(double{x} - max);
    const auto summary = summarizeRow(row);
    QVERIFY(summary.isOk());
    QVERIFY(std::abs(summary->logSumExp - (max + std::log(sum))) < 1e-6);
    QCOMPARE(double{summary->max}, max);
  }

  void whatTilesTellMakesTheSameSummary() {
    const std::vector<float> row = randomRow(1001, 9);
    std::vector<TileSummary> tiles;
    for (std::size_t begin = 0; begin < row.size(); begin += kColumnTile) {
      tiles.push_back(summarizeTile(row.data() + begin, std::min(kColumnTile, row.size() - begin)));
      QVERIFY(tiles.back().isFinite);
    }
    const auto found = summarizeRow(row), known = summarizeRow(row, tiles);
    QVERIFY(known->max == found->max && known->logSumExp == found->logSumExp);
    QCOMPARE(known->argmax, found->argmax);
  }

  void dividedTilesAreShiftedAndDivided() {
    for (const std::size_t count : {std::size_t{3}, std::size_t{200}, kColumnTile}) {
      const std::vector<float> row = randomRow(count, 6);
      alignas(64) float out[kColumnTile];
      divideTile(row.data(), count, 1.5f, 0.7f, out);
      for (std::size_t i = 0; i < count; ++i) QVERIFY(out[i] == (row[i] - 1.5f) / 0.7f);
    }
  }

  void whatReachesABoundIsFoundInOrder() {
    for (const std::size_t count : {std::size_t{1}, std::size_t{200}, kColumnTile}) {
      const std::vector<float> row = randomRow(count, 8);
      for (const float least : {-100.0f, row[0], 2.0f, 100.0f}) {
        std::vector<std::uint8_t> expected;
        for (std::size_t i = 0; i < count; ++i) {
          if (row[i] >= least) expected.push_back(static_cast<std::uint8_t>(i));
        }
        std::uint8_t found[kColumnTile];
        const std::size_t numFound = findAtLeast(row.data(), count, least, found);
        QCOMPARE(std::vector<std::uint8_t>(found, found + numFound), expected);
      }
    }
  }

  void argmaxTakesTheLowestIdAmongEquals() {
    std::vector<float> row(1000, 1.0f);
    row[700] = row[300] = row[299 + 256] = 5.0f;
    QCOMPARE(argmaxOf(row), 300);
    QCOMPARE(summarizeRow(row)->argmax, 300);
  }

  void aLogitThatIsNotFiniteIsNamed_data() {
    QTest::addColumn<float>("bad");
    QTest::addRow("nan") << std::numeric_limits<float>::quiet_NaN();
    QTest::addRow("infinity") << std::numeric_limits<float>::infinity();
    QTest::addRow("minus infinity") << -std::numeric_limits<float>::infinity();
  }

  void aLogitThatIsNotFiniteIsNamed() {
    QFETCH(float, bad);
    for (const std::size_t at : {std::size_t{0}, std::size_t{260}, std::size_t{1000}}) {
      std::vector<float> row = randomRow(1001, 3);
      row[at] = bad;
      const auto summary = summarizeRow(row);
      QVERIFY(!summary.isOk());
      QVERIFY(summary.error().message.find("token " + std::to_string(at)) != std::string::npos);
    }
  }
};

QTEST_GUILESS_MAIN(TestColumnTiles)
#include "tst_column_tiles.moc"
