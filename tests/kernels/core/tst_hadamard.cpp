#include "kernels/core/hadamard.h"

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include <QtTest>

#include "kernels/cpu/cpu_ops.h"

using namespace kernels;

namespace {

std::vector<float> randomVector(int size, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(size));
  for (float& value : values) value = normal(random);
  return values;
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

}  // namespace

class HadamardTest : public QObject {
  Q_OBJECT

 private slots:
  void ordersDivideTheHead_data() {
    QTest::addColumn<int>("headDim");
    QTest::addColumn<int>("order");
    const std::pair<int, int> orders[] = {{1, 1},   {2, 2},    {15, 1},    {16, 16},   {40, 40},
                                          {64, 64}, {72, 24},  {80, 80},   {96, 96},   {112, 16},
                                          {128, 128}, {160, 160}, {192, 192}, {256, 256}, {512, 256}};
    for (const auto& [headDim, order] : orders) QTest::addRow("%d", headDim) << headDim << order;
  }

  void ordersDivideTheHead() {
    QFETCH(int, headDim);
    QFETCH(int, order);
    QCOMPARE(hadamardOrderFor(headDim), order);
  }

  // By hand: rows of the matrix of order 4 are ++++ +-+- ++-- +--+, over sqrt(4).
  void fourElementsByHand() {
    float x[] = {1.0f, 2.0f, 3.0f, 5.0f};
    turnHead(x, 4, Turn::Forth);
    QCOMPARE(x[0], 5.5f);
    QCOMPARE(x[1], -1.5f);
    QCOMPARE(x[2], -2.5f);
    QCOMPARE(x[3], 0.5f);
  }

  // Every entry of an order's matrix is +-1/sqrt(order), and its columns are orthogonal.
  void matricesAreHadamard_data() { orderRows({1, 2, 4, 8, 12, 16, 20, 24, 64, 80, 96, 160, 256}); }

  void matricesAreHadamard() {
    QFETCH(int, headDim);
    std::vector<std::vector<float>> columns;
    for (int i = 0; i < headDim; ++i) {
      std::vector<float> unit(static_cast<std::size_t>(headDim), 0.0f);
      unit[static_cast<std::size_t>(i)] = 1.0f;
      turnHead(unit.data(), headDim, Turn::Forth);
      for (const float entry : unit) {
        QVERIFY(std::fabs(std::fabs(entry) * std::sqrt(static_cast<float>(headDim)) - 1.0f) < 1e-6f);
      }
      columns.push_back(std::move(unit));
    }
    for (int i = 0; i < headDim; ++i) {
      for (int j = 0; j <= i; ++j) {
        const double product = dot(columns[static_cast<std::size_t>(i)], columns[static_cast<std::size_t>(j)]);
        QVERIFY(std::fabs(product - (i == j)) < 1e-6);
      }
    }
  }

  void dotProductsStayAndBackIsTheInverse_data() {
    orderRows({1, 15, 40, 64, 72, 80, 96, 112, 128, 192, 256, 512});
  }

  void dotProductsStayAndBackIsTheInverse() {
    QFETCH(int, headDim);
    const std::vector<float> a = randomVector(headDim, 1), b = randomVector(headDim, 2);
    std::vector<float> x = a, y = b;
    turnHead(x.data(), headDim, Turn::Forth);
    turnHead(y.data(), headDim, Turn::Forth);
    QVERIFY(std::fabs(dot(x, y) - dot(a, b)) < 1e-4);
    turnHead(x.data(), headDim, Turn::Back);
    for (std::size_t i = 0; i < a.size(); ++i) QVERIFY(std::fabs(x[i] - a[i]) < 1e-5f);
  }

  void anOutlierIsSpread() {
    for (const int headDim : {64, 80, 96, 256}) {
      std::vector<float> x(static_cast<std::size_t>(headDim), 0.0f);
      x[7] = 100.0f;
      turnHead(x.data(), headDim, Turn::Forth);
      for (const float value : x) QVERIFY(std::fabs(value) < 13.0f);
    }
  }

  void instructionSetsAgreeToTheBit_data() { orderRows({40, 64, 72, 80, 96, 112, 128, 256}); }

  void instructionSetsAgreeToTheBit() {
    QFETCH(int, headDim);
    for (const cpu::Isa isa : cpu::supportedIsas()) {
      const cpu::RowKernels& rows =
          isa == cpu::Isa::Avx2 ? cpu::kAvx2RowKernels : cpu::kAvx512VnniRowKernels;
      for (const Turn turn : {Turn::Forth, Turn::Back}) {
        std::vector<float> expected = randomVector(headDim, 3), got = expected;
        turnHead(expected.data(), headDim, turn);
        rows.turnHead(got.data(), headDim, turn);
        QVERIFY(std::memcmp(got.data(), expected.data(), expected.size() * 4) == 0);
      }
    }
  }

 private:
  static void orderRows(std::initializer_list<int> headDims) {
    QTest::addColumn<int>("headDim");
    for (const int headDim : headDims) QTest::addRow("%d", headDim) << headDim;
  }
};

QTEST_GUILESS_MAIN(HadamardTest)
#include "tst_hadamard.moc"
