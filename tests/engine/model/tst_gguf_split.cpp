#include <QtTest/QtTest>

#include <QTemporaryDir>

#include <cstring>

#include "engine/model/gguf_file.h"
#include "engine/model/gguf_split.h"
#include "engine/model/gguf_weight_source.h"
#include "tests/support/tiny_model.h"

using engine::ErrorCode;
using engine::model::GgufFile;
using engine::model::GgufPart;
using engine::model::GgufWeightSource;
using engine::model::pathOfPart;
using test_support::TinyModelSpec;

class TestGgufSplit : public QObject {
  Q_OBJECT

 private:
  // Index from 0.
  std::string partPath(int index, int count = 3) const {
    const auto name = QStringLiteral("model-%1-of-%2.gguf")
                          .arg(index + 1, 5, 10, QLatin1Char('0'))
                          .arg(count, 5, 10, QLatin1Char('0'));
    return m_folder->filePath(name).toStdString();
  }

  void writeParts(const std::vector<std::string>& files) const {
    for (std::size_t i = 0; i < files.size(); ++i) {
      test_support::writeFile(partPath(static_cast<int>(i)), files[i]);
    }
  }

  void checkRefused(const std::string& path, ErrorCode code, const std::string& says) const {
    const auto file = GgufFile::open(path);
    QVERIFY(!file.isOk());
    QCOMPARE(file.error().code, code);
    QVERIFY2(file.error().message.find(says) != std::string::npos, file.error().message.c_str());
    QVERIFY(file.error().message.size() < 400);
  }

  std::unique_ptr<QTemporaryDir> m_folder;
  std::vector<std::string> m_files;

 private slots:

  void init() {
    m_folder = std::make_unique<QTemporaryDir>();
    m_files = test_support::tinyModel(TinyModelSpec{}).splitBytes(3);
    writeParts(m_files);
  }

  void anyPartOpensTheWholeModel_data() {
    QTest::addColumn<int>("index");
    for (int i = 0; i < 3; ++i) QTest::addRow("part %d", i + 1) << i;
  }

  void anyPartOpensTheWholeModel() {
    QFETCH(int, index);
    const std::string wholePath = m_folder->filePath("whole.gguf").toStdString();
    test_support::writeTinyModel(TinyModelSpec{}, wholePath);
    const auto whole = GgufFile::open(wholePath);
    const auto split = GgufFile::open(partPath(index));
    QVERIFY2(split.isOk(), split ? "" : split.error().message.c_str());
    QCOMPARE(split->path(), partPath(0));
    QCOMPARE(split->fileBytes(), m_files[0].size() + m_files[1].size() + m_files[2].size());
    QCOMPARE(split->tensors().size(), whole->tensors().size());
    for (const auto& tensor : whole->tensors()) {
      const auto* found = split->findTensor(tensor.name);
      QVERIFY(found != nullptr);
      QCOMPARE(found->bytes, tensor.bytes);
      QCOMPARE(std::memcmp(found->data, tensor.data, tensor.bytes), 0);
    }
    const auto source = GgufWeightSource::open(partPath(index));
    const auto config = (*source)->config();
    QVERIFY2(config.isOk(), config ? "" : config.error().message.c_str());
    QVERIFY((*source)->weights(*config).isOk());
    QVERIFY((*source)->vocabulary().isOk());
  }

  void aFirstPartNeedsNoTensors() {
    const auto parts = test_support::tinyModel(TinyModelSpec{}).splitBytes(64);  // of 21 tensors
    for (int i = 0; i < 64; ++i) {
      test_support::writeFile(partPath(i, 64), parts[static_cast<std::size_t>(i)]);
    }
    const auto file = GgufFile::open(partPath(63, 64));
    QVERIFY2(file.isOk(), file ? "" : file.error().message.c_str());
    QVERIFY(file->findTensor("blk.1.ffn_down.weight") != nullptr);
  }

  void aMissingPartIsNamed() {
    QFile::remove(QString::fromStdString(partPath(1)));
    for (const int opened : {0, 2}) {
      checkRefused(partPath(opened), ErrorCode::NotFound, "model-00002-of-00003.gguf");
      checkRefused(partPath(opened), ErrorCode::NotFound, "part 2 of 3");
    }
    QFile::remove(QString::fromStdString(partPath(0)));
    checkRefused(partPath(2), ErrorCode::NotFound, "model-00001-of-00003.gguf");
  }

  void aPartOfAnotherNameCannotFindTheOthers() {
    const std::string renamed = m_folder->filePath("my-model.gguf").toStdString();
    test_support::writeFile(renamed, m_files[1]);
    checkRefused(renamed, ErrorCode::NotFound, "-00002-of-00003.gguf");
  }

  void aPartThatContradictsItsNameIsRefused() {
    test_support::writeFile(partPath(1), m_files[2]);
    checkRefused(partPath(0), ErrorCode::CorruptFile, "says it is part 3 of 3");
    test_support::writeFile(partPath(1), test_support::tinyModel(TinyModelSpec{}).bytes());
    checkRefused(partPath(0), ErrorCode::CorruptFile, "says it is part 1 of 1");
  }

  void aPartCutShortIsNamed() {
    test_support::writeFile(partPath(2), std::string_view(m_files[2]).substr(0, 900));
    checkRefused(partPath(0), ErrorCode::CorruptFile, "model-00003-of-00003.gguf");
  }

  void aTensorInTwoPartsIsRefused() {
    test_support::GgufWriter writer = test_support::tinyModel(TinyModelSpec{});
    writer.addTensor("token_embd.weight", 0, {4}, std::string(16, '\0'));
    writeParts(writer.splitBytes(3));
    checkRefused(partPath(0), ErrorCode::CorruptFile, "token_embd.weight");
  }

  void partsOfDifferentModelsDoNotAddUp() {
    TinyModelSpec larger;
    larger.layers = 3;
    test_support::writeFile(partPath(0), test_support::tinyModel(larger).splitBytes(3)[0]);
    checkRefused(partPath(0), ErrorCode::CorruptFile, "");
  }

  void countsOutsideTheirRangeAreRefused_data() {
    QTest::addColumn<int>("number");
    QTest::addColumn<int>("count");
    QTest::addColumn<QByteArray>("says");
    QTest::newRow("no parts") << 0 << 0 << QByteArray("split.count is 0");
    QTest::newRow("past the end") << 3 << 3 << QByteArray("split.no is 3");
  }

  void countsOutsideTheirRangeAreRefused() {
    QFETCH(int, number);
    QFETCH(int, count);
    QFETCH(QByteArray, says);
    test_support::GgufWriter writer = test_support::tinyModel(TinyModelSpec{});
    writer.add("split.no", static_cast<std::uint32_t>(number));
    writer.add("split.count", static_cast<std::uint32_t>(count));
    writer.writeTo(partPath(0));
    checkRefused(partPath(0), ErrorCode::CorruptFile, says.toStdString());
  }

  void aPathKeepsItsFolderAndName() {
    QCOMPARE(*pathOfPart("a/b-00002-of-00012.gguf", GgufPart{1, 12}, 10),
             std::string("a/b-00011-of-00012.gguf"));
    QVERIFY(!pathOfPart("a/b-00003-of-00012.gguf", GgufPart{1, 12}, 10).isOk());
  }
};

QTEST_GUILESS_MAIN(TestGgufSplit)
#include "tst_gguf_split.moc"
