// labels: kernel
#include "kernels/cpu/matmul.h"

#include <QtTest>

#include <algorithm>

#include "kernels/core/quant_group.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/tile_job.h"
#include "kernels/cpu/tile_layout.h"
#include "tests/kernels/cpu/matmul_fixture.h"

using namespace kernels::cpu;
using fixture::PackedOnce;
using fixture::Weights;
using kernels::DType;

namespace {

const char* nameOf(Isa isa) {
  return kernels::cpu::isaName(isa);
}

struct Packed {
  PackedOnce bySteps, byPairs;

  explicit Packed(const std::vector<kernels::WeightView>& sources)
      : bySteps(sources, CodeOrder::ByStep), byPairs(sources, CodeOrder::ByPair) {}

  const PackedMatrix& of(const Matmul& matmul) const {
    return matmul.codeOrder() == CodeOrder::ByStep ? bySteps.matrix : byPairs.matrix;
  }
};

void quantize(const Matmul& matmul, const std::vector<float>& x, int rows, QuantizedRows& out) {
  const int cols = static_cast<int>(x.size()) / rows;
  if (!out.reserve(rows, cols, KeepFloats::Yes, matmul.rowForm()).isOk()) qFatal("no memory");
  out.setShape(rows, cols);
  for (int r = 0; r < rows; ++r) {
    matmul.quantizeRow(x.data() + static_cast<std::ptrdiff_t>(r) * cols, out, r);
  }
}

std::vector<float> product(const Matmul& matmul,
                           const PackedMatrix& matrix,
                           const QuantizedRows& rows,
                           const MatmulRange& range) {
  const auto ld = static_cast<std::size_t>(matrix.numColumns());
  std::vector<float> out(static_cast<std::size_t>(range.rowEnd - range.rowBegin) * ld);
  matmul.multiplyTiles(matrix, rows, range, out.data(), static_cast<std::ptrdiff_t>(ld));
  return out;
}

std::vector<float> wholeProduct(const Matmul& matmul,
                                const PackedMatrix& matrix,
                                const QuantizedRows& rows) {
  return product(matmul, matrix, rows, {0, rows.numRows(), 0, matrix.numTiles()});
}

bool hasSameBits(const float* a, const float* b, std::size_t count) {
  return std::memcmp(a, b, count * sizeof(float)) == 0;
}

// What a row's activation is to the kernels: the int8 or bf16 value, or the float itself.
double activation(const QuantizedRows& rows, bool isFloat, int row, int k) {
  if (isFloat) return static_cast<double>(rows.floats(row)[k]);
  if (rows.form() == RowForm::Bf16) {
    return static_cast<double>(kernels::floatOfBf16(rows.rounded(row)[k])) * 0x1p-64;
  }
  const QuantizedGroup& group = rows.row(row)[k / 32];
  return static_cast<double>(group.scale) * static_cast<double>(group.values[k % 32]);
}

// The largest |result - float64 product| over sum |w * x|: 0 for an exact result.
double worstError(const Weights& weights,
                  const QuantizedRows& rows,
                  const std::vector<float>& out) {
  const bool isRounded = rows.form() == RowForm::Bf16,
             isBlocks = kernels::isQuantized(weights.view.type);
  const bool isFloat = !isBlocks && !(isRounded && weights.view.type == DType::BF16);
  double worst = 0.0;
  for (std::int64_t c = 0; c < weights.view.rows; ++c) {
    std::vector<double> w;
    if (isRounded && isBlocks) {
      w = fixture::roundedRow(weights, c);
    } else {
      const std::vector<float> plain = weights.row(c);
      w.assign(plain.begin(), plain.end());
    }
    for (int r = 0; r < rows.numRows(); ++r) {
      double sum = 0.0, magnitude = 0.0;
      for (int k = 0; k < rows.cols(); ++k) {
        const double term = w[static_cast<std::size_t>(k)] * activation(rows, isFloat, r, k);
        sum += term;
        magnitude += std::fabs(term);
      }
      const auto at = static_cast<std::size_t>(r) * static_cast<std::size_t>(weights.view.rows) +
                      static_cast<std::size_t>(c);
      const double error = std::fabs(static_cast<double>(out[at]) - sum);
      const double relative = magnitude > 0.0 ? error / magnitude : error;
      worst = std::isnan(relative) ? 1e30 : std::max(worst, relative);
    }
  }
  return worst;
}

// Sums of int8 are exact within a group; those of bf16 are rounded at every step.
double limitOf(const QuantizedRows& rows) {
  return rows.form() == RowForm::Int8 ? 5e-7 : 1e-6;
}

// A whole matrix of one part, for the kernels themselves.
TileJob jobOf(const PackedMatrix& matrix, const QuantizedRows& rows, float* out) {
  const PackedMatrix::Part& part = matrix.parts()[0];
  TileJob job;
  job.layout = part.layout;
  job.tiles = matrix.tile(0);
  job.tileBytes = part.tileBytes;
  job.numTiles = part.numTiles;
  job.numColumns = part.numColumns;
  job.numGroups = matrix.numGroups();
  job.numRows = rows.numRows();
  job.out = out;
  job.ldOut = part.numColumns;
  job.rowStride = rows.rowStride();
  job.sumUnits = matrix.sumUnits(0);
  if (rows.form() == RowForm::Int8) {
    job.groups = rows.row(0);
  } else {
    job.rounded = rows.rounded(0);
  }
  return job;
}

}  // namespace

class TestMatmul : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase();
  void productsMatchDoubleArithmetic_data();
  void productsMatchDoubleArithmetic();

  void everyInstructionSetGivesTheSameBits_data() { addTypes(); }

  void everyInstructionSetGivesTheSameBits();

  void emulatedTilesGiveTheSameBits_data() { addTypes(); }

  void emulatedTilesGiveTheSameBits();

  void bf16TilesDoAsTheyAreEmulated_data() { addTypes(); }

  void bf16TilesDoAsTheyAreEmulated();
  void plainRowsNeedNotFillTheirLastGroup();

  void aRowDoesNotDependOnItsCompanyOrTheTiling_data() { addTypes(); }

  void aRowDoesNotDependOnItsCompanyOrTheTiling();
  void longRowsAreCutIntoBlocksWithoutChangingBits();

  void aBadRowIsNanAndHarmsNoOther_data() { addTypes(); }

  void aBadRowIsNanAndHarmsNoOther();

  void extremeCodesDoNotOverflow_data() { addTypes(); }

  void extremeCodesDoNotOverflow();
  void joinedMatricesEqualTheirParts();
  void nothingOutsideTheRangeIsWritten();

 private:
  void addTypes();

  std::vector<Isa> m_isas;
};

void TestMatmul::initTestCase() {
  m_isas.assign(supportedIsas().begin(), supportedIsas().end());
  if (m_isas.empty()) QSKIP("this processor runs none of the vector kernels");
}

void TestMatmul::addTypes() {
  QTest::addColumn<int>("type");
  for (int t = 0; t < kernels::kNumDTypes; ++t) {
    QTest::newRow(kernels::dtypeInfo(static_cast<DType>(t)).name) << t;
  }
}

void TestMatmul::productsMatchDoubleArithmetic_data() {
  QTest::addColumn<int>("type");
  QTest::addColumn<int>("cols");
  for (int t = 0; t < kernels::kNumDTypes; ++t) {
    const kernels::DTypeInfo& info = kernels::dtypeInfo(static_cast<DType>(t));
    for (int cols : {32, 256, 576, 640, 896, 1536}) {
      if (cols % info.elementsPerBlock != 0) continue;
      QTest::addRow("%s %d", info.name, cols) << t << cols;
    }
  }
}

void TestMatmul::productsMatchDoubleArithmetic() {
  QFETCH(int, type);
  QFETCH(int, cols);
  const Weights weights = fixture::randomWeights(static_cast<DType>(type), 77, cols, 11);
  const Packed packed({weights.view});
  for (Isa isa : m_isas) {
    const Matmul matmul(isa);
    for (int numRows : {1, 2, 3, 4, 5, 6, 7, 8, 16, 31, 32, 33, 64, 70}) {
      QuantizedRows rows;
      quantize(matmul, fixture::randomActivations(numRows, cols, 5), numRows, rows);
      const double error = worstError(weights, rows, wholeProduct(matmul, packed.of(matmul), rows));
      QVERIFY2(error < limitOf(rows),
               qPrintable(QString("%1, %2 rows: %3").arg(nameOf(isa)).arg(numRows).arg(error)));
    }
  }
}

void TestMatmul::everyInstructionSetGivesTheSameBits() {
  QFETCH(int, type);
  if (m_isas.size() < 2) QSKIP("only one instruction set here");
  const Weights weights = fixture::randomWeights(static_cast<DType>(type), 77, 768, 12);
  const Packed packed({weights.view});
  for (int numRows : {1, 3, 6, 40, 65, 150}) {
    const std::vector<float> x = fixture::randomActivations(numRows, 768, 6);
    std::vector<float> first;
    for (Isa isa : m_isas) {
      const Matmul matmul(isa);
      if (matmul.rowForm() != RowForm::Int8) continue;  // a recipe of its own
      QuantizedRows rows;
      quantize(matmul, x, numRows, rows);
      const std::vector<float> out = wholeProduct(matmul, packed.of(matmul), rows);
      if (first.empty()) first = out;
      QVERIFY2(hasSameBits(out.data(), first.data(), out.size()), nameOf(isa));
    }
  }
}

// The AMX kernels on emulated tiles: 66 columns are two tiles and a cut one; 19 groups are pieces
// of 10 and 9, an even and an odd number of units.
void TestMatmul::emulatedTilesGiveTheSameBits() {
  QFETCH(int, type);
  const bool hasAvx512 = std::count(m_isas.begin(), m_isas.end(), Isa::Avx512Vnni) > 0;
  if (!hasAvx512) QSKIP("the AMX kernels need AVX-512 even where the tiles are emulated");
  if (!kernels::isQuantized(static_cast<DType>(type))) return;
  const Matmul matmul(Isa::Avx512Vnni);
  for (int cols : {32, 96, 256, 608, 1024}) {
    if (cols % kernels::dtypeInfo(static_cast<DType>(type)).elementsPerBlock != 0) continue;
    const Weights weights = fixture::randomWeights(static_cast<DType>(type), 66, cols, 21);
    const Packed packed({weights.view});
    for (int numRows : {1, 4, 5, 16, 17, 25, 33}) {
      QuantizedRows rows;
      quantize(matmul, fixture::randomActivations(numRows, cols, 12), numRows, rows);
      const std::vector<float> expected = wholeProduct(matmul, packed.of(matmul), rows);
      std::vector<float> out(expected.size(), 1e30f);
      const TileJob job = jobOf(packed.of(matmul), rows, out.data());
      kernels::cpu::multiplyQuantizedEmulatedAmx(job);
      QVERIFY2(hasSameBits(out.data(), expected.data(), out.size()),
               qPrintable(QString("%1 columns, %2 rows").arg(cols).arg(numRows)));
    }
  }
}

// The bf16 recipe on emulated tiles, against float64 and, where there are tiles, against them.
void TestMatmul::bf16TilesDoAsTheyAreEmulated() {
  QFETCH(int, type);
  const bool hasAvx512 = std::count(m_isas.begin(), m_isas.end(), Isa::Avx512Vnni) > 0;
  const bool hasTiles = std::count(m_isas.begin(), m_isas.end(), Isa::AmxBf16) > 0;
  if (!hasAvx512 || !kernels::cpu::hasPairDots()) {
    QSKIP("the AMX kernels need AVX-512 with bf16 even where the tiles are emulated");
  }
  const auto dtype = static_cast<DType>(type);
  if (!kernels::isQuantized(dtype) && dtype != DType::BF16) return;
  for (int cols : {32, 256, 608}) {
    if (cols % kernels::dtypeInfo(dtype).elementsPerBlock != 0) continue;
    const Weights weights = fixture::randomWeights(dtype, 66, cols, 21);
    const PackedOnce packed({weights.view}, CodeOrder::ByPair);
    for (int numRows : {1, 5, 16, 17, 49}) {
      const std::vector<float> x = fixture::randomActivations(numRows, cols, 12);
      QuantizedRows rows;
      QVERIFY(rows.reserve(numRows, cols, KeepFloats::No, RowForm::Bf16).isOk());
      rows.setShape(numRows, cols);
      for (int r = 0; r < numRows; ++r) {
        kernels::cpu::roundRowAvx512Bf16(x.data() + r * cols, cols / 32, rows.rounded(r));
      }
      std::vector<float> emulated(static_cast<std::size_t>(numRows) * 66, 1e30f), real = emulated;
      kernels::cpu::multiplyRoundedEmulatedAmxBf16(jobOf(packed.matrix, rows, emulated.data()));
      const double error = worstError(weights, rows, emulated);
      QVERIFY2(error < limitOf(rows), qPrintable(QString("%1 rows: %2").arg(numRows).arg(error)));
      if (!hasTiles) continue;
      kernels::cpu::multiplyRoundedAmxBf16(jobOf(packed.matrix, rows, real.data()));
      QVERIFY2(hasSameBits(real.data(), emulated.data(), real.size()),
               qPrintable(QString("%1 inputs, %2 rows").arg(cols).arg(numRows)));
    }
  }
}

void TestMatmul::plainRowsNeedNotFillTheirLastGroup() {
  for (DType type : {DType::F32, DType::F16, DType::BF16}) {
    for (int cols : {1, 31, 33, 100, 577}) {
      const Weights weights = fixture::randomWeights(type, 40, cols, 22);
      const Packed packed({weights.view});
      for (Isa isa : m_isas) {
        const Matmul matmul(isa);
        for (int numRows : {1, 9}) {
          QuantizedRows rows;
          quantize(matmul, fixture::randomActivations(numRows, cols, 13), numRows, rows);
          const double error =
              worstError(weights, rows, wholeProduct(matmul, packed.of(matmul), rows));
          QVERIFY2(error < limitOf(rows),
                   qPrintable(QString("%1, %2 columns").arg(nameOf(isa)).arg(cols)));
        }
      }
    }
  }
}

void TestMatmul::aRowDoesNotDependOnItsCompanyOrTheTiling() {
  QFETCH(int, type);
  constexpr int kCols = 1536, kRows = 90;
  const Weights weights = fixture::randomWeights(static_cast<DType>(type), 109, kCols, 13);
  const Packed packed({weights.view});
  const auto ld = static_cast<std::size_t>(packed.bySteps.matrix.numColumns());
  for (Isa isa : m_isas) {
    const Matmul matmul(isa);
    QuantizedRows rows;
    quantize(matmul, fixture::randomActivations(kRows, kCols, 7), kRows, rows);
    const std::vector<float> whole = wholeProduct(matmul, packed.of(matmul), rows);
    for (int numRows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 31, 33, 63, 64, 65, 81, 88}) {
      const MatmulRange range{1, 1 + numRows, 0, packed.of(matmul).numTiles()};
      const std::vector<float> part = product(matmul, packed.of(matmul), rows, range);
      QVERIFY2(hasSameBits(part.data(), whole.data() + ld, part.size()), nameOf(isa));
    }
    std::vector<float> byTile(whole.size());
    for (int tile = packed.of(matmul).numTiles() - 1; tile >= 0; --tile) {
      const MatmulRange range{0, kRows, tile, tile + 1};
      matmul.multiplyTiles(packed.of(matmul), rows, range,
                           byTile.data() + packed.of(matmul).firstColumnOfTile(tile),
                           static_cast<std::ptrdiff_t>(ld));
    }
    QVERIFY2(hasSameBits(byTile.data(), whole.data(), whole.size()), nameOf(isa));
  }
}

void TestMatmul::longRowsAreCutIntoBlocksWithoutChangingBits() {
  constexpr int kCols = 8192, kRows = 70;  // more activations than a row block holds
  const Weights weights = fixture::randomWeights(DType::Q4_1, 32, kCols, 14);
  const Packed packed({weights.view});
  for (Isa isa : m_isas) {
    const Matmul matmul(isa);
    QuantizedRows rows;
    quantize(matmul, fixture::randomActivations(kRows, kCols, 8), kRows, rows);
    const std::vector<float> whole = wholeProduct(matmul, packed.of(matmul), rows);
    QVERIFY(worstError(weights, rows, whole) < limitOf(rows));
    for (int r = 0; r < kRows; ++r) {
      const std::vector<float> one = product(matmul, packed.of(matmul), rows, {r, r + 1, 0, 1});
      QVERIFY(hasSameBits(one.data(), whole.data() + static_cast<std::ptrdiff_t>(r) * 32, 32));
    }
  }
}

void TestMatmul::aBadRowIsNanAndHarmsNoOther() {
  QFETCH(int, type);
  constexpr int kCols = 256, kRows = 12, kBad = 4;
  const Weights weights = fixture::randomWeights(static_cast<DType>(type), 40, kCols, 15);
  const Packed packed({weights.view});
  const float inf = std::numeric_limits<float>::infinity();
  for (float poison : {std::numeric_limits<float>::quiet_NaN(), inf, -inf}) {
    for (Isa isa : m_isas) {
      const Matmul matmul(isa);
      std::vector<float> x = fixture::randomActivations(kRows, kCols, 9);
      QuantizedRows good, bad;
      quantize(matmul, x, kRows, good);
      x[kBad * kCols + 37] = poison;
      quantize(matmul, x, kRows, bad);
      const std::vector<float> expected = wholeProduct(matmul, packed.of(matmul), good);
      const std::vector<float> out = wholeProduct(matmul, packed.of(matmul), bad);
      for (std::size_t i = 0; i < out.size(); ++i) {
        if (i / 40 == kBad) {
          QVERIFY(!std::isfinite(out[i]));
        } else {
          QVERIFY(hasSameBits(&out[i], &expected[i], 1));
        }
      }
    }
  }
}

// All bytes of the blocks at one value and all activations at +-127: the largest sums there are.
void TestMatmul::extremeCodesDoNotOverflow() {
  QFETCH(int, type);
  constexpr int kCols = 256, kRows = 9;
  for (unsigned fill : {0x00u, 0x7Fu, 0x80u, 0xFFu}) {
    Weights weights = fixture::randomWeights(static_cast<DType>(type), 33, kCols, 16);
    if (!kernels::isQuantized(weights.view.type)) return;
    const Weights scales = weights;
    std::memset(weights.bytes.data(), static_cast<int>(fill), weights.bytes.size());
    const auto blockBytes =
        static_cast<std::size_t>(kernels::dtypeInfo(weights.view.type).bytesPerBlock);
    for (std::size_t at = 0; at < weights.bytes.size(); at += blockBytes) {
      for (std::size_t offset : fixture::scaleOffsets(weights.view.type)) {
        std::memcpy(weights.bytes.data() + at + offset, scales.bytes.data() + at + offset, 2);
      }
    }
    weights.view.data = weights.bytes.data();
    const Packed packed({weights.view});
    std::vector<float> x(kRows * kCols);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t row = i / kCols;
      x[i] = (row % 3 == 0 || (row % 3 == 1 && i % 2 == 0)) ? 1.0f : -1.0f;
    }
    for (Isa isa : m_isas) {
      const Matmul matmul(isa);
      QuantizedRows rows;
      quantize(matmul, x, kRows, rows);
      const double error = worstError(weights, rows, wholeProduct(matmul, packed.of(matmul), rows));
      QVERIFY2(error < limitOf(rows), qPrintable(QString("%1: %2").arg(nameOf(isa)).arg(error)));
    }
  }
}

void TestMatmul::joinedMatricesEqualTheirParts() {
  constexpr int kCols = 512, kRows = 7;
  const Weights q = fixture::randomWeights(DType::Q4_K, 70, kCols, 17);
  const Weights k = fixture::randomWeights(DType::Q8_0, 33, kCols, 18);
  const Weights v = fixture::randomWeights(DType::F16, 5, kCols, 19);
  const Packed joined({q.view, k.view, v.view});
  QCOMPARE(joined.bySteps.matrix.numColumns(), 108);
  QCOMPARE(joined.bySteps.matrix.numTiles(), 3 + 2 + 1);
  QVERIFY(joined.bySteps.matrix.needsFloats());
  const std::vector<const Weights*> parts = {&q, &k, &v};
  for (Isa isa : m_isas) {
    const Matmul matmul(isa);
    QuantizedRows rows;
    quantize(matmul, fixture::randomActivations(kRows, kCols, 10), kRows, rows);
    const std::vector<float> out = wholeProduct(matmul, joined.of(matmul), rows);
    std::size_t column = 0;
    for (const Weights* part : parts) {
      const Packed alone({part->view});
      const std::vector<float> expected = wholeProduct(matmul, alone.of(matmul), rows);
      const auto width = static_cast<std::size_t>(part->view.rows);
      for (std::size_t r = 0; r < kRows; ++r) {
        QVERIFY(hasSameBits(&out[r * 108 + column], &expected[r * width], width));
      }
      column += width;
    }
  }
}

void TestMatmul::nothingOutsideTheRangeIsWritten() {
  constexpr int kCols = 64, kRows = 20, kColumns = 77;
  const Weights weights = fixture::randomWeights(DType::Q4_0, kColumns, kCols, 20);
  const Packed packed({weights.view});
  constexpr std::size_t kLd = 100;
  for (Isa isa : m_isas) {
    const Matmul matmul(isa);
    QuantizedRows rows;
    quantize(matmul, fixture::randomActivations(kRows, kCols, 11), kRows, rows);
    for (int numRows : {1, 4, 17}) {
      std::vector<float> out(kLd * 24, 12345.0f);
      const MatmulRange range{2, 2 + numRows, 1, 3};  // columns 32 .. 76
      matmul.multiplyTiles(packed.of(matmul), rows, range, out.data() + 2 * kLd + 32, kLd);
      for (std::size_t i = 0; i < out.size(); ++i) {
        const int row = static_cast<int>(i / kLd), column = static_cast<int>(i % kLd);
        const bool isInside = row >= 2 && row < 2 + numRows && column >= 32 && column < kColumns;
        QVERIFY2((out[i] != 12345.0f) == isInside,
                 qPrintable(QString("%1 %2").arg(row).arg(column)));
      }
    }
  }
}

QTEST_GUILESS_MAIN(TestMatmul)
#include "tst_matmul.moc"
