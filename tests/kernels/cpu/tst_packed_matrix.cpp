// labels: kernel threads
#include "kernels/cpu/packed_matrix.h"

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
  void columnsKeepTheirCodesInLanes();
  void theThreadCountDoesNotChangeAByte();
  void aRaisedFlagCancels();
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
  for (CodeOrder order : {CodeOrder::ByStep, CodeOrder::ByColumn}) {
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

// The other order: a lane of 16 bits is a weight, in which neighbouring columns have their bits.
void TestPackedMatrix::columnsKeepTheirCodesInLanes() {
  const Weights weights = fixture::randomWeights(DType::Q5_0, 32, 64, 2);
  const std::vector<std::byte> packed = pack(weights, 1, CodeOrder::ByColumn);
  QCOMPARE(packed.size(), std::size_t{2 * (512 + 128 + 64)});
  for (std::size_t c = 0; c < 32; ++c) {
    for (std::size_t g = 0; g < 2; ++g) {
      kernels::QuantGroup group;
      kernels::decodeGroup(DType::Q5_0, weights.bytes.data() + (c * 2 + g) * 22, 0, group);
      const std::byte* tile = packed.data() + g * 704;
      std::uint32_t fifth;
      std::memcpy(&fifth, tile + 512 + 4 * c, 4);
      for (std::size_t i = 0; i < 32; ++i) {
        std::uint16_t lane;
        std::memcpy(&lane, tile + c / 4 * 64 + 2 * i, 2);
        const unsigned low = lane >> (c % 4 * 4) & 15u, high = fifth >> i & 1u;
        QCOMPARE(low | high << 4, unsigned{group.codes[i]});
      }
      QVERIFY(std::memcmp(tile + 640 + 2 * c, &group.scaleBits, 2) == 0);
    }
  }
}

void TestPackedMatrix::theThreadCountDoesNotChangeAByte() {
  for (int type = 0; type < kernels::kNumDTypes; ++type) {
    const Weights weights = fixture::randomWeights(static_cast<DType>(type), 333, 256, 3);
    for (CodeOrder order : {CodeOrder::ByStep, CodeOrder::ByColumn}) {
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
  QCOMPARE(matrix.pack(arena.allocate(matrix.packedBytes()), pool, &cancel).outcome,
           Outcome::Cancelled);
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
    QCOMPARE(PackedMatrix({view}, CodeOrder::ByColumn).needsFloats(),
             isPlain && view.type != DType::BF16);
  }
}

QTEST_GUILESS_MAIN(TestPackedMatrix)
#include "tst_packed_matrix.moc"
