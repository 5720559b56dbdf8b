#include <QtTest/QtTest>

#include <QTemporaryDir>

#include "engine/model/gguf_config.h"
#include "engine/model/gguf_weight_source.h"
#include "engine/model/gguf_weights.h"
#include "tests/support/tiny_model.h"

using engine::ErrorCode;
using engine::Result;
using engine::model::GgufWeightSource;
using engine::model::WeightSource;
using kernels::DecoderWeights;
using kernels::DType;
using test_support::GgufWriter;
using test_support::TinyModelSpec;

class TestGgufWeights : public QObject {
  Q_OBJECT

 private:
  Result<DecoderWeights> read(const GgufWriter& writer) {
    const std::string path = m_folder.filePath("weights.gguf").toStdString();
    writer.writeTo(path);
    m_source = TRY(GgufWeightSource::open(path));
    return m_source->weights(TRY(m_source->config()));
  }

  // A tiny model's file with one tensor renamed in place, so that it is missing.
  Result<DecoderWeights> readRenamed(std::string_view name, std::string_view other) {
    std::string bytes = test_support::tinyModel(TinyModelSpec{}).bytes();
    const auto at = bytes.find(name);
    if (at != std::string::npos) bytes.replace(at, name.size(), other);
    const std::string path = m_folder.filePath("renamed.gguf").toStdString();
    test_support::writeFile(path, bytes);
    m_source = TRY(GgufWeightSource::open(path));
    return m_source->weights(TRY(m_source->config()));
  }

  QTemporaryDir m_folder;
  std::unique_ptr<WeightSource> m_source;

 private slots:

  void aFileWithoutOutputSharesTheEmbedding() {
    const auto weights = read(test_support::tinyModel(TinyModelSpec{}));
    QVERIFY2(weights.isOk(), weights ? "" : weights.error().message.c_str());
    QVERIFY(weights->output.data == weights->embedding.data);
    QCOMPARE(weights->output.rows, std::int64_t{269});
    QCOMPARE(weights->output.cols, std::int64_t{64});
  }

  void anOutputOfItsOwnMayHaveAnotherType() {
    TinyModelSpec spec;
    spec.tiedOutput = false;
    spec.outputType = DType::Q8_0;
    spec.embeddingType = DType::F16;
    const auto weights = read(test_support::tinyModel(spec));
    QVERIFY2(weights.isOk(), weights ? "" : weights.error().message.c_str());
    QVERIFY(weights->output.data != weights->embedding.data);
    QCOMPARE(weights->output.type, DType::Q8_0);
    QCOMPARE(weights->embedding.type, DType::F16);
    QCOMPARE(weights->layers[0].q.type, DType::F32);
  }

  void everyFamilyHasItsOwnParts_data() {
    QTest::addColumn<QString>("family");
    QTest::addColumn<bool>("biases");
    QTest::addColumn<bool>("headNorms");
    QTest::addColumn<bool>("postNorms");
    QTest::newRow("llama") << "llama" << false << false << false;
    QTest::newRow("qwen2") << "qwen2" << true << false << false;
    QTest::newRow("qwen3") << "qwen3" << false << true << false;
    QTest::newRow("gemma2") << "gemma2" << false << false << true;
    QTest::newRow("gemma3") << "gemma3" << false << true << true;
    QTest::newRow("phi3") << "phi3" << false << false << false;
  }

  void everyFamilyHasItsOwnParts() {
    QFETCH(QString, family);
    QFETCH(bool, biases);
    QFETCH(bool, headNorms);
    QFETCH(bool, postNorms);
    TinyModelSpec spec;
    spec.family = family.toStdString();
    const auto weights = read(test_support::tinyModel(spec));
    QVERIFY2(weights.isOk(), weights ? "" : weights.error().message.c_str());
    QCOMPARE(weights->layers.size(), std::size_t{2});
    const kernels::LayerWeights& layer = weights->layers[1];
    QCOMPARE(layer.attnNorm.size(), std::size_t{64});
    QCOMPARE(layer.q.rows, std::int64_t{64});
    QCOMPARE(layer.k.rows, std::int64_t{32});
    QCOMPARE(layer.down.cols, std::int64_t{96});
    QCOMPARE(layer.vBias.size(), std::size_t(biases ? 32 : 0));
    QCOMPARE(layer.qBias.size(), std::size_t(biases ? 64 : 0));
    QCOMPARE(layer.qNorm.size(), std::size_t(headNorms ? 16 : 0));
    QCOMPARE(layer.postFfnNorm.size(), std::size_t(postNorms ? 64 : 0));
    QCOMPARE(layer.postAttnNorm.size(), std::size_t(postNorms ? 64 : 0));
  }

  void fusedMatricesAreCutIntoRowRanges_data() {
    QTest::addColumn<int>("type");
    QTest::newRow("F32") << static_cast<int>(DType::F32);
    QTest::newRow("Q8_0") << static_cast<int>(DType::Q8_0);
  }

  void fusedMatricesAreCutIntoRowRanges() {
    QFETCH(int, type);
    TinyModelSpec spec;
    spec.family = "phi3";
    spec = test_support::withType(spec, static_cast<DType>(type));
    const auto weights = read(test_support::tinyModel(spec));
    QVERIFY2(weights.isOk(), weights ? "" : weights.error().message.c_str());
    const kernels::LayerWeights& layer = weights->layers[0];
    QCOMPARE(layer.q.rows, std::int64_t{spec.heads} * spec.headDim);
    QCOMPARE(layer.v.rows, std::int64_t{spec.kvHeads} * spec.headDim);
    QVERIFY(layer.k.data == layer.q.data + layer.q.bytes());
    QVERIFY(layer.v.data == layer.k.data + layer.k.bytes());
    QCOMPARE(layer.up.rows, std::int64_t{spec.ffn});
    QVERIFY(layer.up.data == layer.gate.data + layer.gate.bytes());
    QCOMPARE(layer.up.type, static_cast<DType>(type));
  }

  void aMissingTensorIsNamedWithItsShape() {
    const auto weights = readRenamed("blk.1.ffn_up.weight", "blk.1.ffn_xx.weight");
    QVERIFY(!weights.isOk());
    QCOMPARE(weights.error().code, ErrorCode::CorruptFile);
    const QString message = QString::fromStdString(weights.error().message);
    QVERIFY2(message.contains("blk.1.ffn_up.weight is missing, expected shape [64, 96]"),
             qPrintable(message));
  }

  void aTensorThatNothingUsesIsNamedRatherThanLeftOut() {
    GgufWriter writer = test_support::tinyModel(TinyModelSpec{});
    writer.addTensor("blk.0.attn_sinks.weight", 0, {4}, std::string(16, '\0'));
    const auto weights = read(writer);
    QVERIFY(!weights.isOk());
    QCOMPARE(weights.error().code, ErrorCode::Unsupported);
    QVERIFY(weights.error().message.find("blk.0.attn_sinks.weight") != std::string::npos);
  }

  void aWrongShapeIsNamedWithBoth() {
    TinyModelSpec spec;
    std::string bytes = test_support::tinyModel(spec).bytes();
    // ffn_length says 64, the tensors say 96
    test_support::ByteString key, wrong;
    key.string("llama.feed_forward_length").u32(4).u32(96);
    wrong.string("llama.feed_forward_length").u32(4).u32(64);
    bytes.replace(bytes.find(key.bytes()), key.bytes().size(), wrong.bytes());
    const std::string path = m_folder.filePath("shape.gguf").toStdString();
    test_support::writeFile(path, bytes);
    const auto source = GgufWeightSource::open(path);
    QVERIFY(source.isOk());
    const auto config = (*source)->config();
    QVERIFY(config.isOk());
    const auto weights = (*source)->weights(*config);
    QVERIFY(!weights.isOk());
    const QString message = QString::fromStdString(weights.error().message);
    QVERIFY2(message.contains("blk.0.ffn_gate.weight has shape [64, 96], expected [64, 64]"),
             qPrintable(message));
  }

  void theRealModelsHaveAllTheirTensors_data() {
    QTest::addColumn<QString>("file");
    QTest::addColumn<bool>("isTied");
    QTest::newRow("smollm") << "SmolLM2-135M-Instruct.Q4_1.gguf" << true;
    QTest::newRow("qwen") << "qwen2.5-coder-0.5b.gguf" << false;
    QTest::newRow("gemma") << "gemma3-270m-q4_k_m.gguf" << true;
  }

  void theRealModelsHaveAllTheirTensors() {
    QFETCH(QString, file);
    QFETCH(bool, isTied);
    const QString path = qEnvironmentVariable("TESSERA_MODELS") + "/" + file;
    if (!QFile::exists(path)) QSKIP("needs the real model in $TESSERA_MODELS");
    const auto source = GgufWeightSource::open(path.toStdString());
    QVERIFY2(source.isOk(), source ? "" : source.error().message.c_str());
    const auto config = (*source)->config();
    QVERIFY2(config.isOk(), config ? "" : config.error().message.c_str());
    const auto weights = (*source)->weights(*config);
    QVERIFY2(weights.isOk(), weights ? "" : weights.error().message.c_str());
    QCOMPARE(weights->output.data == weights->embedding.data, isTied);
  }
};

QTEST_GUILESS_MAIN(TestGgufWeights)
#include "tst_gguf_weights.moc"
