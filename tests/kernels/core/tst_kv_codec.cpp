#include "kernels/core/kv_codec.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <QtTest>

#include "kernels/core/request_check.h"
#include "kernels/cpu/cpu_ops.h"

using namespace kernels;

namespace {

using Bytes = std::vector<std::byte>;

constexpr KvType kQuantized[] = {KvType::Fp8E4M3, KvType::Int8, KvType::Int4};

Bytes encoded(KvType type, const std::vector<float>& x) {
  Bytes bytes(kvVectorBytes(type, static_cast<int>(x.size())));
  encodeKv(type, x.data(), static_cast<int>(x.size()), bytes.data());
  return bytes;
}

std::vector<float> decoded(KvType type, const Bytes& bytes, std::size_t size) {
  std::vector<float> x(size);
  decodeKv(type, bytes.data(), static_cast<int>(size), x.data());
  return x;
}

std::vector<float> roundTrip(KvType type, const std::vector<float>& x) {
  return decoded(type, encoded(type, x), x.size());
}

std::vector<float> normalVector(std::size_t size, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> x(size);
  for (float& value : x) value = normal(random);
  return x;
}

std::uint16_t halfAt(const Bytes& bytes, std::size_t offset) {
  std::uint16_t half;
  std::memcpy(&half, bytes.data() + offset, 2);
  return half;
}

// Mean square error over N(0,1) vectors.
double errorOf(KvType type, std::size_t headDim) {
  std::mt19937 random(5);
  double sum = 0;
  constexpr int kVectors = 400;
  for (int i = 0; i < kVectors; ++i) {
    const std::vector<float> x = normalVector(headDim, random), y = roundTrip(type, x);
    for (std::size_t d = 0; d < headDim; ++d) {
      const double error = static_cast<double>(y[d]) - static_cast<double>(x[d]);
      sum += error * error;
    }
  }
  return sum / (kVectors * static_cast<double>(headDim));
}

}  // namespace

class KvCodecTest : public QObject {
  Q_OBJECT

 private slots:
  void bytesOfAVector_data() {
    QTest::addColumn<int>("headDim");
    QTest::addColumn<int>("fp8");
    QTest::addColumn<int>("int8");  // + f16 scale
    QTest::addColumn<int>("int4");  // + f16 scale and offset a group
    QTest::newRow("64") << 64 << 64 << 66 << 36;
    QTest::newRow("80, one group") << 80 << 80 << 82 << 44;
    QTest::newRow("96, one group") << 96 << 96 << 98 << 52;
    QTest::newRow("128, two groups") << 128 << 128 << 130 << 72;
    QTest::newRow("192, three groups") << 192 << 192 << 194 << 108;
    QTest::newRow("256, four groups") << 256 << 256 << 258 << 144;
    QTest::newRow("5, odd") << 5 << 5 << 7 << 7;
  }

  void bytesOfAVector() {
    QFETCH(int, headDim);
    QFETCH(int, fp8);
    QFETCH(int, int8);
    QFETCH(int, int4);
    QCOMPARE(static_cast<int>(kvVectorBytes(KvType::Fp8E4M3, headDim)), fp8);
    QCOMPARE(static_cast<int>(kvVectorBytes(KvType::Int8, headDim)), int8);
    QCOMPARE(static_cast<int>(kvVectorBytes(KvType::Int4, headDim)), int4);
    QCOMPARE(static_cast<int>(kvVectorBytes(KvType::BF16, headDim)), 2 * headDim);
  }

  // Largest 127 * 0.5: scale 0.5 = 0x3800; 0.25 and 0.75 are ties to the even codes 0 and 2.
  void int8ByHand() {
    const std::vector<float> x = {63.5f, -63.5f, 0.25f, 0.75f, -1.0f, 10.1f};
    const Bytes bytes = encoded(KvType::Int8, x);
    const int codes[] = {127, -127, 0, 2, -2, 20};
    for (std::size_t i = 0; i < x.size(); ++i) {
      QCOMPARE(static_cast<int>(static_cast<std::int8_t>(bytes[i])), codes[i]);
    }
    QCOMPARE(static_cast<int>(halfAt(bytes, 6)), 0x3800);
    QCOMPARE(decoded(KvType::Int8, bytes, 6), (std::vector<float>{63.5f, -63.5f, 0, 1, -1, 10}));
  }

  // 1/127 lies between two f16: the upper is taken, so the largest does not run over.
  void int8ScalesRoundUp() {
    const Bytes bytes = encoded(KvType::Int8, {1.0f, -0.5f});
    const float scale = floatOfF16(halfAt(bytes, 2));
    QVERIFY(scale >= 1.0f / 127.0f && scale < 1.001f / 127.0f);
    QCOMPARE(static_cast<int>(static_cast<std::int8_t>(bytes[0])), 127);
    for (const float tiny : {1e-6f, 5e-6f, 1e-5f}) {  // scales of one or two bits
      const std::vector<float> y = roundTrip(KvType::Int8, {tiny, -tiny});
      QVERIFY(std::fabs(y[0] - tiny) <= 0x1p-25f && y[1] == -y[0]);
    }
  }

  // 0 to 15 and ends of the range: scale 1, offset -3 hold every value exactly.
  void int4ByHand() {
    std::vector<float> x;
    for (int code : {0, 15, 1, 14, 2, 13, 7, 8}) x.push_back(static_cast<float>(code) - 3.0f);
    const Bytes bytes = encoded(KvType::Int4, x);
    QCOMPARE(bytes.size(), std::size_t{8});
    const int pairs[] = {0x20, 0xDF, 0x71, 0x8E};  // element i low, i + 4 high
    for (std::size_t i = 0; i < 4; ++i) QCOMPARE(static_cast<int>(bytes[i]), pairs[i]);
    QCOMPARE(static_cast<int>(halfAt(bytes, 4)), 0x3C00);   // 1
    QCOMPARE(static_cast<int>(halfAt(bytes, 6)), 0xC200);   // -3
    QCOMPARE(decoded(KvType::Int4, bytes, 8), x);
  }

  // Each group of a wide head has its own range.
  void int4GroupsAreSeparate() {
    std::vector<float> x(128);
    for (std::size_t i = 0; i < 64; ++i) x[i] = static_cast<float>(i % 16);
    for (std::size_t i = 64; i < 128; ++i) x[i] = 1000.0f + 4.0f * static_cast<float>(i % 16);
    const Bytes bytes = encoded(KvType::Int4, x);
    QCOMPARE(decoded(KvType::Int4, bytes, 128), x);
    QCOMPARE(floatOfF16(halfAt(bytes, 64)), 1.0f);
    QCOMPARE(floatOfF16(halfAt(bytes, 66)), 4.0f);
    QCOMPARE(floatOfF16(halfAt(bytes, 68)), 0.0f);
    QCOMPARE(floatOfF16(halfAt(bytes, 70)), 1000.0f);
  }

  void constantVectorsAndZerosAreKept() {
    for (const KvType type : kQuantized) {
      const std::vector<float> zeros(64, 0.0f), ones(64, 1.0f);
      QCOMPARE(roundTrip(type, zeros), zeros);
      for (const float value : roundTrip(type, ones)) QVERIFY(std::fabs(value - 1.0f) < 1e-3f);
    }
  }

  // A fault upstream stays a fault; it is never a plausible number.
  void nanAndInfinityAreNotHidden() {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    for (const float bad : {std::nanf(""), kInfinity, -kInfinity}) {
      std::vector<float> x(64, 1.0f);
      x[13] = bad;
      for (const KvType type : {KvType::Int8, KvType::Int4}) {
        for (const float value : roundTrip(type, x)) QVERIFY(std::isnan(value));
      }
    }
    std::vector<float> x(4, 1.0f);
    x[2] = std::nanf("");
    QVERIFY(std::isnan(roundTrip(KvType::Fp8E4M3, x)[2]));
    x[2] = -kInfinity;
    QCOMPARE(roundTrip(KvType::Fp8E4M3, x)[2], -448.0f);
  }

  void hugeValuesSaturate() {
    for (const KvType type : kQuantized) {
      for (const float large : {1e6f, 1e20f, 3e38f}) {
        const std::vector<float> y = roundTrip(type, {large, -large, 0.0f, 1.0f});
        QVERIFY2(y[0] > 0 && y[1] <= 0 && std::isfinite(y[0]) && std::isfinite(y[1]), kvTypeName(type));
      }
    }
  }

  // A 32-element block with one scale (8 bits) or a scale by its largest element (4 bits) comes to
  // 2.9e-5 and 0.0074.
  void errorsOverNormalVectors() {
    for (const std::size_t headDim : {std::size_t{64}, std::size_t{80}, std::size_t{96}, std::size_t{128}, std::size_t{256}}) {
      QVERIFY(errorOf(KvType::Int8, headDim) < 5.5e-5);
      const double int4 = errorOf(KvType::Int4, headDim);
      QVERIFY2(int4 < (headDim % 64 == 0 ? 0.0071 : 0.0082), qPrintable(QString::number(int4)));
      QVERIFY(errorOf(KvType::Fp8E4M3, headDim) < 1e-3);
    }
  }

  void instructionSetsAgreeToTheBit() {
    std::mt19937 random(9);
    for (const cpu::Isa isa : cpu::supportedIsas()) {
      const cpu::RowKernels& rows =
          isa == cpu::Isa::Avx2 ? cpu::kAvx2RowKernels : cpu::kAvx512VnniRowKernels;
      for (const KvType type : kQuantized) {
        for (const int headDim : {2, 30, 64, 80, 96, 112, 128, 256}) {
          for (int turn = 0; turn < 50; ++turn) {
            const std::vector<float> x = normalVector(static_cast<std::size_t>(headDim), random);
            Bytes got(kvVectorBytes(type, headDim));
            rows.encodeKv(type, x.data(), headDim, got.data());
            QVERIFY2(got == encoded(type, x), qPrintable(QString("%1 %2").arg(kvTypeName(type)).arg(headDim)));
          }
        }
      }
    }
  }
};

QTEST_GUILESS_MAIN(KvCodecTest)
#include "tst_kv_codec.moc"
