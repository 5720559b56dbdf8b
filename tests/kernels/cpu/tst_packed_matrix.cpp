// labels: kernel threads
#include "kernels/cpu/packed_matrix.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include <QtTest>

#include "kernels/core/quant_group.h"
#include "tests/kernels/cpu/matmul_fixture.h"

using namespace kernels::cpu;
using fixture::Weights;
using kernels::DType;
using kernels::Outcome;

class TestPackedMatrix : public QObject {
  Q_OBJECT
 private slots:
  void fastFormatsKeepTheirBitsPerWeight_data();
  void fastFormatsKeepTheirBitsPerWeight();
  void partsLieSideBySideEachFromATileOfItsOwn();
  void columnsPastTheEndArePackedAsZero();
  void nibblesAreStoredWhereTheLayoutSays();
  void pairsKeepTheirCodesInLanes();
  void pairScalesFillTheRangeOfHalves();
  void aBadScaleShowsInTheUnit();
  void theThreadCountDoesNotChangeAByte();
  void aRaisedFlagCancels();
  void whatWasPackedIsLetGo();
  void unfitShapesAreRefusedWithTheirSize_data();
  void unfitShapesAreRefusedWithTheirSize();
  void onlyPlainFloatsNeedFloatActivations();
};

namespace {

std::vector<std::byte> pack(const Weights& weights,
                            int numThreads,
                            CodeOrder order = CodeOrder::ByStep) {
  PackedMatrix matrix({weights.view}, order);
  HugeArena arena;
  ThreadPool pool(numThreads);
  if (!arena.reserve(matrix.packedBytes())) qFatal("no memory");
  std::byte* memory = arena.allocate(matrix.packedBytes());
  if (!matrix.pack(memory, pool).isOk()) qFatal("cannot pack");
  return {memory, memory + matrix.packedBytes()};
}

}  // namespace

void TestPackedMatrix::fastFormatsKeepTheirBitsPerWeight_data() {
  QTest::addColumn<int>("type");
  QTest::addColumn<double>("growth");
  const auto add = [](DType type, double growth) {
    QTest::newRow(kernels::dtypeInfo(type).name) << static_cast<int>(type) << growth;
  };
  for (DType type : {DType::F32, DType::F16, DType::BF16, DType::Q4_0, DType::Q4_1, DType::Q5_0,
                     DType::Q5_1, DType::Q8_0, DType::Q6_K, DType::IQ4_NL}) {
    add(type, 1.0);
  }
  add(DType::Q4_K, 4.625 / 4.5);  // six-bit scales become bytes
  add(DType::Q5_K, 5.625 / 5.5);
  add(DType::IQ4_XS, 4.3125 / 4.25);
  add(DType::Q2_K, 1.0);
  add(DType::Q3_K, 3.5625 / 3.4375);
}

void TestPackedMatrix::fastFormatsKeepTheirBitsPerWeight() {
  QFETCH(int, type);
  QFETCH(double, growth);
  const kernels::WeightView view{static_cast<DType>(type), 96, 1536, nullptr};
  const double expected = growth * static_cast<double>(view.bytes());
  for (CodeOrder order : {CodeOrder::ByStep, CodeOrder::ByPair}) {
    QCOMPARE(static_cast<double>(PackedMatrix({view}, order).packedBytes()), expected);
  }
}

void TestPackedMatrix::partsLieSideBySideEachFromATileOfItsOwn() {
  const kernels::WeightView q{DType::Q4_0, 70, 64, nullptr}, k{DType::Q8_0, 32, 64, nullptr},
      v{DType::Q4_1, 1, 64, nullptr};
  const PackedMatrix matrix({q, k, v}, CodeOrder::ByStep);
  QCOMPARE(matrix.numTiles(), 3 + 1 + 1);
  QCOMPARE(matrix.numColumns(), 103);
  QCOMPARE(matrix.numInputs(), 64);
  const std::vector<int> first = {0, 32, 64, 70, 102}, width = {32, 32, 6, 32, 1};
  for (int tile = 0; tile < 5; ++tile) {
    QCOMPARE(matrix.firstColumnOfTile(tile), first[static_cast<std::size_t>(tile)]);
    QCOMPARE(matrix.numColumnsOfTile(tile), width[static_cast<std::size_t>(tile)]);
  }
  QCOMPARE(&matrix.partOfTile(2), &matrix.parts()[0]);
  QCOMPARE(&matrix.partOfTile(3), &matrix.parts()[1]);
}

void TestPackedMatrix::columnsPastTheEndArePackedAsZero() {
  const Weights weights = fixture::randomWeights(DType::Q8_0, 1, 32, 1);
  const std::vector<std::byte> packed = pack(weights, 1);
  QCOMPARE(packed.size(), std::size_t{1024 + 64});
  for (std::size_t i = 0; i < 1024; ++i) {
    if (i % 128 >= 4) QCOMPARE(packed[i], std::byte{0});
  }
  for (std::size_t i = 1026; i < packed.size(); ++i) QCOMPARE(packed[i], std::byte{0});
}

void TestPackedMatrix::nibblesAreStoredWhereTheLayoutSays() {
  const Weights weights = fixture::randomWeights(DType::Q4_1, 32, 64, 2);
  const std::vector<std::byte> packed = pack(weights, 1);
  for (std::size_t c = 0; c < 32; ++c) {
    for (std::size_t g = 0; g < 2; ++g) {
      kernels::QuantGroup group;
      kernels::decodeGroup(DType::Q4_1, weights.bytes.data() + (c * 2 + g) * 20, 0, group);
      const std::byte* tile = packed.data() + g * 640;
      for (std::size_t i = 0; i < 32; ++i) {
        const std::size_t step = i / 4;
        const auto byte = std::to_integer<unsigned>(tile[step % 4 * 128 + c * 4 + i % 4]);
        QCOMPARE(step < 4 ? byte & 15u : byte >> 4, unsigned{group.codes[i]});
      }
      QVERIFY(std::memcmp(tile + 512 + 2 * c, &group.scaleBits, 2) == 0);
      QVERIFY(std::memcmp(tile + 576 + 2 * c, &group.minBits, 2) == 0);
    }
  }
}

// The other order: lanes of 16 bits, [16 columns][2 inputs], in which pairs have their bits.
void TestPackedMatrix::pairsKeepTheirCodesInLanes() {
  const Weights weights = fixture::randomWeights(DType::Q5_0, 32, 64, 2);
  const std::vector<std::byte> packed = pack(weights, 1, CodeOrder::ByPair);
  QCOMPARE(packed.size(), std::size_t{2 * (512 + 128 + 64)});
  const auto laneAt = [&](std::size_t line, std::size_t c, std::size_t i) {
    std::uint16_t lane;
    std::memcpy(&lane, packed.data() + line + c % 16 * 4 + i % 2 * 2, 2);
    return lane;
  };
  for (std::size_t c = 0; c < 32; ++c) {
    for (std::size_t g = 0; g < 2; ++g) {
      kernels::QuantGroup group;
      kernels::decodeGroup(DType::Q5_0, weights.bytes.data() + (c * 2 + g) * 22, 0, group);
      const std::size_t tile = g * 704, half = c / 16;
      for (std::size_t i = 0; i < 32; ++i) {
        const std::size_t pair = i / 2;
        const std::uint16_t lane = laneAt(tile + half * 256 + pair / 4 * 64, c, i);
        const std::uint16_t fifths = laneAt(tile + 512 + half * 64, c, i);
        const unsigned low = lane >> (pair % 4 * 4) & 15u, high = fifths >> pair & 1u;
        QCOMPARE(low | high << 4, unsigned{group.codes[i]});
      }
    }
  }
}

// Scales of that order are made for f16: the tile's largest weight is near 2^15, whatever it was,
// and a unit of the sums says by how much. Every column's is repeated for its pair at once.
void TestPackedMatrix::pairScalesFillTheRangeOfHalves() {
  for (const float size : {1e-6f, 0.02f, 900.0f}) {
    Weights weights = fixture::randomWeights(DType::Q4_1, 32, 32, 2);
    for (std::size_t c = 0; c < 32; ++c) {
      const std::uint16_t scale = kernels::f16OfFloat(size * (1.0f + static_cast<float>(c) / 32));
      const std::uint16_t min = kernels::f16OfFloat(-7.0f * size);
      std::memcpy(weights.bytes.data() + c * 20, &scale, 2);
      std::memcpy(weights.bytes.data() + c * 20 + 2, &min, 2);
    }
    PackedMatrix matrix({weights.view}, CodeOrder::ByPair);
    HugeArena arena;
    ThreadPool pool(1);
    QVERIFY(arena.reserve(matrix.packedBytes()));
    QVERIFY(matrix.pack(arena.allocate(matrix.packedBytes()), pool).isOk());
    const float factor = 0x1p48f / *matrix.sumUnits(0);
    float largest = 0.0f;
    for (std::size_t c = 0; c < 32; ++c) {
      std::uint16_t scale, min, fromScale, fromMin;
      const std::size_t slot = c % 16 / 4 * 8 + c / 16 * 4 + c % 4;
      std::memcpy(&scale, matrix.tile(0) + 512 + 2 * slot, 2);
      std::memcpy(&min, matrix.tile(0) + 576 + 2 * slot, 2);
      std::memcpy(&fromScale, weights.bytes.data() + c * 20, 2);
      std::memcpy(&fromMin, weights.bytes.data() + c * 20 + 2, 2);
      const float step = kernels::floatOfF16(fromScale) * 16 * factor;
      QCOMPARE(kernels::floatOfF16(scale), step);
      const float start = kernels::floatOfF16(fromMin) * factor - step;
      QCOMPARE(min, kernels::f16OfFloat(start));
      largest = std::max({largest, step, std::fabs(start)});
    }
    QVERIFY2(largest > 0x1p13f && largest < 0x1p15f, qPrintable(QString::number(largest)));
  }
}

// A scale that is no number makes its tile's sums none.
void TestPackedMatrix::aBadScaleShowsInTheUnit() {
  Weights weights = fixture::randomWeights(DType::Q4_0, 40, 32, 2);
  const std::uint16_t infinity = 0x7C00;
  std::memcpy(weights.bytes.data() + 35 * 18, &infinity, 2);
  PackedMatrix matrix({weights.view}, CodeOrder::ByPair);
  HugeArena arena;
  ThreadPool pool(1);
  QVERIFY(arena.reserve(matrix.packedBytes()));
  QVERIFY(matrix.pack(arena.allocate(matrix.packedBytes()), pool).isOk());
  QVERIFY(std::isfinite(matrix.sumUnits(0)[0]));
  QVERIFY(std::isnan(matrix.sumUnits(0)[1]));
}

void TestPackedMatrix::theThreadCountDoesNotChangeAByte() {
  for (int type = 0; type < kernels::kNumDTypes; ++type) {
    const Weights weights = fixture::randomWeights(static_cast<DType>(type), 333, 256, 3);
    for (CodeOrder order : {CodeOrder::ByStep, CodeOrder::ByPair}) {
      QVERIFY(pack(weights, 1, order) == pack(weights, 4, order));
    }
  }
}

void TestPackedMatrix::aRaisedFlagCancels() {
  const Weights weights = fixture::randomWeights(DType::Q4_0, 64, 64, 4);
  PackedMatrix matrix({weights.view}, CodeOrder::ByStep);
  HugeArena arena;
  ThreadPool pool(2);
  QVERIFY(arena.reserve(matrix.packedBytes()));
  const std::atomic<bool> cancel = true;
  QCOMPARE(matrix.pack(arena.allocate(matrix.packedBytes()), pool, {&cancel, {}, {}}).outcome,
           Outcome::Cancelled);
}

// Each byte after it was packed; of a large matrix most before the whole is done.
void TestPackedMatrix::whatWasPackedIsLetGo() {
  const Weights small = fixture::randomWeights(DType::Q8_0, 45, 512, 5);
  const Weights large = fixture::randomWeights(DType::Q8_0, 20'000, 512, 6);
  const std::vector<std::byte> expected = pack(large, 1);
  const std::size_t stride = kernels::rowBytes(DType::Q8_0, 512);
  PackedMatrix matrix({small.view, large.view}, CodeOrder::ByStep);
  const PackedMatrix::Part& part = matrix.parts()[1];
  HugeArena arena;
  ThreadPool pool(2);
  QVERIFY(arena.reserve(matrix.packedBytes()));
  std::mutex mutex;
  std::vector<std::span<const std::byte>> calls;
  bool isPacked = true;
  LoadWatch watch;
  watch.release = [&](std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex);
    calls.push_back(bytes);
    if (bytes.data() == small.view.data) return;
    const auto row = static_cast<std::size_t>(bytes.data() - large.view.data) / stride;
    const std::size_t offset = row / kTileColumns * part.tileBytes;
    const std::size_t length = bytes.size() / stride / kTileColumns * part.tileBytes;
    const std::byte* packed = matrix.tile(part.firstTile) + offset;
    isPacked = isPacked && offset + length <= expected.size() &&
               std::memcmp(packed, expected.data() + offset, length) == 0;
  };
  QVERIFY(matrix.pack(arena.allocate(matrix.packedBytes()), pool, watch).isOk());
  QVERIFY(isPacked);
  QVERIFY(calls.size() > 10);
  const auto isWhole = [](std::span<const std::byte> call, const Weights& weights) {
    return call.data() == weights.view.data && call.size() == weights.view.bytes();
  };
  QVERIFY(isWhole(calls[calls.size() - 2], small));
  QVERIFY(isWhole(calls.back(), large));
  calls.resize(calls.size() - 2);
  std::size_t early = 0, largest = 0;
  for (const std::span<const std::byte> call : calls) {
    early += call.size();
    largest = std::max(largest, call.size());
  }
  QVERIFY2(largest < large.view.bytes() / 10, qPrintable(QString::number(largest)));
  QVERIFY2(early > large.view.bytes() / 2, qPrintable(QString::number(early)));
}

void TestPackedMatrix::unfitShapesAreRefusedWithTheirSize_data() {
  QTest::addColumn<qint64>("rows");
  QTest::addColumn<qint64>("cols");
  QTest::addColumn<QString>("named");
  QTest::newRow("empty") << qint64{8} << qint64{0} << "0";
  QTest::newRow("no rows") << qint64{0} << qint64{32} << "0";
  QTest::newRow("too many rows") << qint64{3000000000} << qint64{32} << "3000000000";
}

void TestPackedMatrix::unfitShapesAreRefusedWithTheirSize() {
  QFETCH(qint64, rows);
  QFETCH(qint64, cols);
  QFETCH(QString, named);
  const std::vector<kernels::WeightView> views = {{DType::F32, rows, cols, nullptr}};
  const kernels::Status status = PackedMatrix::check(views);
  QCOMPARE(status.outcome, Outcome::Unsupported);
  QVERIFY2(status.message.find(named.toStdString()) != std::string::npos, status.message.c_str());
  const std::vector<kernels::WeightView> uneven = {{DType::F32, 4, 64, nullptr},
                                                   {DType::F32, 4, 96, nullptr}};
  QCOMPARE(PackedMatrix::check(uneven).outcome, Outcome::Unsupported);
  const std::vector<kernels::WeightView> cutBlock = {{DType::Q8_0, 4, 48, nullptr}};
  QCOMPARE(PackedMatrix::check(cutBlock).outcome, Outcome::Unsupported);
  const std::vector<kernels::WeightView> cutGroup = {{DType::BF16, 4, 48, nullptr}};
  QVERIFY(PackedMatrix::check(cutGroup).isOk());
  const std::vector<kernels::WeightView> good = {{DType::F32, 4, 64, nullptr}};
  QVERIFY(PackedMatrix::check(good).isOk());
}

void TestPackedMatrix::onlyPlainFloatsNeedFloatActivations() {
  for (int type = 0; type < kernels::kNumDTypes; ++type) {
    const kernels::WeightView view{static_cast<DType>(type), 32, 256, nullptr};
    const bool isPlain = !kernels::isQuantized(view.type);
    QCOMPARE(PackedMatrix({view}, CodeOrder::ByStep).needsFloats(), isPlain);
    QCOMPARE(PackedMatrix({view}, CodeOrder::ByPair).needsFloats(),
             isPlain && view.type != DType::BF16);
  }
}

QTEST_GUILESS_MAIN(TestPackedMatrix)
#include "tst_packed_matrix.moc"
