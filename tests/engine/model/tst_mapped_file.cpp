// Pages of a mapped file come when they are read, and go when they are released; where the file has
// lost its bytes, zeros are read, and what became of the file is told.
// labels: threads
#include "engine/model/mapped_file.h"

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/model/mapping_guard.h"
#include "tests/support/aged_file.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/resident_file.h"

using engine::ErrorCode;
using engine::model::ChangeKind;
using engine::model::FileChange;
using engine::model::kWhileRead;
using engine::model::MappedFile;
using engine::model::MappingGuard;
using test_support::residentBytes;

namespace {

constexpr int kStruck = 77, kSurvived = 0;

// What handled SIGBUS before any file was mapped.
void formerHandler(int) {
  _exit(kStruck);
}

// The exit status of a child that runs `act`; -1 when it ended otherwise.
int statusOfChild(const std::function<void()>& act) {
  const pid_t child = fork();
  if (child == 0) {
    act();
    _exit(kSurvived);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

}  // namespace

class TestMappedFile : public QObject {
  Q_OBJECT

 private:
  static constexpr std::size_t kBytes = std::size_t{16} << 20, kMargin = std::size_t{4} << 20;

  QTemporaryDir m_folder;
  std::string m_path, m_content;

  // A file of its own for a test that changes it.
  std::string makeFile(const char* name) const {
    const std::string path = m_folder.filePath(name).toStdString();
    test_support::writeAgedFile(path, m_content);
    return path;
  }

  static bool reads(const MappedFile& file, const std::string& content) {
    const auto bytes = file.bytes();
    return bytes.size() == content.size() &&
           std::memcmp(bytes.data(), content.data(), content.size()) == 0;
  }

 private slots:

  void initTestCase() {
    QVERIFY(m_folder.isValid());
    m_path = QFileInfo(m_folder.path()).canonicalFilePath().toStdString() + "/file";
    m_content.resize(kBytes + 5);
    for (std::size_t i = 0; i < m_content.size(); ++i) {
      m_content[i] = static_cast<char>(i * i >> 7 ^ i);
    }
    test_support::writeFile(m_path, m_content);

    struct sigaction former = {};
    former.sa_handler = formerHandler;
    QCOMPARE(::sigaction(SIGBUS, &former, nullptr), 0);
  }

  void allPagesGoAndComeBack() {
    const auto file = MappedFile::open(m_path);
    QVERIFY(file.isOk());
    QVERIFY(reads(*file, m_content));
    QVERIFY(residentBytes(m_path) >= kBytes);
    file->releasePages();
    QCOMPARE(residentBytes(m_path), std::size_t{0});
    QVERIFY(reads(*file, m_content));
  }

  void thoseOfASpanGoAndTheOthersStay_data() {
    QTest::addColumn<qulonglong>("begin");
    QTest::addColumn<qulonglong>("size");
    const auto row = [](const char* name, std::size_t begin, std::size_t size) {
      QTest::newRow(name) << qulonglong{begin} << qulonglong{size};
    };
    row("from the start", 0, kBytes / 2);
    row("to the end", kBytes / 2, kBytes / 2 + 5);
    row("anywhere", 1'000'003, 2'000'001);
    row("one byte", kBytes - 1, 1);
    row("all", 0, kBytes + 5);
  }

  void thoseOfASpanGoAndTheOthersStay() {
    QFETCH(qulonglong, begin);
    QFETCH(qulonglong, size);
    const auto file = MappedFile::open(m_path);
    QVERIFY(file.isOk() && reads(*file, m_content));
    const std::size_t before = residentBytes(m_path);
    file->releasePages(file->bytes().subspan(begin, size));
    const std::size_t gone = before - residentBytes(m_path);
    QVERIFY2(gone >= size && gone <= size + kMargin, qPrintable(QString::number(gone)));
    QVERIFY(reads(*file, m_content));
  }

  // Read and released piece after piece, as packing does it, little is there at any time.
  void nothingComesBackWithItsNeighbours() {
    const auto file = MappedFile::open(m_path);
    QVERIFY(file.isOk());
    const std::span<const std::byte> bytes = file->bytes();
    constexpr std::size_t kPiece = 700'000;
    unsigned sum = 0;
    for (std::size_t at = 0; at + kPiece <= kBytes; at += kPiece) {
      const auto piece = bytes.subspan(at, kPiece);
      for (const std::byte byte : piece) sum += std::to_integer<unsigned>(byte);
      file->releasePages(piece);
      const std::size_t left = residentBytes(m_path);
      QVERIFY2(left <= kMargin, qPrintable(QString::number(left)));
    }
    QVERIFY(sum > 0);
  }

  void aSpanElsewhereChangesNothing() {
    const auto file = MappedFile::open(m_path);
    QVERIFY(file.isOk() && reads(*file, m_content));
    const std::size_t before = residentBytes(m_path);
    std::array<std::byte, 100> other{};
    file->releasePages(other);
    file->releasePages({});
    file->releasePages({file->bytes().data() + kBytes, 100});
    QCOMPARE(residentBytes(m_path), before);
    QCOMPARE(other, (std::array<std::byte, 100>{}));
  }

  void aFileThatStaysIsUnchanged() {
    const auto file = MappedFile::open(makeFile("stays"));
    QVERIFY(file.isOk() && file->isUnchanged());
    QVERIFY(reads(*file, m_content));
    QVERIFY(file->isUnchanged());
    QVERIFY(file->change().path.empty());
  }

  void whatIsCutOffIsReadAsZeros_data() {
    QTest::addColumn<qulonglong>("left");
    QTest::newRow("nothing is left") << 0ull;
    QTest::newRow("some whole pages") << qulonglong{4 << 20};
    QTest::newRow("a part of a page") << qulonglong{(4 << 20) + 1001};
    QTest::newRow("the last byte is missing") << qulonglong{kBytes + 4};
  }

  void whatIsCutOffIsReadAsZeros() {
    QFETCH(qulonglong, left);
    const std::string path = makeFile("cut");
    const auto file = MappedFile::open(path);
    QVERIFY(file.isOk() && reads(*file, m_content));
    std::filesystem::resize_file(path, left);
    std::string expected = m_content.substr(0, left);
    expected.resize(m_content.size(), '\0');
    QVERIFY(reads(*file, expected));
    const FileChange change = file->change();
    QCOMPARE(change.kind, ChangeKind::CutShort);
    QCOMPARE(change.bytesBefore, std::uint64_t{m_content.size()});
    QCOMPARE(change.bytesNow, std::uint64_t{left});
    QCOMPARE(change.error(kWhileRead).code, ErrorCode::CorruptFile);
    const std::string sentence = path + ": was cut short from " + std::to_string(m_content.size()) +
                                 " to " + std::to_string(left) + " bytes while it was read";
    QCOMPARE(change.error(kWhileRead).message, sentence);
    file->releasePages();
    QVERIFY(reads(*file, expected));
    // zeros may have been read already: a file that is whole again helps nobody
    test_support::overwrite(path, 0, m_content);
    QCOMPARE(file->change().kind, ChangeKind::CutShort);
    const auto again = MappedFile::open(path);
    QVERIFY(again.isOk() && again->isUnchanged() && reads(*again, m_content));
  }

  // Cut and whole again between two looks: only who read in between knows.
  void aCutThatNobodySawIsToldByTheReader() {
    const std::string path = makeFile("regrown");
    const auto file = MappedFile::open(path);
    const auto other = MappedFile::open(path);
    QVERIFY(file.isOk() && other.isOk());
    std::filesystem::resize_file(path, 0);
    QCOMPARE(file->bytes()[kBytes / 2], std::byte{0});
    test_support::overwrite(path, 0, m_content);
    QCOMPARE(file->change().kind, ChangeKind::CutShort);
    const std::string sentence = file->change().error(kWhileRead).message;
    QVERIFY2(sentence.find("lost bytes while it was read (it had") != std::string::npos,
             sentence.c_str());
    QCOMPARE(other->change().kind, ChangeKind::Changed);
  }

  void manyThreadsReadACutFile() {
    const std::string path = makeFile("shared");
    const auto file = MappedFile::open(path);
    QVERIFY(file.isOk() && reads(*file, m_content));
    std::atomic<bool> isCut{false};
    std::atomic<int> numRight{0};
    const auto read = [&](std::size_t which) {
      constexpr std::size_t kStep = 4096 * 61;
      while (!isCut) std::this_thread::yield();
      bool isRight = true;
      for (std::size_t i = 0; i < 8 * kBytes / kStep; ++i) {
        const std::size_t at = (kBytes - 1 - (which + 8 * i) * kStep % kBytes);
        const auto byte = std::to_integer<char>(file->bytes()[at]);
        isRight = isRight && byte == (at < kBytes / 4 ? m_content[at] : '\0');
      }
      numRight += isRight ? 1 : 0;
    };
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 4; ++i) threads.emplace_back(read, i);
    std::filesystem::resize_file(path, kBytes / 4);
    isCut = true;
    for (std::thread& thread : threads) thread.join();
    QCOMPARE(numRight.load(), 4);
    QCOMPARE(file->change().kind, ChangeKind::CutShort);
  }

  void aChangedFileIsTold_data() {
    using Act = std::function<void(const std::string&)>;
    QTest::addColumn<Act>("act");
    QTest::newRow("other bytes") << Act([](const std::string& path) {
      test_support::overwrite(path, kBytes / 2, std::string(1000, '\1'));
    });
    QTest::newRow("more bytes") << Act([](const std::string& path) {
      test_support::overwrite(path, std::filesystem::file_size(path), "more");
    });
    QTest::newRow("only touched") << Act([](const std::string& path) {
      std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now());
    });
  }

  void aChangedFileIsTold() {
    QFETCH(std::function<void(const std::string&)>, act);
    const std::string path = makeFile("changed");
    const auto file = MappedFile::open(path);
    QVERIFY(file.isOk() && file->isUnchanged());
    act(path);
    QCOMPARE(file->change().kind, ChangeKind::Changed);
    QCOMPARE(file->change().error(kWhileRead).message, path + ": was changed while it was read");
    QCOMPARE(MappedFile(*file).change().kind, ChangeKind::Changed);  // a copy is the same mapping
  }

  // Whoever puts another file in its place harms nobody who has it open.
  void aFileWhoseNameIsGoneIsUnchanged() {
    const std::string path = makeFile("name"), other = makeFile("other");
    const auto file = MappedFile::open(path);
    QVERIFY(file.isOk());
    test_support::overwrite(other, 0, "different");
    std::filesystem::rename(other, path);
    QVERIFY(file->isUnchanged());
    std::filesystem::remove(path);
    QVERIFY(file->isUnchanged());
    QVERIFY(reads(*file, m_content));
  }

  void anEmptyFileIsWatchedToo() {
    const std::string path = m_folder.filePath("empty").toStdString();
    test_support::writeAgedFile(path, "");
    const auto file = MappedFile::open(path);
    QVERIFY(file.isOk() && file->bytes().empty() && file->isUnchanged());
    test_support::overwrite(path, 0, "no longer");
    QCOMPARE(file->change().kind, ChangeKind::Changed);
  }

  void aFaultElsewhereStrikes() {
    const std::string path = makeFile("elsewhere");
    const auto file = MappedFile::open(path);
    QVERIFY(file.isOk());
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    void* mapped = ::mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
    QVERIFY(mapped != MAP_FAILED);
    std::filesystem::resize_file(path, 0);
    const auto first = [](const void* at) { return *static_cast<const volatile char*>(at); };
    QCOMPARE(statusOfChild([&] { first(file->bytes().data()); }), kSurvived);
    QCOMPARE(statusOfChild([&] { first(mapped); }), kStruck);
    QCOMPARE(statusOfChild([] { ::raise(SIGBUS); }), kStruck);
    ::munmap(mapped, kBytes);
    ::close(descriptor);
  }

  // A place in memory is guarded only as long as the file is mapped there.
  void nothingIsGuardedAfterwards() {
    const std::string path = makeFile("afterwards");
    void* place = nullptr;
    {
      const auto file = MappedFile::open(path);
      QVERIFY(file.isOk());
      place = const_cast<std::byte*>(file->bytes().data());
    }
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    void* mapped = ::mmap(place, kBytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
    std::filesystem::resize_file(path, 0);
    if (mapped != place) QSKIP("this system mapped the file elsewhere the second time");
    const auto read = [&] { (void)*static_cast<const volatile char*>(mapped); };
    QCOMPARE(statusOfChild(read), kStruck);
    ::munmap(mapped, kBytes);
    ::close(descriptor);
  }

  void onlySoManyFilesAreMappedAtOnce() {
    constexpr std::size_t kMax = MappingGuard::kMaxMappings;
    rlimit limit{};
    QCOMPARE(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_max < kMax + 100) QSKIP("this system lets a program open fewer files");
    limit.rlim_cur = std::max<rlim_t>(limit.rlim_cur, kMax + 100);
    QCOMPARE(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    const std::string path = m_folder.filePath("small").toStdString();
    test_support::writeAgedFile(path, "small");
    for (int round = 0; round < 2; ++round) {  // the second finds every place free again
      std::vector<MappedFile> files;
      for (std::size_t i = 0; i < kMax; ++i) {
        auto file = MappedFile::open(path);
        QVERIFY2(file.isOk(), std::to_string(i).c_str());
        files.push_back(std::move(file).value());
      }
      const auto more = MappedFile::open(path);
      QVERIFY(!more.isOk());
      QCOMPARE(more.error().code, ErrorCode::OutOfMemory);
      QVERIFY(more.error().message.find("1024 files are mapped already") != std::string::npos);
    }
  }

  // What a step pays for a look.
  void aLookIsQuick() {
    const auto file = MappedFile::open(m_path);
    QVERIFY(file.isOk());
    bool isUnchanged = true;
    QBENCHMARK { isUnchanged = isUnchanged && file->isUnchanged(); }
    QVERIFY(isUnchanged);
  }
};

QTEST_GUILESS_MAIN(TestMappedFile)
#include "tst_mapped_file.moc"
