// labels: kernel
#include "kernels/core/unpack.h"

#include <QtTest>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/core/float_bits.h"
#include "kernels/core/quant_group.h"
#include "tests/kernels/core/unpack_vectors.h"

using kernels::DType;

class TestUnpack : public QObject {
  Q_OBJECT
 private slots:
  void everyBlockFormatUnpacksBitExactly_data();
  void everyBlockFormatUnpacksBitExactly();
  void vectorsCoverEveryBlockFormat();
  void handMadeQ4BlocksGiveTheirLevels();
  void handMadeQ4KBlockUsesItsSixBitScales();
  void zeroCodesOfANegativeScaleKeepTheirSign();
  void plainFloatsPassThrough();
  void everyHalfSurvivesTheWayToFloatAndBack();
  void floatsRoundToTheNearestHalfTiesToEven();
  void floatsRoundToTheNearestBf16TiesToEven();
};

namespace {

std::vector<float> unpack(DType type, const std::vector<std::uint8_t>& row) {
  const kernels::DTypeInfo& info = kernels::dtypeInfo(type);
  const std::size_t cols = row.size() / static_cast<std::size_t>(info.bytesPerBlock) *
                           static_cast<std::size_t>(info.elementsPerBlock);
  std::vector<float> out(cols);
  kernels::unpackRow(type, reinterpret_cast<const std::byte*>(row.data()),
                     static_cast<std::int64_t>(cols), out.data());
  return out;
}

}  // namespace

void TestUnpack::everyBlockFormatUnpacksBitExactly_data() {
  QTest::addColumn<int>("index");
  for (std::size_t i = 0; i < kUnpackVectors.size(); ++i) {
    QTest::newRow(kernels::dtypeInfo(kUnpackVectors[i].type).name) << static_cast<int>(i);
  }
}

void TestUnpack::everyBlockFormatUnpacksBitExactly() {
  QFETCH(int, index);
  const UnpackVector& vector = kUnpackVectors[static_cast<std::size_t>(index)];
  const std::vector<float> values = unpack(vector.type, vector.row);
  QCOMPARE(values.size(), vector.expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    QVERIFY2(std::bit_cast<std::uint32_t>(values[i]) == vector.expected[i],
             qPrintable(QString("element %1 is %2").arg(i).arg(static_cast<double>(values[i]))));
  }
}

void TestUnpack::vectorsCoverEveryBlockFormat() {
  for (int type = 0; type < kernels::kNumDTypes; ++type) {
    bool found = !kernels::isQuantized(static_cast<DType>(type));
    for (const UnpackVector& vector : kUnpackVectors) {
      found = found || vector.type == static_cast<DType>(type);
    }
    QVERIFY2(found, kernels::dtypeInfo(static_cast<DType>(type)).name);
  }
}

void TestUnpack::handMadeQ4BlocksGiveTheirLevels() {
  // scale 0.5; bytes i | (15 - i) << 4: element i is level i, element 16 + i level 15 - i
  std::vector<std::uint8_t> q40 = {0x00, 0x38}, q41 = {0x00, 0x38, 0x00, 0xC0};  // min -2
  for (int i = 0; i < 16; ++i) {
    q40.push_back(static_cast<std::uint8_t>(i | ((15 - i) << 4)));
    q41.push_back(static_cast<std::uint8_t>(i | ((15 - i) << 4)));
  }
  const std::vector<float> symmetric = unpack(DType::Q4_0, q40), shifted = unpack(DType::Q4_1, q41);
  for (std::size_t i = 0; i < 16; ++i) {
    const float level = static_cast<float>(i);
    QCOMPARE(symmetric[i], 0.5f * (level - 8.0f));
    QCOMPARE(symmetric[16 + i], 0.5f * (7.0f - level));
    QCOMPARE(shifted[i], 0.5f * level - 2.0f);
    QCOMPARE(shifted[16 + i], 0.5f * (15.0f - level) - 2.0f);
  }
}

void TestUnpack::handMadeQ4KBlockUsesItsSixBitScales() {
  std::vector<std::uint8_t> block(144, 0x21);  // low nibbles 1, high nibbles 2
  block[0] = 0x00, block[1] = 0x3C;            // d = 1
  block[2] = 0x00, block[3] = 0x38;            // dmin = 0.5
  // scales 10 11 12 13 | 33 34 35 36, minimums 1 2 3 4 | 49 50 51 52
  const std::array<std::uint8_t, 12> scales = {10 | 2 << 6, 11 | 2 << 6, 12 | 2 << 6, 13 | 2 << 6,
                                               1 | 3 << 6,  2 | 3 << 6,  3 | 3 << 6,  4 | 3 << 6,
                                               1 | 1 << 4,  2 | 2 << 4,  3 | 3 << 4,  4 | 4 << 4};
  std::memcpy(block.data() + 4, scales.data(), scales.size());
  const std::vector<float> values = unpack(DType::Q4_K, block);
  const std::array<float, 8> scale = {10, 11, 12, 13, 33, 34, 35, 36};
  const std::array<float, 8> min = {1, 2, 3, 4, 49, 50, 51, 52};
  for (std::size_t g = 0; g < 8; ++g) {
    const float level = g % 2 == 0 ? 1.0f : 2.0f;
    for (std::size_t i = 0; i < 32; ++i) {
      QCOMPARE(values[32 * g + i], scale[g] * level - 0.5f * min[g]);
    }
  }
}

void TestUnpack::zeroCodesOfANegativeScaleKeepTheirSign() {
  std::vector<std::uint8_t> row(34, 0);
  row[1] = 0xBC;  // scale -1, all codes 0
  for (float value : unpack(DType::Q8_0, row)) {
    QVERIFY(value == 0.0f && std::signbit(value));
  }
}

void TestUnpack::plainFloatsPassThrough() {
  const std::vector<std::uint8_t> f32 = {0x00, 0x00, 0xC0, 0x3F, 0x01, 0x00, 0x00, 0x80};
  QCOMPARE(unpack(DType::F32, f32), (std::vector<float>{1.5f, -0x1p-149f}));
  const std::vector<std::uint8_t> f16 = {0x00, 0x3E, 0x01, 0x80, 0xFF, 0x7B, 0x00, 0xFC};
  QCOMPARE(unpack(DType::F16, f16), (std::vector<float>{1.5f, -0x1p-24f, 65504.0f,
                                                        -std::numeric_limits<float>::infinity()}));
  const std::vector<std::uint8_t> bf16 = {0xC0, 0x3F, 0x01, 0x80};
  QCOMPARE(unpack(DType::BF16, bf16), (std::vector<float>{1.5f, -0x1p-133f}));
}

void TestUnpack::everyHalfSurvivesTheWayToFloatAndBack() {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = kernels::floatOfF16(half);
    if (std::isnan(value)) {
      QVERIFY(std::isnan(kernels::floatOfF16(kernels::f16OfFloat(value))));
    } else {
      QCOMPARE(kernels::f16OfFloat(value), half);
    }
  }
}

void TestUnpack::floatsRoundToTheNearestHalfTiesToEven() {
  for (unsigned bits = 0; bits < 0x7BFF;
       ++bits) {  // every neighbour pair of finite positive halves
    const float low = kernels::floatOfF16(static_cast<std::uint16_t>(bits));
    const float high = kernels::floatOfF16(static_cast<std::uint16_t>(bits + 1));
    const float middle = 0.5f * (low + high);  // exact
    QCOMPARE(kernels::f16OfFloat(middle), static_cast<std::uint16_t>(bits + (bits & 1u)));
    QCOMPARE(kernels::f16OfFloat(std::nextafterf(middle, low)), static_cast<std::uint16_t>(bits));
    QCOMPARE(kernels::f16OfFloat(std::nextafterf(middle, high)),
             static_cast<std::uint16_t>(bits + 1));
  }
  QCOMPARE(kernels::f16OfFloat(65519.996f), std::uint16_t{0x7BFF});
  QCOMPARE(kernels::f16OfFloat(65520.0f), std::uint16_t{0x7C00});
  QCOMPARE(kernels::f16OfFloat(-1e30f), std::uint16_t{0xFC00});
}

void TestUnpack::floatsRoundToTheNearestBf16TiesToEven() {
  QCOMPARE(kernels::bf16OfFloat(1.0f), std::uint16_t{0x3F80});
  QCOMPARE(kernels::bf16OfFloat(std::bit_cast<float>(0x3F808000u)), std::uint16_t{0x3F80});
  QCOMPARE(kernels::bf16OfFloat(std::bit_cast<float>(0x3F808001u)), std::uint16_t{0x3F81});
  QCOMPARE(kernels::bf16OfFloat(std::bit_cast<float>(0x3F818000u)), std::uint16_t{0x3F82});
  QCOMPARE(kernels::bf16OfFloat(std::numeric_limits<float>::max()), std::uint16_t{0x7F80});
  QVERIFY(std::isnan(kernels::floatOfBf16(kernels::bf16OfFloat(std::nanf("")))));
}

QTEST_GUILESS_MAIN(TestUnpack)
#include "tst_unpack.moc"
