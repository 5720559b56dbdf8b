// labels: kernel
#include "kernels/cpu/quantized_rows.h"

#include <QtTest>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/tile_job.h"
#include "tests/kernels/cpu/matmul_fixture.h"

using namespace kernels::cpu;

class TestQuantizedRows : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase();
  void everyInstructionSetFollowsTheDefinition_data();
  void everyInstructionSetFollowsTheDefinition();
  void valuesAreWithinHalfAStep();
  void theShiftMakesSumsExact();
  void groupsCanBeWrittenOneByOne();
  void shapesMayChangeWithinTheReserve();
  void floatsAreKeptOnlyWhenAsked();
  void anImpossibleReserveSaysHowMuch();
  void bf16RowsHoldTheirValuesTimes64Bits();

 private:
  std::vector<Isa> m_isas;
};

void TestQuantizedRows::initTestCase() {
  m_isas.assign(supportedIsas().begin(), supportedIsas().end());
  if (m_isas.empty()) QSKIP("this processor runs none of the vector kernels");
}

void TestQuantizedRows::everyInstructionSetFollowsTheDefinition_data() {
  QTest::addColumn<QList<float>>("odd");  // put over the first values of a random group
  const float inf = std::numeric_limits<float>::infinity();
  QTest::newRow("plain") << QList<float>{};
  QTest::newRow("outlier") << QList<float>{1e6f};
  QTest::newRow("minus zero") << QList<float>{-0.0f};
  QTest::newRow("subnormal") << QList<float>{1e-40f, -1e-45f};
  QTest::newRow("largest usable") << QList<float>{0x1p100f};
  QTest::newRow("too large") << QList<float>{-0x1.000002p100f};
  QTest::newRow("infinity") << QList<float>{1.0f, inf};
  QTest::newRow("minus infinity") << QList<float>{-inf};
  QTest::newRow("nan") << QList<float>{0.0f, 0.0f, std::numeric_limits<float>::quiet_NaN()};
  QTest::newRow("zeros") << QList<float>(32, 0.0f);
  QTest::newRow("smallest usable") << QList<float>(32, 0x1p-100f);
  QTest::newRow("too small") << QList<float>(32, 0x1.FFFFFEp-101f);
  QTest::newRow("all equal") << QList<float>(32, -3.75f);
  QList<float> ties;
  for (int i = 0; i < 32; ++i) ties.push_back(static_cast<float>(i) + 0.5f);
  ties[31] = 127.0f;
  QTest::newRow("ties") << ties;
}

void TestQuantizedRows::everyInstructionSetFollowsTheDefinition() {
  QFETCH(QList<float>, odd);
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::vector<float> x = fixture::randomActivations(1, 32, seed);
    for (qsizetype i = 0; i < odd.size(); ++i) {
      x[(static_cast<std::size_t>(i) + seed) % 32] = odd[i];
    }
    const QuantizedGroup expected = fixture::quantizePlainly(x.data());
    for (Isa isa : m_isas) {
      if (Matmul(isa).rowForm() != RowForm::Int8) continue;
      QuantizedRows rows;
      QVERIFY(rows.reserve(1, 32, KeepFloats::No, RowForm::Int8).isOk());
      rows.setShape(1, 32);
      Matmul(isa).quantizeRow(x.data(), rows, 0);
      const QuantizedGroup& group = *rows.row(0);
      if (std::isnan(expected.scale)) {
        QVERIFY(std::isnan(group.scale) && std::isnan(group.shift) && std::isnan(group.scaledSum));
        QVERIFY(std::memcmp(group.values, expected.values, 32) == 0);
      } else {
        QVERIFY(std::memcmp(&group, &expected, sizeof group) == 0);
      }
    }
  }
}

void TestQuantizedRows::valuesAreWithinHalfAStep() {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const std::vector<float> x = fixture::randomActivations(1, 32, seed);
    const QuantizedGroup group = fixture::quantizePlainly(x.data());
    for (std::size_t i = 0; i < 32; ++i) {
      const float error = std::fabs(x[i] - group.scale * static_cast<float>(group.values[i]));
      QVERIFY(error <= 0.5001f * group.scale);
    }
  }
}

// The whole point of the 22-bit scale: fma over the biased bits equals the rounded product.
void TestQuantizedRows::theShiftMakesSumsExact() {
  for (unsigned seed = 0; seed < 100; ++seed) {
    const std::vector<float> x = fixture::randomActivations(1, 32, seed);
    const QuantizedGroup group = fixture::quantizePlainly(x.data());
    for (int n : {0, 1, -1, 12345, -12345, 1036320, -1036320, (1 << 22) - 1, 1 - (1 << 22)}) {
      const float biased = std::bit_cast<float>(kSumBias + n);
      QCOMPARE(std::fma(biased, group.scale, group.shift), static_cast<float>(n) * group.scale);
    }
  }
}

void TestQuantizedRows::groupsCanBeWrittenOneByOne() {
  constexpr int kCols = 160;
  const std::vector<float> x = fixture::randomActivations(1, kCols, 3);
  for (Isa isa : m_isas) {
    const Matmul matmul(isa);
    if (matmul.rowForm() != RowForm::Int8) continue;
    QuantizedRows whole, parts;
    for (QuantizedRows* rows : {&whole, &parts}) {
      QVERIFY(rows->reserve(1, kCols, KeepFloats::Yes, RowForm::Int8).isOk());
      rows->setShape(1, kCols);
    }
    matmul.quantizeRow(x.data(), whole, 0);
    matmul.quantizeGroups(x.data() + 96, parts, 0, 3, 2);
    matmul.quantizeGroups(x.data(), parts, 0, 0, 3);
    QVERIFY(std::memcmp(whole.row(0), parts.row(0), 5 * sizeof(QuantizedGroup)) == 0);
    QVERIFY(std::memcmp(parts.floats(0), x.data(), kCols * sizeof(float)) == 0);
  }
}

void TestQuantizedRows::shapesMayChangeWithinTheReserve() {
  QuantizedRows rows;
  QVERIFY(rows.reserve(4, 1536, KeepFloats::Yes, RowForm::Int8).isOk());
  for (int cols : {32, 64, 576, 1536}) {
    rows.setShape(4, cols);
    QCOMPARE(rows.cols(), cols);
    const auto* end = rows.row(3) + rows.numGroups();
    const auto bytes = static_cast<std::size_t>(reinterpret_cast<const char*>(end) -
                                                reinterpret_cast<const char*>(rows.row(0)));
    QVERIFY(bytes <= rows.bytes());
    QVERIFY(rows.row(1) >= rows.row(0) + rows.numGroups());
    QCOMPARE(rows.floats(1) - rows.floats(0), std::ptrdiff_t{cols});
  }
}

void TestQuantizedRows::floatsAreKeptOnlyWhenAsked() {
  QuantizedRows rows;
  QVERIFY(rows.reserve(2, 64, KeepFloats::No, RowForm::Int8).isOk());
  QVERIFY(!rows.hasFloats());
  QVERIFY(rows.reserve(2, 64, KeepFloats::Yes, RowForm::Int8).isOk());
  QVERIFY(rows.hasFloats());
}

void TestQuantizedRows::anImpossibleReserveSaysHowMuch() {
  QuantizedRows rows;
  const kernels::Status status =
      rows.reserve(2000000000, 2000000000, KeepFloats::Yes, RowForm::Int8);
  QCOMPARE(status.outcome, kernels::Outcome::OutOfMemory);
  QVERIFY(status.message.find("2000000000") != std::string::npos);
}

void TestQuantizedRows::bf16RowsHoldTheirValuesTimes64Bits() {
  const bool hasAvx512 = std::count(m_isas.begin(), m_isas.end(), Isa::Avx512Vnni) > 0;
  if (!hasAvx512 || !kernels::cpu::hasPairDots()) QSKIP("rounded by AVX-512 with bf16");
  constexpr int kCols = 96, kNumRows = 17;
  QuantizedRows rows;
  QVERIFY(rows.reserve(kNumRows, kCols, KeepFloats::No, RowForm::Bf16).isOk());
  rows.setShape(kNumRows, kCols);
  std::vector<float> x = fixture::randomActivations(kNumRows, kCols, 4);
  x[3] = 1e-40f;          // not lost, although subnormal
  x[5] = 1.0f + 0x1p-8f;  // a tie: to the even one below
  x[6] = 1.0f + 0x3p-8f;  // and above
  x[7] = -3.4e38f;        // infinite
  x[8] = 0x1.FEp62f;      // the largest that is not
  for (int row = 0; row < kNumRows; ++row) {
    kernels::cpu::roundRowAvx512Bf16(x.data() + row * kCols, kCols / 32, rows.rounded(row));
  }
  QCOMPARE(rows.rounded(1) - rows.rounded(0), std::ptrdiff_t{32 * rows.rowStride()});
  for (int row = 0; row < kNumRows; ++row) {
    for (int k = 0; k < kCols; ++k) {
      const float from = x[static_cast<std::size_t>(row * kCols + k)];
      QCOMPARE(rows.rounded(row)[k], kernels::bf16OfFloat(from * 0x1p64f));
    }
  }
}

QTEST_GUILESS_MAIN(TestQuantizedRows)
#include "tst_quantized_rows.moc"
