#include "kernels/cpu/attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <random>
#include <vector>

#include <QtTest>

#include "kernels/core/float_bits.h"
#include "kernels/core/kv_codec.h"
#include "kernels/core/ops.h"
#include "kernels/core/request_check.h"
#include "kernels/cpu/attention_plan.h"
#include "kernels/cpu/isa.h"
#include "tests/support/sanitized.h"

using namespace kernels;
using namespace kernels::cpu;

namespace {

constexpr int kMaxTokens = 700;
constexpr int kLengths[] = {1, 15, 16, 17, 63, 64, 65, 511, 512, 513, 700};

struct Shape {
  KvType type = KvType::BF16;
  int headDim = 64, group = 3, blockSize = 16, numKvHeads = 2;
};

struct Run {
  int firstPosition = 0, numQueries = 1, window = 0, numThreads = 1;
  float softCap = 0.0f;
};

float roundTo(KvType type, float x) {
  if (type == KvType::F16) return floatOfF16(f16OfFloat(x));
  if (type == KvType::BF16) return floatOfBf16(bf16OfFloat(x));
  return x;
}

std::vector<std::byte> encoded(KvType type, const float* x, int headDim) {
  std::vector<std::byte> bytes(kvVectorBytes(type, headDim));
  encodeKv(type, x, headDim, bytes.data());
  return bytes;
}

// The tables of kernels, and the instructions that each needs.
struct Table {
  const char* name;
  Isa isa;
  const AttentionKernels* kernels;
  bool isForBf16 = false;  // leaves other types to kAvx512VnniAttention
  bool needsPairDots = false;
};

const Table kTables[] = {
    {"avx2", Isa::Avx2, &kAvx2Attention},
    {"avx512vnni", Isa::Avx512Vnni, &kAvx512VnniAttention},
    {"avx512 with bf16", Isa::Avx512Vnni, &kAvx512Bf16Attention, true, true},
    {"amx", Isa::Amx, &kAmxAttention, true},
    {"emulated amx", Isa::Avx512Vnni, &kEmulatedAmxAttention, true, true},
};

bool canRun(const Table& table) {
  if (table.needsPairDots && !hasPairDots()) return false;
  const auto isas = supportedIsas();
  return std::find(isas.begin(), isas.end(), table.isa) != isas.end();
}

// A pool full of NaN in which one sequence's keys and values are written token by token, into
// blocks that lie in no order.
class Cache {
 public:
  explicit Cache(const Shape& shape, unsigned seed = 1, int blockStep = 7) : m_shape(shape) {
    KvLayout layout;
    layout.type = shape.type;
    layout.numLayers = 2;
    layout.numKvHeads = shape.numKvHeads;
    layout.headDim = shape.headDim;
    layout.blockSize = shape.blockSize;
    layout.numBlocks = kMaxTokens / shape.blockSize + 2;
    while (layout.numBlocks % blockStep == 0) ++layout.numBlocks;
    if (!m_pool.reserve(layout).isOk()) qFatal("no memory");
    std::memset(m_pool.blockBytes(0), 0xFF,
                static_cast<std::size_t>(layout.numBlocks) * layout.bytesPerBlock());
    for (std::int64_t i = 0; i * shape.blockSize < kMaxTokens; ++i) {
      m_table.push_back(static_cast<std::int32_t>((3 + i * blockStep) % layout.numBlocks));
    }
    const std::size_t width = static_cast<std::size_t>(shape.numKvHeads * shape.headDim);
    fill(m_keys, kMaxTokens * width, seed, shape.type);
    fill(m_values, kMaxTokens * width, seed + 1, shape.type);
    fill(m_queries, kMaxTokens * width * static_cast<std::size_t>(shape.group), seed + 2, KvType::F32);
    if (isQuantizedKv(shape.type)) encodeAll();
  }

  // valueScale: of the values, so that they may be very small.
  void writeUpTo(int numTokens, float valueScale = 1.0f) {
    if (valueScale != 1.0f) {
      for (float& value : m_values) value = roundTo(m_shape.type, value * valueScale);
    }
    for (; m_numWritten < numTokens; ++m_numWritten) write(m_numWritten, false);
  }

  void poison(int position) { write(position, true); }

  // [numQueries, heads, headDim]
  std::vector<float> attend(const AttentionKernels& kernels, const Run& run) {
    const int numHeads = m_shape.numKvHeads * m_shape.group;
    const std::size_t width = static_cast<std::size_t>(numHeads * m_shape.headDim);
    std::vector<std::int32_t> positions, sequences;
    for (int i = 0; i < run.numQueries; ++i) {
      positions.push_back(run.firstPosition + i);
      sequences.push_back(0);
    }
    const std::int32_t queryStart[] = {0, run.numQueries};
    const std::int32_t seqLen[] = {run.firstPosition + run.numQueries};
    RaggedBatch batch;
    batch.numTokens = run.numQueries;
    batch.numSeqs = 1;
    batch.positions = positions.data();
    batch.sequences = sequences.data();
    batch.queryStart = queryStart;
    batch.seqLen = seqLen;
    batch.blockTable = m_table.data();
    batch.maxBlocks = static_cast<int>(m_table.size());
    AttentionShape shape;
    shape.numHeads = numHeads;
    shape.numKvHeads = m_shape.numKvHeads;
    shape.headDim = m_shape.headDim;
    shape.window = run.window;
    shape.scale = scale();
    shape.softCap = run.softCap;
    shape.numThreads = run.numThreads;
    std::vector<float> out(static_cast<std::size_t>(run.numQueries) * width, NAN);
    AttentionPlan plan;
    plan.build(batch, shape, m_pool, 1,
               m_queries.data() + static_cast<std::size_t>(run.firstPosition) * width, out.data());
    HugeArena arena;
    if (!arena.reserve(attentionScratchBytes(m_shape.headDim))) qFatal("no memory");
    std::byte* scratch = arena.allocate(attentionScratchBytes(m_shape.headDim));
    std::memset(scratch, 0xFF, attentionScratchBytes(m_shape.headDim));
    for (const AttentionItem& item : plan.items()) kernels.attend(item, scratch);
    for (const AttentionMerge& merge : plan.merges()) kernels.merge(merge, scratch);
    m_numMerges = plan.merges().size();
    return out;
  }

  std::size_t numMerges() const { return m_numMerges; }

  // Largest error of `out` against the same attention in double.
  double errorOf(const std::vector<float>& out, const Run& run) const {
    double worst = 0;
    const int heads = m_shape.numKvHeads * m_shape.group, dim = m_shape.headDim;
    for (int i = 0; i < run.numQueries; ++i) {
      for (int head = 0; head < heads; ++head) {
        const std::vector<double> expected = attendPlain(run, run.firstPosition + i, head);
        for (int d = 0; d < dim; ++d) {
          const double got = static_cast<double>(out[static_cast<std::size_t>((i * heads + head) * dim + d)]);
          const double error = std::fabs(got - expected[static_cast<std::size_t>(d)]);
          if (!(error <= worst)) worst = error;  // NaN sticks
          if (std::isnan(error)) return error;
        }
      }
    }
    return worst;
  }

 private:
  float scale() const { return 1.0f / std::sqrt(static_cast<float>(m_shape.headDim)); }

  static void fill(std::vector<float>& values, std::size_t size, unsigned seed, KvType type) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < size; ++i) values.push_back(roundTo(type, normal(random)));
  }

  void write(int position, bool isPoison) {
    const std::size_t dim = static_cast<std::size_t>(m_shape.headDim);
    for (int head = 0; head < m_shape.numKvHeads; ++head) {
      const std::size_t at =
          static_cast<std::size_t>(position * m_shape.numKvHeads + head) * dim;
      const std::size_t vector = at / dim;
      const bool isCoded = isQuantizedKv(m_shape.type) && !isPoison;
      const std::vector<std::byte> key = isCoded ? m_codedKeys[vector] : elements(&m_keys[at], isPoison);
      const std::vector<std::byte> value = isCoded ? m_codedValues[vector] : elements(&m_values[at], isPoison);
      const std::int32_t block = m_table[static_cast<std::size_t>(position / m_shape.blockSize)];
      m_pool.storeKey(1, head, block, position % m_shape.blockSize, key.data());
      m_pool.storeValue(1, head, block, position % m_shape.blockSize, value.data());
    }
  }

  // What the plain attention multiplies is what the codes say.
  void encodeAll() {
    const auto dim = static_cast<std::size_t>(m_shape.headDim);
    const auto encodeSide = [&](std::vector<float>& values, std::vector<std::vector<std::byte>>& coded) {
      for (std::size_t at = 0; at < values.size(); at += dim) {
        coded.push_back(encoded(m_shape.type, &values[at], m_shape.headDim));
        decodeKv(m_shape.type, coded.back().data(), m_shape.headDim, &values[at]);
      }
    };
    encodeSide(m_keys, m_codedKeys);
    encodeSide(m_values, m_codedValues);
  }

  std::vector<std::byte> elements(const float* values, bool isPoison) const {
    std::vector<std::byte> bytes;
    if (isQuantizedKv(m_shape.type)) {
      const std::vector<float> poison(static_cast<std::size_t>(m_shape.headDim), NAN);
      return encoded(m_shape.type, poison.data(), m_shape.headDim);
    }
    for (int d = 0; d < m_shape.headDim; ++d) {
      const float x = isPoison ? NAN : values[d];
      std::uint32_t bits = 0;
      if (m_shape.type == KvType::F32) std::memcpy(&bits, &x, 4);
      if (m_shape.type == KvType::F16) bits = f16OfFloat(x);
      if (m_shape.type == KvType::BF16) bits = bf16OfFloat(x);
      for (std::size_t i = 0; i < kvCodeBytes(m_shape.type, 1); ++i) {
        bytes.push_back(static_cast<std::byte>(bits >> (8 * i)));
      }
    }
    return bytes;
  }

  std::vector<double> attendPlain(const Run& run, int position, int head) const {
    const std::size_t dim = static_cast<std::size_t>(m_shape.headDim);
    const std::size_t heads = static_cast<std::size_t>(m_shape.numKvHeads * m_shape.group);
    const float* query = &m_queries[(static_cast<std::size_t>(position) * heads +
                                     static_cast<std::size_t>(head)) * dim];
    std::vector<double> sums(dim, 0.0);
    double total = 0;
    const int first = run.window > 0 ? std::max(0, position - run.window + 1) : 0;
    for (int p = first; p <= position; ++p) {
      const std::size_t at =
          static_cast<std::size_t>(p * m_shape.numKvHeads + head / m_shape.group) * dim;
      double score = 0;
      for (std::size_t d = 0; d < dim; ++d) {
        score += static_cast<double>(query[d]) * static_cast<double>(m_keys[at + d]);
      }
      score *= static_cast<double>(scale());
      const double cap = static_cast<double>(run.softCap);
      if (cap != 0) score = cap * std::tanh(score / cap);
      total += std::exp(score);
      for (std::size_t d = 0; d < dim; ++d) {
        sums[d] += std::exp(score) * static_cast<double>(m_values[at + d]);
      }
    }
    for (double& sum : sums) sum /= total;
    return sums;
  }

  Shape m_shape;
  KvPool m_pool;
  std::vector<std::int32_t> m_table;
  std::vector<float> m_keys, m_values, m_queries;
  std::vector<std::vector<std::byte>> m_codedKeys, m_codedValues;  // of quantised types
  int m_numWritten = 0;
  std::size_t m_numMerges = 0;
};

}  // namespace

class AttentionTest : public QObject {
  Q_OBJECT

 private slots:
  void agreesWithDoubleOverPoisonedBlocks_data() { kernelAndTypeRows(); }

  void agreesWithDoubleOverPoisonedBlocks() {
    if (!canRun(chosenTable())) QSKIP("this processor cannot run these kernels");
    const AttentionKernels& kernels = *chosenTable().kernels;
    QFETCH(int, type);
    int turn = 0;
    for (const int headDim : test_support::thinned({40, 64, 80, 96, 128, 256})) {
      for (const int group : test_support::thinned({1, 3, 4, 7, 8})) {
        Shape shape{static_cast<KvType>(type), headDim, group, 1 << (turn++ % 7), 1};
        Cache cache(shape, static_cast<unsigned>(turn));
        for (const int length : kLengths) {
          cache.writeUpTo(length);
          for (const int numQueries : {1, length % 16 == 1 ? std::min(length, 5) : 1}) {
            const Run run{length - numQueries, numQueries, 0, 1 + turn % 2};
            const double error = cache.errorOf(cache.attend(kernels, run), run);
            QVERIFY2(error < tolerance(), qPrintable(describe(shape, run, error)));
          }
        }
      }
    }
  }

  void windowsAndSoftCapsAgreeWithDouble_data() { kernelAndTypeRows(); }

  void windowsAndSoftCapsAgreeWithDouble() {
    if (!canRun(chosenTable())) QSKIP("this processor cannot run these kernels");
    const AttentionKernels& kernels = *chosenTable().kernels;
    QFETCH(int, type);
    for (const int blockSize : {4, 16}) {
      for (const int window : test_support::thinned({1, 2, 15, 16, 17, 64, 65, 300, 1000})) {
        Shape shape{static_cast<KvType>(type), 64, 3, blockSize, 2};
        Cache cache(shape);
        cache.writeUpTo(513);
        for (int p = 0; p + window <= 505; ++p) cache.poison(p);  // out of every row's sight
        const Run run{505, 8, window, 2, window % 2 == 0 ? 1.5f : 0.0f};
        const double error = cache.errorOf(cache.attend(kernels, run), run);
        QVERIFY2(error < tolerance(), qPrintable(describe(shape, run, error)));
      }
    }
  }

  void bitsDoNotDependOnBlocksChunksOrThreads_data() { kernelAndTypeRows(); }

  void bitsDoNotDependOnBlocksChunksOrThreads() {
    if (!canRun(chosenTable())) QSKIP("this processor cannot run these kernels");
    const AttentionKernels& kernels = *chosenTable().kernels;
    QFETCH(int, type);
    for (const int window : {0, 100}) {
      for (const int group : test_support::thinned({1, 3, 7})) {
        const Run whole{0, 600, window, 1};
        Shape shape{static_cast<KvType>(type), chosenTable().isForBf16 ? 96 : 80, group, 16, 1};
        Cache first(shape);
        first.writeUpTo(600);
        const std::vector<float> expected = first.attend(kernels, whole);
        bool wasSplit = false;
        for (const int blockSize : test_support::thinned({1, 2, 8, 16, 32, 64})) {
          shape.blockSize = blockSize;
          for (const int step : {7, 11}) {
            Cache cache(shape, 1, step);
            const int chunks[] = {1, 64, 2, 97, 5, 1, 31};
            for (int begin = 0, turn = 0, count = 0; begin < 600; begin += count, ++turn) {
              count = std::min(chunks[turn % 7], 600 - begin);
              cache.writeUpTo(begin + count);
              const std::vector<float> part =
                  cache.attend(kernels, {begin, count, window, 1 + begin % 3});
              wasSplit = wasSplit || cache.numMerges() > 0;
              const std::size_t width = expected.size() / 600;
              QVERIFY2(std::memcmp(part.data(), &expected[static_cast<std::size_t>(begin) * width],
                                   part.size() * 4) == 0,
                       qPrintable(describe(shape, {begin, count, window}, 0)));
            }
          }
        }
        QVERIFY(wasSplit || window > 0);  // else the merge went untried
      }
    }
  }

  // What runs where there are no tile registers is what runs where there are.
  void emulatedTilesGiveTheBitsOfTheRegisters() {
    if (!canRun({"amx", Isa::Amx, nullptr})) QSKIP("this processor has no tile registers");
    checkSameBits(kAmxAttention, kEmulatedAmxAttention, {32, 64, 96, 128, 256}, 1.0f);
  }

  // Which of the two runs is a matter of speed alone.
  void widenedPairsGiveTheBitsOfDotProducts_data() {
    QTest::addColumn<float>("valueScale");
    QTest::addRow("ordinary") << 1.0f;
    QTest::addRow("sums around the smallest normal") << 0x1p-125f;
  }

  void widenedPairsGiveTheBitsOfDotProducts() {
    QFETCH(float, valueScale);
    if (!canRun({"avx512 with bf16", Isa::Avx512Vnni, nullptr, true, true})) {
      QSKIP("this processor has no AVX-512 with dot products of bf16");
    }
    checkSameBits(kAvx512Bf16Attention, kAvx512VnniAttention, {16, 40, 64, 80, 128, 256},
                  valueScale);
  }

  // Sums that have become subnormal are zero, whether or not another product meets them.
  void subnormalSumsAreZeroHoweverTheWorkIsCut() {
    for (const Table& table : kTables) {
      if (table.isa == Isa::Avx2 || !canRun(table)) continue;
      Cache cache({KvType::BF16, 64, 3, 16, 1});
      cache.writeUpTo(200, 0x1p-130f);
      const std::vector<float> whole = cache.attend(*table.kernels, {0, 200, 0, 1});
      for (int position = 0; position < 200; ++position) {
        const std::vector<float> part = cache.attend(*table.kernels, {position, 1, 0, 1});
        QVERIFY(std::memcmp(part.data(), &whole[static_cast<std::size_t>(position) * 192], part.size() * 4) == 0);
      }
      for (const float x : whole) QVERIFY(x == 0.0f || std::fabs(x) >= 0x1p-126f);
    }
  }

 private:
  static void checkSameBits(const AttentionKernels& one,
                            const AttentionKernels& other,
                            std::initializer_list<int> headDims,
                            float valueScale) {
    for (const int headDim : test_support::thinned(headDims)) {
      for (const int group : test_support::thinned({1, 3, 5})) {
        for (const int window : {0, 100}) {
          Cache cache({KvType::BF16, headDim, group, 16, 1});
          cache.writeUpTo(300, valueScale);
          for (const Run& run : {Run{299, 1, window, 1}, Run{299, 1, window, 2}, Run{0, 300, window, 1}}) {
            const std::vector<float> bits = cache.attend(one, run), others = cache.attend(other, run);
            QVERIFY2(std::memcmp(bits.data(), others.data(), bits.size() * 4) == 0,
                     qPrintable(describe({KvType::BF16, headDim, group, 16, 1}, run, 0)));
          }
        }
      }
    }
  }

  void kernelAndTypeRows() {
    QTest::addColumn<int>("table");
    QTest::addColumn<int>("type");
    for (int table = 0; table < static_cast<int>(std::size(kTables)); ++table) {
      for (const KvType type : {KvType::F32, KvType::F16, KvType::BF16, KvType::Fp8E4M3,
                                KvType::Int8, KvType::Int4}) {
        if (kTables[table].isForBf16 && type != KvType::BF16) continue;
        QTest::addRow("%s, %s", kTables[table].name, kvTypeName(type)) << table << static_cast<int>(type);
      }
    }
  }

  static const Table& chosenTable() {
    QFETCH(int, table);
    return kTables[table];
  }

  // Values are of size 1 (up to 4). f32 products: ~700 roundings of 2^-24, mostly cancelling. With
  // bf16 dots the queries (scores move by ~2^-9) and the weights are rounded too.
  double tolerance() {
    QFETCH(int, type);
    const bool isRounded = chosenTable().isa != Isa::Avx2 && static_cast<KvType>(type) == KvType::BF16;
    return isRounded ? 1e-2 : 1e-5;
  }

  static QString describe(const Shape& shape, const Run& run, double error) {
    return QString("dim %1 group %2 block %3 first %4 queries %5 window %6: error %7")
        .arg(shape.headDim)
        .arg(shape.group)
        .arg(shape.blockSize)
        .arg(run.firstPosition)
        .arg(run.numQueries)
        .arg(run.window)
        .arg(error);
  }
};

QTEST_GUILESS_MAIN(AttentionTest)
#include "tst_attention.moc"
