// Pages of a mapped file come when they are read, and go when they are released.
#include "engine/model/mapped_file.h"

#include <array>
#include <cstring>
#include <span>
#include <string>

#include <QTemporaryDir>
#include <QtTest>

#include "tests/support/gguf_writer.h"
#include "tests/support/resident_file.h"

using engine::model::MappedFile;
using test_support::residentBytes;

class TestMappedFile : public QObject {
  Q_OBJECT

 private:
  static constexpr std::size_t kBytes = std::size_t{16} << 20, kMargin = std::size_t{4} << 20;

  QTemporaryDir m_folder;
  std::string m_path, m_content;

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
};

QTEST_GUILESS_MAIN(TestMappedFile)
#include "tst_mapped_file.moc"
