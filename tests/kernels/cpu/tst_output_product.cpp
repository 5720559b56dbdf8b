// labels: kernel
// Rows of logits: coarse ones everywhere, the likely tokens' as precise as two products make them.
#include <QtTest>

#include <map>
#include <mutex>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/output_product.h"
#include "kernels/cpu/tile_layout.h"
#include "tests/kernels/cpu/matmul_fixture.h"

using namespace kernels::cpu;
using kernels::DType;

namespace {

constexpr int kVocab = 1000, kInputs = 96, kRows = 5;  // the last run and its last tile are cut

std::size_t at(int row, int column) {
  return static_cast<std::size_t>(row * kVocab + column);
}

float* rowOf(std::vector<float>& logits, int row) {
  return logits.data() + at(row, 0);
}

// An output matrix and rows for it as they and their remainders follow each other.
struct Bench {
  Matmul matmul;
  ThreadPool pool;
  fixture::Weights weights;
  fixture::PackedOnce packed;
  QuantizedRows inputs;
  std::vector<float> x = fixture::randomActivations(kRows, kInputs, 5);

  Bench(Isa isa, DType type, int numThreads)
      : matmul(isa), pool(numThreads), weights(fixture::randomWeights(type, kVocab, kInputs, 3)),
        packed({weights.view}, matmul.codeOrder()) {
    for (float& value : x) value *= 4;  // so that some tiles lie below the limit
    if (!inputs.reserve(2 * kRows, kInputs, KeepFloats::Yes, matmul.rowForm()).isOk()) qFatal("no memory");
    inputs.setShape(hasRemainders() ? 2 * kRows : kRows, kInputs);
    for (int row = 0; row < kRows; ++row) {
      std::vector<float> rest(x.begin() + row * kInputs, x.begin() + (row + 1) * kInputs);
      matmul.quantizeRow(rest.data(), inputs, row);
      if (!hasRemainders()) continue;
      kAvx2RowKernels.remainder(rest.data(), inputs.row(row), inputs.numGroups(), rest.data());
      matmul.quantizeRow(rest.data(), inputs, kRows + row);
    }
  }

  bool hasRemainders() const { return matmul.rowForm() == RowForm::Int8; }

  std::vector<float> logits(float softCap, const kernels::LogitsWatch& watch = {}) {
    std::vector<float> out(at(kRows, 0));
    OutputProduct product(matmul, kAvx2RowKernels, pool);
    product.run({&packed.matrix, &inputs, kRows, hasRemainders(), softCap, out.data(), &watch, nullptr});
    return out;
  }

  // Of input rows [first, first + kRows).
  std::vector<float> products(int first) {
    std::vector<float> out(at(kRows, 0));
    matmul.multiplyTiles(packed.matrix, inputs, {first, first + kRows, 0, packed.matrix.numTiles()}, out.data(), kVocab);
    return out;
  }
};

void cap(std::vector<float>& logits, float softCap) {
  if (softCap != 0.0f) kAvx2RowKernels.softCap(logits.data(), softCap, static_cast<int>(logits.size()));
}

// The definition, tile by tile. numRefined: tiles
std::vector<float> plainLogits(Bench& bench, float softCap, int& numRefined) {
  std::vector<float> coarse = bench.products(0), fine = coarse;
  const std::vector<float> rest = bench.products(kRows);
  for (std::size_t i = 0; i < fine.size(); ++i) fine[i] += rest[i];
  cap(coarse, softCap);
  cap(fine, softCap);
  std::vector<float> out = coarse;
  for (int row = 0; row < kRows; ++row) {
    float* mine = rowOf(coarse, row);
    const float limit = *std::max_element(mine, mine + kVocab) - OutputProduct::kRefinedNats;
    for (int column = 0; column < kVocab; column += kTileColumns) {
      const int end = std::min(column + kTileColumns, kVocab);
      if (*std::max_element(mine + column, mine + end) < limit) continue;
      ++numRefined;
      std::copy(rowOf(fine, row) + column, rowOf(fine, row) + end, rowOf(out, row) + column);
    }
  }
  return out;
}

}  // namespace

class TestOutputProduct : public QObject {
  Q_OBJECT

 private slots:

  void likelyTilesAreRefinedAndNoOthers_data() {
    QTest::addColumn<int>("isa");
    QTest::addColumn<int>("type");
    QTest::addColumn<float>("softCap");
    for (const Isa isa : isasOf(readCpuFeatures())) {
      for (const DType type : {DType::Q8_0, DType::Q5_0}) {
        for (const float softCap : {0.0f, 30.0f}) {
          const QByteArray name = QByteArray(isaName(isa)) + " " + kernels::dtypeInfo(type).name;
          QTest::addRow("%s cap %g", name.data(), static_cast<double>(softCap))
              << static_cast<int>(isa) << static_cast<int>(type) << softCap;
        }
      }
    }
  }

  void likelyTilesAreRefinedAndNoOthers() {
    QFETCH(int, isa);
    QFETCH(int, type);
    QFETCH(float, softCap);
    for (const int numThreads : {1, 3}) {
      Bench bench(static_cast<Isa>(isa), static_cast<DType>(type), numThreads);
      const std::vector<float> logits = bench.logits(softCap);
      std::vector<float> expected = bench.products(0);
      if (bench.hasRemainders()) {
        int numRefined = 0;
        expected = plainLogits(bench, softCap, numRefined);
        QVERIFY(numRefined >= kRows && numRefined < kRows * bench.packed.matrix.numTiles());
      } else {
        cap(expected, softCap);
      }
      QVERIFY(std::memcmp(logits.data(), expected.data(), logits.size() * 4) == 0);
    }
  }

  void whatIsToldLastIsWhatIsThere() {
    Bench bench(Isa::Avx2, DType::Q8_0, 3);
    std::mutex mutex;
    std::map<std::pair<int, int>, std::vector<float>> told;
    const std::vector<float> logits =
        bench.logits(30.0f, [&](int row, int run, const float* columns, int count) {
          const std::scoped_lock lock(mutex);
          told[{row, run}].assign(columns, columns + count);
        });
    QCOMPARE(told.size(), std::size_t{kRows * 4});
    for (const auto& [place, columns] : told) {
      QCOMPARE(columns.size(), std::size_t{place.second == 3 ? 232u : 256u});
      QVERIFY(std::memcmp(columns.data(), &logits[at(place.first, place.second * kernels::kLogitsRun)],
                          columns.size() * 4) == 0);
    }
  }

  // Plain weights are multiplied with the floats of a row: the rest of its rounding is not added.
  void plainWeightsHaveNothingLeftOver() {
    for (const DType type : {DType::F32, DType::BF16}) {
      Bench bench(Isa::Avx2, type, 2);
      QCOMPARE(bench.logits(0.0f), bench.products(0));
    }
  }

  void aBadRowIsNanAndHarmsNoOther() {
    Bench good(Isa::Avx2, DType::Q8_0, 2), bad(Isa::Avx2, DType::Q8_0, 2);
    std::vector<float> nan(kInputs, std::numeric_limits<float>::quiet_NaN());
    bad.matmul.quantizeRow(nan.data(), bad.inputs, 2);
    bad.matmul.quantizeRow(nan.data(), bad.inputs, kRows + 2);
    std::vector<float> expected = good.logits(0.0f), logits = bad.logits(0.0f);
    for (int row = 0; row < kRows; ++row) {
      if (row == 2) {
        QVERIFY(std::all_of(rowOf(logits, row), rowOf(logits, row) + kVocab, [](float y) { return std::isnan(y); }));
      } else {
        QVERIFY(std::memcmp(rowOf(logits, row), rowOf(expected, row), kVocab * 4) == 0);
      }
    }
  }
};

QTEST_GUILESS_MAIN(TestOutputProduct)
#include "tst_output_product.moc"
