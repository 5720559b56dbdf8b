// One file of packed weights: whole as it was written, or not read.
// labels: kernel
#include "kernels/cpu/packed_file.h"

#include <QTemporaryDir>
#include <QtTest>

#include "tests/kernels/cpu/packed_fixture.h"

using namespace kernels::cpu;
using namespace fixture;
using kernels::Outcome;

class TestPackedFile : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<QTemporaryDir> m_dir;

  std::string folder() const { return m_dir->filePath("packed").toStdString(); }

 private slots:

  void init() {
    m_dir = std::make_unique<QTemporaryDir>();
    QVERIFY(m_dir->isValid());
  }

  void noChangedByteIsRead() {
    const TinyDecoder decoder = decoderOf();
    const Load first = load(decoder, folder());
    const std::string path = filesIn(folder()).front();
    const Bytes good = contentOf(path);
    const ContentHash key = keyOf(sourcesOf(decoder));
    QCOMPARE(path, PackedFolder(folder()).fileOf(key));
    Bytes payload(good.size() - kPackedHeaderBytes);
    ThreadPool pool(2);
    const auto read = [&] { return readPackedFile(path, key, payload, {}, pool, {}); };
    QVERIFY(read() == PackedRead::Read);
    QVERIFY(std::equal(payload.begin(), payload.end(), good.begin() + kPackedHeaderBytes));
    for (std::size_t at = 0; at < good.size(); at += at < kPackedHeaderBytes ? 61 : 10007) {
      Bytes bad = good;
      bad[at] ^= std::byte{0x40};
      write(path, bad);
      QVERIFY2(read() == PackedRead::Unusable, qPrintable(QString::number(at)));
    }
  }

  void aStoppedWriterLeavesNothing() {
    QVERIFY(std::filesystem::create_directories(folder()));
    const Bytes payload(3 * kPieceBytes);
    {
      PackedFileWriter writer;
      QVERIFY(writer.open(folder() + "/x", payload.size()).isOk());
      QCOMPARE(filesIn(folder()).size(), std::size_t{1});
      QVERIFY(isPackedFile(filesIn(folder()).front()));
      int numAsked = 0;
      const auto status = writer.write({}, payload, [&numAsked] { return ++numAsked == 3; });
      QCOMPARE(status.outcome, Outcome::Cancelled);
    }
    QVERIFY(filesIn(folder()).empty());
  }
};

QTEST_GUILESS_MAIN(TestPackedFile)
#include "tst_packed_file.moc"
