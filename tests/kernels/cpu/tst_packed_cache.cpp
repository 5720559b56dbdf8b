// Weights that are kept between loads: the same bytes as packing gives, or packed anew.
// labels: kernel threads
#include "kernels/cpu/packed_cache.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include <QTemporaryDir>
#include <QtTest>

#include "tests/kernels/cpu/packed_fixture.h"

using namespace kernels::cpu;
using namespace fixture;
using kernels::Outcome;

class TestPackedCache : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<QTemporaryDir> m_dir;

  std::string folder() const { return m_dir->filePath("a/packed").toStdString(); }

 private slots:

  void init() {
    m_dir = std::make_unique<QTemporaryDir>();
    QVERIFY(m_dir->isValid());
  }

  void theSecondLoadReadsWhatTheFirstPacked_data() {
    QTest::addColumn<int>("type");
    for (int type = 0; type < kernels::kNumDTypes; ++type) {
      QTest::newRow(kernels::dtypeInfo(static_cast<DType>(type)).name) << type;
    }
  }

  void theSecondLoadReadsWhatTheFirstPacked() {
    QFETCH(int, type);
    const TinyDecoder decoder = decoderOf(static_cast<DType>(type));
    std::size_t numFiles = 0;
    for (const CodeOrder order : kOrders) {
      const Load plain = load(decoder, "", order);
      QVERIFY(plain.status.isOk() && !plain.wasRead());
      const Load first = load(decoder, folder(), order);
      QVERIFY2(first.status.isOk() && !first.wasRead(), first.status.message.c_str());
      QVERIFY(first.bytes() == plain.bytes());
      QCOMPARE(filesIn(folder()).size(), ++numFiles);
      for (const int numThreads : {1, 2, 3}) {
        const Load second = load(decoder, folder(), order, numThreads);
        QVERIFY2(second.status.isOk() && second.wasRead(), second.status.message.c_str());
        QVERIFY(second.bytes() == plain.bytes());
        QCOMPARE(second.decoder->note(), plain.decoder->note());
        QCOMPARE(second.decoder->needsFloats(), plain.decoder->needsFloats());
      }
    }
  }

  void aBadFileIsPackedAnewAndReplaced_data() {
    using Spoil = std::function<void(const std::string& path, Bytes good)>;
    QTest::addColumn<Spoil>("spoil");
    const auto change = [](const char* name, std::function<void(Bytes&)> how) {
      QTest::newRow(name) << Spoil([how](const std::string& path, Bytes good) {
        how(good);
        write(path, good);
      });
    };
    const auto flip = [&](const char* name, std::function<std::size_t(std::size_t)> at) {
      change(name, [at](Bytes& b) { b[at(b.size())] ^= std::byte{1}; });
    };
    flip("the magic", [](std::size_t) { return 0; });
    flip("the key", [](std::size_t) { return 30; });
    flip("the size", [](std::size_t) { return 41; });
    flip("the checksum", [](std::size_t) { return 50; });
    flip("the rest of the header", [](std::size_t) { return 3000; });
    flip("the header's hash", [](std::size_t) { return kPackedHeaderBytes - 1; });
    flip("the first byte", [](std::size_t) { return kPackedHeaderBytes; });
    flip("a byte in the middle", [](std::size_t size) { return size / 2; });
    flip("the last byte", [](std::size_t size) { return size - 1; });
    change("cut by a byte", [](Bytes& b) { b.pop_back(); });
    change("cut in the header", [](Bytes& b) { b.resize(100); });
    change("empty", [](Bytes& b) { b.clear(); });
    change("a byte more", [](Bytes& b) { b.push_back({}); });
    change("another version", [](Bytes& b) {
      b[16] ^= std::byte{2};
      sealHeader(b);
    });
    change("another key", [](Bytes& b) {
      b[24] ^= std::byte{1};
      sealHeader(b);
    });
    change("zeros", [](Bytes& b) { b.assign(b.size(), {}); });
    QTest::newRow("of another model") << Spoil([](const std::string& path, const Bytes&) {
      const QTemporaryDir other;
      (void)load(decoderOf(DType::Q8_0, 2), other.path().toStdString());
      write(path, contentOf(filesIn(other.path().toStdString()).front()));
    });
    QTest::newRow("a pipe") << Spoil([](const std::string& path, const Bytes&) {
      std::filesystem::remove(path);
      QCOMPARE(mkfifo(path.c_str(), 0600), 0);
    });
    QTest::newRow("a link to nowhere") << Spoil([](const std::string& path, const Bytes&) {
      std::filesystem::remove(path);
      std::filesystem::create_symlink("/nowhere/at/all", path);
    });
  }

  void aBadFileIsPackedAnewAndReplaced() {
    QFETCH(std::function<void(const std::string&, Bytes)>, spoil);
    const TinyDecoder decoder = decoderOf();
    const Bytes expected = load(decoder, folder()).bytes();
    const std::string path = filesIn(folder()).front();
    const Bytes good = contentOf(path);
    spoil(path, good);
    const Load again = load(decoder, folder());
    QVERIFY2(again.status.isOk() && !again.wasRead(), again.status.message.c_str());
    QVERIFY(again.bytes() == expected);
    QCOMPARE(again.decoder->note(), std::string());
    QCOMPARE(filesIn(folder()), std::vector<std::string>{path});
    QVERIFY(contentOf(path) == good);
    QVERIFY(load(decoder, folder()).wasRead());
  }

  void aFolderThatCannotBeMadeIsSaidAndTheModelLoads() {
    write(m_dir->filePath("a").toStdString(), {});
    const TinyDecoder decoder = decoderOf();
    const Load made = load(decoder, folder());
    QVERIFY(made.status.isOk() && !made.wasRead());
    QVERIFY(made.bytes() == load(decoder, "").bytes());
    const std::string note = made.decoder->note();
    QVERIFY2(contains(note, folder()) && contains(note, "Not a directory"), note.c_str());
    // beside what else there is to say
    const Load slow = load(decoderOf(DType::F32), folder());
    QVERIFY(slow.status.isOk());
    const std::string slowNote = load(decoderOf(DType::F32), "").decoder->note();
    QVERIFY(!slowNote.empty());
    QCOMPARE(slow.decoder->note().substr(0, slowNote.size() + 2), slowNote + "; ");
  }

  // Stands for a disk that is full.
  void aFileThatGetsNoRoomIsSaidAndTheModelLoads() {
    const TinyDecoder decoder = decoderOf();
    rlimit before{};
    QCOMPARE(getrlimit(RLIMIT_FSIZE, &before), 0);
    rlimit small = before;
    small.rlim_cur = 100'000;
    QCOMPARE(setrlimit(RLIMIT_FSIZE, &small), 0);
    const Load made = load(decoder, folder());
    QCOMPARE(setrlimit(RLIMIT_FSIZE, &before), 0);
    QVERIFY(made.status.isOk());
    QVERIFY(made.bytes() == load(decoder, "").bytes());
    QVERIFY2(contains(made.decoder->note(), "no room"), made.decoder->note().c_str());
    QVERIFY(filesIn(folder()).empty());
  }

  void unloadingWaitsForTheFile() {
    const TinyDecoder decoder = decoderOf();
    kernels::BackendRequest request = decoder.request(kernels::KvType::F32, 16, 4, 2);
    request.packedFolder = folder();
    ThreadPool pool(2);
    {
      PackedDecoder packed;
      QVERIFY(packed.pack(request, CodeOrder::ByStep, pool).isOk());
    }
    QVERIFY(load(decoder, folder()).wasRead());
  }

  void severalMayWriteTheSameFileAtOnce() {
    const TinyDecoder decoder = decoderOf();
    const Bytes expected = load(decoder, "").bytes();
    std::atomic<int> numGood = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i) {
      threads.emplace_back([&] {
        for (int round = 0; round < 3; ++round) {
          const Load made = load(decoder, folder(), CodeOrder::ByStep, 1);
          const bool isGood = made.status.isOk() && made.decoder->note().empty();
          if (isGood && made.bytes() == expected) ++numGood;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    QCOMPARE(numGood.load(), 6 * 3);
    QCOMPARE(filesIn(folder()).size(), std::size_t{1});
    QVERIFY(load(decoder, folder()).wasRead());
  }

  // Nothing kept, written for the first time, found: no source stays in memory beside the weights.
  void sourcesAreLetGoHoweverTheWeightsCame() {
    const TinyDecoder decoder = decoderOf();
    const std::vector<WeightView> sources = sourcesOf(decoder);
    for (const std::string& kept : {std::string(), folder(), folder()}) {
      kernels::BackendRequest request = decoder.request(kernels::KvType::F32, 16, 4, 2);
      request.packedFolder = kept;
      std::mutex mutex;
      std::map<const std::byte*, std::size_t> whole;  // the longest call from there
      request.release = [&](std::span<const std::byte> bytes) {
        const std::lock_guard lock(mutex);
        whole[bytes.data()] = std::max(whole[bytes.data()], bytes.size());
      };
      ThreadPool pool(2);
      PackedDecoder packed;
      QVERIFY(packed.pack(request, CodeOrder::ByStep, pool).isOk());
      for (const WeightView& source : sources) QCOMPARE(whole[source.data], source.bytes());
    }
    QVERIFY(load(decoder, folder()).wasRead());
  }

  void aRaisedFlagCancelsWhereverItIs() {
    const TinyDecoder decoder = decoderOf();
    const Bytes expected = load(decoder, folder()).bytes();
    kernels::BackendRequest request = decoder.request(kernels::KvType::F32, 16, 4, 2);
    request.packedFolder = folder();
    ThreadPool pool(2);
    std::vector<double> told;
    request.progress = [&told](double fraction) { told.push_back(fraction); };
    PackedDecoder whole;
    QVERIFY(whole.pack(request, CodeOrder::ByStep, pool).isOk());
    QVERIFY(whole.wasRead());
    QVERIFY(told.size() >= 2 && std::is_sorted(told.begin(), told.end()));
    QCOMPARE(told.back(), 1.0);
    for (const double from : {0.0, PackedCache::kHashShare, 1.0}) {
      std::atomic<bool> cancel = from == 0.0;
      request.cancel = &cancel;
      request.progress = [&](double fraction) { cancel = cancel || fraction >= from; };
      PackedDecoder packed;
      QCOMPARE(packed.pack(request, CodeOrder::ByStep, pool).outcome, Outcome::Cancelled);
      QVERIFY(!packed.wasRead());
    }
    const Load after = load(decoder, folder());
    QVERIFY(after.wasRead() && after.bytes() == expected);
  }
};

QTEST_GUILESS_MAIN(TestPackedCache)
#include "tst_packed_cache.moc"
