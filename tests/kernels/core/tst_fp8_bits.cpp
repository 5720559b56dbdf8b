#include "kernels/core/fp8_bits.h"

#include <cmath>
#include <limits>

#include <QtTest>

using kernels::floatOfFp8;
using kernels::fp8OfFloat;

class Fp8BitsTest : public QObject {
  Q_OBJECT

 private slots:
  void codesReadAsTheFormatSays_data() {
    QTest::addColumn<int>("code");
    QTest::addColumn<float>("value");
    QTest::newRow("zero") << 0x00 << 0.0f;
    QTest::newRow("smallest subnormal") << 0x01 << 0.001953125f;  // 2^-9
    QTest::newRow("largest subnormal") << 0x07 << 0.013671875f;   // 7 * 2^-9
    QTest::newRow("smallest normal") << 0x08 << 0.015625f;        // 2^-6
    QTest::newRow("one") << 0x38 << 1.0f;
    QTest::newRow("one and an eighth") << 0x39 << 1.125f;
    QTest::newRow("minus two and a half") << 0xC2 << -2.5f;
    QTest::newRow("256 is no infinity") << 0x78 << 256.0f;
    QTest::newRow("largest") << 0x7E << 448.0f;
    QTest::newRow("most negative") << 0xFE << -448.0f;
  }

  void codesReadAsTheFormatSays() {
    QFETCH(int, code);
    QFETCH(float, value);
    QCOMPARE(floatOfFp8(static_cast<std::uint8_t>(code)), value);
    QCOMPARE(static_cast<int>(fp8OfFloat(value)), code);
  }

  void everyCodeComesBack() {
    for (int code = 0; code < 256; ++code) {
      const float value = floatOfFp8(static_cast<std::uint8_t>(code));
      QCOMPARE(std::isnan(value), (code & 0x7F) == 0x7F);
      QCOMPARE(static_cast<int>(fp8OfFloat(value)), code);
    }
  }

  void tiesGoToTheEvenCode_data() {
    QTest::addColumn<float>("value");
    QTest::addColumn<int>("code");
    QTest::newRow("1.0625 down") << 1.0625f << 0x38;
    QTest::newRow("1.1875 up") << 1.1875f << 0x3A;
    QTest::newRow("above a tie") << std::nextafter(1.0625f, 2.0f) << 0x39;
    QTest::newRow("1.9375 into the next power") << 1.9375f << 0x40;
    QTest::newRow("half of the smallest to zero") << 0x1p-10f << 0x00;
    QTest::newRow("a little more than half") << std::nextafter(0x1p-10f, 1.0f) << 0x01;
    QTest::newRow("1.5 smallest") << 3 * 0x1p-10f << 0x02;
    QTest::newRow("7.5 smallest to the normals") << 15 * 0x1p-10f << 0x08;
    QTest::newRow("minus a tie") << -1.0625f << 0xB8;
    QTest::newRow("432, between 416 and 448") << 432.0f << 0x7E;
  }

  void tiesGoToTheEvenCode() {
    QFETCH(float, value);
    QFETCH(int, code);
    QCOMPARE(static_cast<int>(fp8OfFloat(value)), code);
  }

  void tooLargeSaturatesAndNanStaysNan() {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    for (const float large : {449.0f, 464.0f, 480.0f, 1e30f, kInfinity}) {
      QCOMPARE(floatOfFp8(fp8OfFloat(large)), 448.0f);
      QCOMPARE(floatOfFp8(fp8OfFloat(-large)), -448.0f);
    }
    QVERIFY(std::isnan(floatOfFp8(fp8OfFloat(std::nanf("")))));
    QVERIFY(std::isnan(floatOfFp8(fp8OfFloat(-std::nanf("")))));
    QCOMPARE(std::signbit(floatOfFp8(fp8OfFloat(-0.0f))), true);
  }

  void everyFloatGoesToTheNearestCode() {
    for (std::uint32_t bits = 0; bits < 0x44000000u; bits += 9973) {  // up to 512
      const float value = std::bit_cast<float>(bits);
      const double error = std::fabs(static_cast<double>(floatOfFp8(fp8OfFloat(value))) -
                                     static_cast<double>(std::fmin(value, 448.0f)));
      for (int code = 0; code < 0x7F; ++code) {
        const double other = std::fabs(static_cast<double>(floatOfFp8(static_cast<std::uint8_t>(code))) -
                                       static_cast<double>(std::fmin(value, 448.0f)));
        if (other < error) QFAIL(qPrintable(QString("%1 has a nearer code %2").arg(double(value)).arg(code)));
      }
    }
  }
};

QTEST_GUILESS_MAIN(Fp8BitsTest)
#include "tst_fp8_bits.moc"
