#include <QtTest/QtTest>

#include <QTemporaryDir>

#include "engine/model/inspection.h"
#include "tests/support/tiny_model.h"

using engine::ErrorCode;
using engine::Result;
using engine::model::Inspection;
using engine::model::inspectModel;
using test_support::GgufWriter;

class TestInspection : public QObject {
  Q_OBJECT

 private:
  Result<Inspection> inspect(const std::string& bytes) {
    const std::string path = m_folder.filePath("inspected.gguf").toStdString();
    test_support::writeFile(path, bytes);
    return inspectModel(path);
  }

  QTemporaryDir m_folder;

 private slots:

  void aModelThatWeRunIsSupported() {
    const auto found = inspect(test_support::tinyModel({}).bytes());
    QVERIFY2(found.isOk(), found ? "" : found.error().message.c_str());
    QVERIFY2(found->isSupported, found->reason.c_str());
    QVERIFY(found->reason.empty());
    QCOMPARE(found->format, std::string("GGUF v3"));
    QCOMPARE(found->architecture, std::string("llama"));
    QCOMPARE(found->tensors.size(), std::size_t{2 + 2 * 9});
    QCOMPARE(found->tensors[0].name, std::string("token_embd.weight"));
    QCOMPARE(found->tensors[0].shape, (std::vector<std::int64_t>{64, 269}));
    QCOMPARE(found->tensors[0].bytes, std::int64_t{64 * 269 * 4});
    QCOMPARE(found->weightBytes, found->parameters * 4);
    QCOMPARE(found->kvBytesPerToken.value(), std::int64_t{256});
    QCOMPARE(found->vocabulary->tokens.size(), std::size_t{269});
    QVERIFY(found->file->metadata().find("general.architecture") != nullptr);
  }

  void anUnknownArchitectureIsListedAndNamed() {
    test_support::TinyModelSpec spec;
    spec.family = "mamba";
    const auto found = inspect(test_support::tinyModel(spec).bytes());
    QVERIFY(found.isOk());
    QVERIFY(!found->isSupported);
    QVERIFY2(found->reason.find("mamba") != std::string::npos, found->reason.c_str());
    QVERIFY(!found->config.has_value());
    QVERIFY(!found->kvBytesPerToken.has_value());
    QVERIFY(found->vocabulary.has_value());
    QVERIFY(found->weightBytes > 0);
  }

  void aTypeThatWeDoNotRunIsListedAndNamed() {
    GgufWriter writer = test_support::tinyModel({});
    writer.addTensor("blk.0.extra", 39, {32}, std::string(17, '\0'));
    const auto found = inspect(writer.bytes());
    QVERIFY(found.isOk());
    QVERIFY(!found->isSupported);
    QVERIFY2(found->reason.find("MXFP4") != std::string::npos, found->reason.c_str());
    QCOMPARE(found->tensors.back().type, std::string("MXFP4"));
  }

  void aTokenizerThatWeDoNotRunIsNamed() {
    std::string bytes = test_support::tinyModel({}).bytes();
    bytes.replace(bytes.find("gpt2"), 4, "rwkv");
    const auto found = inspect(bytes);
    QVERIFY(found.isOk());
    QVERIFY(!found->isSupported);
    QVERIFY2(found->reason.find("rwkv") != std::string::npos, found->reason.c_str());
  }

  void aVocabularyOnlyFileShowsItsVocabulary() {
    GgufWriter writer;
    writer.add("general.architecture", "phi3");
    writer.add("tokenizer.ggml.model", "llama");
    writer.add("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "c"});
    const auto found = inspect(writer.bytes());
    QVERIFY(found.isOk());
    QVERIFY(!found->isSupported);
    QCOMPARE(found->vocabulary->tokens.size(), std::size_t{3});
    QCOMPARE(found->parameters, std::int64_t{0});
  }

  void aNameThatIsNoTextIsMadeShowable() {
    GgufWriter writer;
    writer.addTensor("\xff\n", 0, {4}, std::string(16, '\0'));
    const auto found = inspect(writer.bytes());
    QVERIFY(found.isOk());
    QCOMPARE(found->tensors[0].name, std::string("\xEF\xBF\xBD "));
  }

  void aBrokenFileIsAnError() {
    const auto found = inspect("no model at all");
    QVERIFY(!found.isOk());
    QCOMPARE(found.error().code, ErrorCode::CorruptFile);
  }
};

QTEST_GUILESS_MAIN(TestInspection)
#include "tst_inspection.moc"
