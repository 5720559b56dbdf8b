// The folder of packed weights stays below its limit, and leaves the files of others alone.
// labels: kernel
#include "kernels/cpu/packed_folder.h"

#include <QTemporaryDir>
#include <QtTest>

#include "tests/kernels/cpu/packed_fixture.h"

using namespace kernels::cpu;
using namespace fixture;
using kernels::Outcome;

class TestPackedFolder : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<QTemporaryDir> m_dir;

  std::string folder() const { return m_dir->filePath("packed").toStdString(); }

 private slots:

  void init() {
    m_dir = std::make_unique<QTemporaryDir>();
    QVERIFY(m_dir->isValid());
  }

  void theLeastRecentlyUsedFilesGo() {
    const std::string path = folder();
    const std::vector<unsigned> seeds = {1, 2, 3};
    std::vector<std::string> files;
    for (const unsigned seed : seeds) {
      const TinyDecoder decoder = decoderOf(DType::Q8_0, seed);
      (void)load(decoder, path);
      files.push_back(PackedFolder(path).fileOf(keyOf(sourcesOf(decoder))));
      setUsed(files.back(), 1'000'000 + static_cast<std::time_t>(seed));
    }
    QVERIFY(load(decoderOf(DType::Q8_0, 1), path).wasRead());  // now the newest
    QVERIFY(usedAt(files[0]) > 2'000'000);
    const std::string foreign = path + "/notes.txt", noFile = PackedFolder(path).fileOf({1, 2});
    write(foreign, Bytes(100));
    write(noFile, Bytes(100));  // our kind of name, not our kind of file
    const auto size = std::filesystem::file_size(files[0]);
    const PackedFolder two(path, 2 * size);
    QVERIFY(two.makeRoom({5, 6}, size).isOk());
    QVERIFY(std::filesystem::exists(files[0]));
    QVERIFY(!std::filesystem::exists(files[1]));
    QVERIFY(!std::filesystem::exists(files[2]));
    QVERIFY(two.makeRoom({5, 6}, size).isOk());
    QVERIFY(std::filesystem::exists(files[0]));
    // one that is to be replaced makes its own room
    QVERIFY(PackedFolder(path, size).makeRoom(keyOf(sourcesOf(decoderOf())), size).isOk());
    QVERIFY(std::filesystem::exists(files[0]));
    // what cannot fit throws nothing out
    const kernels::Status tooLarge = two.makeRoom({5, 6}, 2 * size + 1);
    QCOMPARE(tooLarge.outcome, Outcome::DeviceFailed);
    QVERIFY(contains(tooLarge.message, std::to_string(2 * size)));
    QVERIFY(std::filesystem::exists(files[0]));
    QVERIFY(two.makeRoom({5, 6}, 2 * size).isOk());
    QVERIFY(!std::filesystem::exists(files[0]));
    QVERIFY(std::filesystem::exists(foreign) && std::filesystem::exists(noFile));
  }

  void theLimitIsAQuarterOfTheDiskAtMost() {
    const std::string path = folder();
    const auto free = std::filesystem::space(m_dir->path().toStdString()).available;
    const PackedFolder vast(path, ~std::uint64_t{0});
    QCOMPARE(vast.makeRoom({}, free / 2).outcome, Outcome::DeviceFailed);
    QVERIFY(vast.makeRoom({}, free / 8).isOk());
  }

  void unfinishedFilesGoWhenTheyAreOld() {
    const TinyDecoder decoder = decoderOf();
    (void)load(decoder, folder());
    const Bytes good = contentOf(filesIn(folder()).front());
    const std::string old = PackedFolder(folder()).fileOf({3, 4}) + ".abcdef";
    const std::string fresh = PackedFolder(folder()).fileOf({3, 4}) + ".ghijkl";
    write(old, good);
    write(fresh, good);
    setUsed(old, 1'000'000);
    (void)load(decoderOf(DType::Q8_0, 2), folder());
    QVERIFY(!std::filesystem::exists(old));
    QVERIFY(std::filesystem::exists(fresh));
    QCOMPARE(filesIn(folder()).size(), std::size_t{3});
  }
};

QTEST_GUILESS_MAIN(TestPackedFolder)
#include "tst_packed_folder.moc"
