#include <QtTest/QtTest>

#include <QDir>
#include <QTemporaryDir>

#include <sys/resource.h>
#include <sys/stat.h>

#include "engine/base/random.h"
#include "engine/model/gguf_file.h"
#include "engine/model/gguf_weight_source.h"
#include "tests/engine/model/hostile_gguf.h"
#include "tests/support/processor_timer.h"
#include "tests/support/tiny_model.h"

using engine::ErrorCode;
using engine::Result;
using engine::model::GgufArray;
using engine::model::GgufArrayReader;
using engine::model::GgufFile;
using engine::model::GgufType;
using engine::model::GgufValue;
using test_support::ByteString;
using test_support::GgufWriter;

namespace {

// A message fit to be shown: one bounded line of UTF-8.
bool isShowable(const std::string& message) {
  if (message.empty() || message.size() > 300) return false;
  if (message.find_first_of("\n\r\t") != std::string::npos) return false;
  return QString::fromUtf8(message.c_str()).toUtf8().toStdString() == message &&
         !QString::fromUtf8(message.c_str()).isEmpty();
}

// Always false; fails the test when the message could not be shown.
bool isRefusal(const engine::Error& error) {
  if (!isShowable(error.message)) qWarning("%s", error.message.c_str());
  [&] { QVERIFY(isShowable(error.message)); }();
  return false;
}

std::int64_t peakMemoryKib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// Goes as far with a file as loading it would; true when all of it could be used.
bool useFile(const std::string& path) {
  const auto source = engine::model::GgufWeightSource::open(path);
  if (!source) return isRefusal(source.error());
  const auto vocabulary = (*source)->vocabulary();
  if (!vocabulary) return isRefusal(vocabulary.error());
  const auto config = (*source)->config();
  if (!config) return isRefusal(config.error());
  const auto weights = (*source)->weights(*config);
  if (!weights) return isRefusal(weights.error());
  // The last byte of every matrix lies inside the file: sanitizers would object.
  for (const auto& layer : weights->layers) {
    volatile std::byte last = layer.down.data[layer.down.bytes() - 1];
    (void)last;
  }
  return true;
}

// Changes one byte of [begin, end) to another value.
void flipByte(std::string& bytes, std::size_t begin, std::size_t end, std::uint64_t counter) {
  const std::uint64_t draw = engine::mixBits(counter);
  const std::size_t at = begin + draw % (end - begin);
  bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(1 + (draw >> 32) % 255));
}

}  // namespace

class TestGgufFile : public QObject {
  Q_OBJECT

 private:
  std::string pathOf(const char* name) { return m_folder.filePath(name).toStdString(); }

  Result<GgufFile> open(std::string_view bytes) {
    const std::string path = pathOf("case.gguf");
    test_support::writeFile(path, bytes);
    return GgufFile::open(path);
  }

  void checkRefused(const Result<GgufFile>& file, const char* says) {
    QVERIFY(!file.isOk());
    const std::string& message = file.error().message;
    QCOMPARE(file.error().code, ErrorCode::CorruptFile);
    QVERIFY2(isShowable(message), message.c_str());
    QVERIFY2(message.find("case.gguf") != std::string::npos, message.c_str());
    QVERIFY2(message.find(says) != std::string::npos, message.c_str());
  }

  void listCases(const std::vector<hostile_gguf::Case>& cases) {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QByteArray>("says");
    for (const auto& one : cases) {
      QTest::newRow(one.name) << QByteArray(one.bytes.data(), qsizetype(one.bytes.size()))
                              << QByteArray(one.says);
    }
  }

  void checkFetchedCase() {
    QFETCH(QByteArray, bytes);
    QFETCH(QByteArray, says);
    test_support::ProcessorTimer timer;
    timer.start();
    checkRefused(open({bytes.constData(), std::size_t(bytes.size())}), says.constData());
    QVERIFY(timer.elapsed() < 1000);
  }

  QTemporaryDir m_folder;

 private slots:

  void readsEveryKindOfValue() {
    GgufWriter writer;
    writer.addRaw("v.u8", GgufType::UInt8, ByteString().u8(200));
    writer.addRaw("v.i8", GgufType::Int8, ByteString().u8(0xFF));
    writer.addRaw("v.u16", GgufType::UInt16, ByteString().u16(60000));
    writer.addRaw("v.i16", GgufType::Int16, ByteString().u16(0xFFFE));
    writer.add("v.u32", 4000000000u);
    writer.addRaw("v.i32", GgufType::Int32, ByteString().u32(0xFFFFFFFDu));
    writer.add("v.f32", 1.5f);
    writer.add("v.bool", true);
    writer.add("v.text", "h\xC3\xA9llo");
    writer.addRaw("v.u64", GgufType::UInt64, ByteString().u64(hostile_gguf::kHuge));
    writer.addRaw("v.i64", GgufType::Int64, ByteString().u64(hostile_gguf::kHuge));
    writer.addRaw("v.f64", GgufType::Float64, ByteString().f64(0.1));
    const auto file = open(writer.bytes());
    QVERIFY2(file.isOk(), file ? "" : file.error().message.c_str());
    const auto& metadata = file->metadata();
    QCOMPARE(metadata.entries().size(), std::size_t{12});
    QCOMPARE(*metadata.integer("v.u8").value(), std::int64_t{200});
    QCOMPARE(*metadata.integer("v.i8").value(), std::int64_t{-1});
    QCOMPARE(*metadata.integer("v.u16").value(), std::int64_t{60000});
    QCOMPARE(*metadata.integer("v.i16").value(), std::int64_t{-2});
    QCOMPARE(*metadata.integer("v.u32").value(), std::int64_t{4000000000});
    QCOMPARE(*metadata.integer("v.i32").value(), std::int64_t{-3});
    QCOMPARE(*metadata.integer("v.i64").value(), std::int64_t{-1});
    QCOMPARE(*metadata.number("v.f32").value(), 1.5);
    QCOMPARE(*metadata.number("v.f64").value(), 0.1);
    QCOMPARE(*metadata.boolean("v.bool").value(), true);
    QCOMPARE(*metadata.text("v.text").value(), std::string("h\xC3\xA9llo"));
    QVERIFY(!metadata.integer("v.u64").isOk());  // above 2^63
    QVERIFY(!metadata.integer("v.text").isOk());
    QVERIFY(!metadata.integer("absent").value().has_value());
    QCOMPARE(metadata.entries()[0].key, std::string_view("v.u8"));
  }

  void readsArraysAndArraysOfArrays() {
    GgufWriter writer;
    writer.add("a.texts", std::vector<std::string>{"x", "", "long"});
    writer.add("a.numbers", std::vector<float>{0.5f, -2.0f});
    writer.add("a.none", std::vector<float>{});
    ByteString nested;
    nested.u32(9).u64(2).u32(0).u64(2).u8(1).u8(2).u32(8).u64(1).string("in");
    writer.addRaw("a.nested", GgufType::Array, nested);
    writer.add("a.after", 7u);
    const auto file = open(writer.bytes());
    QVERIFY2(file.isOk(), file ? "" : file.error().message.c_str());
    QCOMPARE(*file->metadata().texts("a.texts").value(),
             (std::vector<std::string>{"x", "", "long"}));
    QCOMPARE(*file->metadata().numbers("a.numbers").value(), (std::vector<float>{0.5f, -2.0f}));
    QVERIFY(file->metadata().numbers("a.none").value()->empty());
    QVERIFY(!file->metadata().texts("a.numbers").isOk());
    QCOMPARE(*file->metadata().integer("a.after").value(), std::int64_t{7});

    GgufArrayReader outer(std::get<GgufArray>(file->metadata().find("a.nested")->value));
    GgufValue element;
    QVERIFY(outer.next(element));
    QCOMPARE(std::get<GgufArray>(element).count, std::uint64_t{2});
    QVERIFY(outer.next(element));
    GgufArrayReader inner(std::get<GgufArray>(element));
    QVERIFY(inner.next(element));
    QCOMPARE(std::get<std::string_view>(element), std::string_view("in"));
    QVERIFY(!inner.next(element));
    QVERIFY(!outer.next(element));
  }

  void placesTensorsWhereTheFileSays() {
    GgufWriter writer(64);
    writer.add("general.alignment", 64u);
    writer.addTensor("first", 0, {3}, std::string("abcdefghijkl"));
    writer.addTensor("second", 8, {32, 2}, std::string(68, 'q'));
    const auto file = open(writer.bytes());
    QVERIFY2(file.isOk(), file ? "" : file.error().message.c_str());
    const auto* second = file->findTensor("second");
    QVERIFY(second != nullptr);
    QCOMPARE(second->bytes, std::uint64_t{68});
    QCOMPARE(second->elements, std::int64_t{64});
    QCOMPARE(second->offset % 64, std::uint64_t{0});
    QCOMPARE(static_cast<char>(second->data[67]), 'q');
    QCOMPARE(static_cast<char>(file->findTensor("first")->data[0]), 'a');
    QVERIFY(file->findTensor("third") == nullptr);
  }

  void version2IsReadLikeVersion3() {
    std::string bytes = test_support::tinyModel({}).bytes();
    bytes[4] = 2;
    const auto file = open(bytes);
    QVERIFY2(file.isOk(), file ? "" : file.error().message.c_str());
    QCOMPARE(file->version(), 2u);
  }

  void aDefinedTypeThatWeDoNotRunIsStillReadable() {
    GgufWriter writer;
    writer.add("general.architecture", "llama");
    writer.addTensor("a", 39, {32}, std::string(17, '\1'));
    writer.addTensor("b", 34, {256}, std::string(54, '\1'));
    const auto file = open(writer.bytes());
    QVERIFY2(file.isOk(), file ? "" : file.error().message.c_str());
    QCOMPARE(std::string(file->tensors()[0].type->name), std::string("MXFP4"));
    QCOMPARE(std::string(file->tensors()[1].type->name), std::string("TQ1_0"));
    QVERIFY(!file->tensors()[0].type->dtype.has_value());
  }

  void kernelTypesHaveTheirFileTypes() {
    for (int i = 0; i < kernels::kNumDTypes; ++i) {
      const auto dtype = static_cast<kernels::DType>(i);
      const auto& type = engine::model::tensorTypeOf(dtype);
      QCOMPARE(std::string(type.name), std::string(kernels::dtypeInfo(dtype).name));
      QCOMPARE(type.bytesPerBlock, kernels::dtypeInfo(dtype).bytesPerBlock);
      QCOMPARE(type.elementsPerBlock, kernels::dtypeInfo(dtype).elementsPerBlock);
    }
  }

  void aHostileHeaderIsRefused_data() { listCases(hostile_gguf::headerCases()); }

  void aHostileHeaderIsRefused() { checkFetchedCase(); }

  void hostileMetadataIsRefused_data() { listCases(hostile_gguf::metadataCases()); }

  void hostileMetadataIsRefused() { checkFetchedCase(); }

  void hostileTensorsAreRefused_data() { listCases(hostile_gguf::tensorCases()); }

  void hostileTensorsAreRefused() { checkFetchedCase(); }

  void everyTruncationIsRefused() {
    GgufWriter writer = test_support::tinyModel({});
    const std::string bytes = writer.bytes();
    const auto whole = open(bytes);
    QVERIFY(whole.isOk());
    // The front byte by byte (tokens are alike, so not all), then the data in steps.
    for (std::size_t length = 0; length < bytes.size() - 32; length += length < 2000 ? 1 : 997) {
      const auto file = open(std::string_view(bytes).substr(0, length));
      QVERIFY(!file.isOk());
      QVERIFY2(isShowable(file.error().message), file.error().message.c_str());
    }
  }

  void tenThousandFlippedBytesNeverCrash() {
    test_support::TinyModelSpec spec;
    spec.layers = 1;
    spec.hidden = spec.ffn = 16;
    spec.heads = 2;
    spec.kvHeads = 1;
    spec.headDim = 8;
    const std::string whole = test_support::tinyModel(spec).bytes();
    // Token texts are the bulk of the file; flips go to what surrounds them.
    const std::size_t tokens = whole.find("tokenizer.ggml.tokens");
    const std::size_t tensors = whole.find("tokenizer.ggml.bos_token_id");
    const std::string path = pathOf("flipped.gguf");
    int numRefused = 0, numUsed = 0;
    for (std::uint64_t round = 0; round < 10000; ++round) {
      std::string bytes = whole;
      for (std::uint64_t flip = 0; flip <= round % 3; ++flip) {
        if (round % 2 == 0) flipByte(bytes, 0, tokens, 3 * round + flip);
        if (round % 2 == 1) flipByte(bytes, tensors, tensors + 1600, 3 * round + flip);
      }
      test_support::writeFile(path, bytes);
      (useFile(path) ? numUsed : numRefused) += 1;
      if (QTest::currentTestFailed()) return;
    }
    QVERIFY2(numRefused > 1000, qPrintable(QString::number(numRefused)));
    QVERIFY2(numUsed > 500, qPrintable(QString::number(numUsed)));
  }

  void aFileThatCannotBeReadSaysWhy() {
    const auto missing = GgufFile::open(pathOf("missing.gguf"));
    QCOMPARE(missing.error().code, ErrorCode::NotFound);
    QVERIFY(missing.error().message.find("missing.gguf") != std::string::npos);
    const auto folder = GgufFile::open(m_folder.path().toStdString());
    QCOMPARE(folder.error().code, ErrorCode::InvalidArgument);
    QVERIFY(folder.error().message.find("folder") != std::string::npos);
    QVERIFY(!GgufFile::open("").isOk());
  }

  void aPipeIsRefusedWithoutWaiting() {
    const std::string path = pathOf("pipe");
    QCOMPARE(::mkfifo(path.c_str(), 0600), 0);
    const auto file = GgufFile::open(path);
    QVERIFY(!file.isOk());
    QVERIFY(file.error().message.find("regular") != std::string::npos);
  }

  void aLongOrStrangePathStaysShowable() {
    const std::string name = std::string(200, 'x') + "\xff\n.gguf";
    const std::string path = pathOf(name.c_str());
    test_support::writeFile(path, "no");
    const auto file = GgufFile::open(path);
    QVERIFY(!file.isOk());
    QVERIFY2(isShowable(file.error().message), file.error().message.c_str());
  }

  void theHandedHostileFilesAreRefused() {
    const QDir folder(qEnvironmentVariable("TESSERA_SHARED") + "/cases/files");
    const QStringList names = folder.entryList({"*.gguf"}, QDir::Files);
    if (names.isEmpty()) QSKIP("needs the case files in $TESSERA_SHARED");
    const std::int64_t before = peakMemoryKib();
    for (const QString& name : names) {
      test_support::ProcessorTimer timer;
      timer.start();
      const auto file = GgufFile::open(folder.filePath(name).toStdString());
      QVERIFY2(!file.isOk(), qPrintable(name));
      QVERIFY2(isShowable(file.error().message), file.error().message.c_str());
      QVERIFY2(QString::fromStdString(file.error().message).contains(name), qPrintable(name));
      QVERIFY(timer.elapsed() < 1000);
    }
    QVERIFY(peakMemoryKib() - before < 100 * 1024);
  }
};

QTEST_GUILESS_MAIN(TestGgufFile)
#include "tst_gguf_file.moc"
