// Packed weights are named by all that decides their bytes.
// labels: kernel
#include "kernels/cpu/packed_key.h"

#include <QtTest>

#include "tests/kernels/cpu/matmul_fixture.h"
#include "tests/kernels/cpu/packed_fixture.h"

using namespace kernels::cpu;
using namespace fixture;

class TestPackedKey : public QObject {
  Q_OBJECT

 private slots:

  void theKeyTellsEveryByteTypeShapeAndOrder() {
    const TinyDecoder decoder = decoderOf();
    std::vector<WeightView> sources = sourcesOf(decoder);
    const ContentHash key = keyOf(sources);
    QCOMPARE(hexOf(key).size(), std::size_t{32});
    QVERIFY(keyOf(sources) == key);
    QVERIFY(keyOf(sources, CodeOrder::ByPair) != key);
    ThreadPool pool(5);
    QVERIFY(packedKey(sources, CodeOrder::ByStep, pool, {}) == key);
    for (WeightView& source : sources) {
      Bytes copy(source.data, source.data + source.bytes());
      const WeightView before = source;
      source.data = copy.data();
      QVERIFY(keyOf(sources) == key);  // content, not place
      for (const std::size_t at : {std::size_t{0}, copy.size() / 2, copy.size() - 1}) {
        copy[at] ^= std::byte{1};
        QVERIFY(keyOf(sources) != key);
        copy[at] ^= std::byte{1};
      }
      source = before;
    }
    std::swap(sources[1], sources[2]);
    QVERIFY(keyOf(sources) != key);
    std::swap(sources[1], sources[2]);
    sources[0].rows /= 2;
    sources[0].cols *= 2;
    QVERIFY(keyOf(sources) != key);
  }

  // Kept weights outlive the program that wrote them: where this fails, packing has changed, and
  // kPackedFormat must too, or old files would be read as if they were new.
  void packingIsWhatItsNumberStandsFor() {
    std::vector<ContentHash> hashes;
    for (int type = 0; type < kernels::kNumDTypes; ++type) {
      const auto weights = fixture::randomWeights(static_cast<DType>(type), 45, 512, 7);
      for (const CodeOrder order : kOrders) {
        PackedMatrix matrix({weights.view}, order);
        HugeArena arena;
        ThreadPool pool(1);
        QVERIFY(arena.reserve(matrix.packedBytes()));
        std::byte* memory = arena.allocate(matrix.packedBytes());
        QVERIFY(matrix.pack(memory, pool).isOk());
        hashes.push_back(hashOf({memory, matrix.packedBytes()}));
        const std::span<const float> units(matrix.sumUnits(0), std::size_t{2});
        hashes.push_back(hashOf(std::as_bytes(units)));
      }
    }
    const std::string all = hexOf(hashOf(std::as_bytes(std::span(hashes))));
    QCOMPARE(kPackedFormat, 1u);
    QVERIFY2(all == "23fd8bbd7d90aaa376a173d886c9434c", all.c_str());
  }

  // Packing must write every byte: what a bad file left behind lies under it.
  void packingOverwritesAll() {
    for (int type = 0; type < kernels::kNumDTypes; ++type) {
      const auto weights = fixture::randomWeights(static_cast<DType>(type), 45, 512, 7);
      for (const CodeOrder order : kOrders) {
        Bytes packed[2];
        for (const int fill : {0, 255}) {
          PackedMatrix matrix({weights.view}, order);
          HugeArena arena;
          ThreadPool pool(1);
          QVERIFY(arena.reserve(matrix.packedBytes()));
          std::byte* memory = arena.allocate(matrix.packedBytes());
          std::memset(memory, fill, matrix.packedBytes());
          QVERIFY(matrix.pack(memory, pool).isOk());
          packed[fill / 255].assign(memory, memory + matrix.packedBytes());
        }
        QVERIFY2(packed[0] == packed[1], kernels::dtypeInfo(static_cast<DType>(type)).name);
      }
    }
  }
};

QTEST_GUILESS_MAIN(TestPackedKey)
#include "tst_packed_key.moc"
