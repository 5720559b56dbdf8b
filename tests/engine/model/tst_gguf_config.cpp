#include <QtTest/QtTest>

#include <QTemporaryDir>

#include <cmath>
#include <functional>

#include "engine/model/gguf_config.h"
#include "tests/support/tiny_model.h"

using engine::ErrorCode;
using engine::Result;
using engine::model::GgufFile;
using engine::model::ModelConfig;
using engine::model::readConfig;
using kernels::DecoderSpec;
using kernels::RopePairing;
using test_support::GgufWriter;
using test_support::TinyModelSpec;

namespace {

TinyModelSpec familySpec(const char* family) {
  TinyModelSpec spec;
  spec.family = family;
  return spec;
}

// A metadata-only llama with one tensor; `change` adds what a case is about.
GgufWriter bareLlama(const std::function<void(GgufWriter&)>& change,
                     const std::vector<std::string>& without = {}) {
  GgufWriter writer;
  writer.add("general.architecture", "llama");
  const std::pair<const char*, std::uint32_t> numbers[] = {
      {"llama.context_length", 128},     {"llama.embedding_length", 64},
      {"llama.block_count", 1},          {"llama.feed_forward_length", 96},
      {"llama.attention.head_count", 4}, {"llama.attention.head_count_kv", 2}};
  for (const auto& [key, value] : numbers) {
    if (std::ranges::find(without, key) == without.end()) writer.add(key, value);
  }
  const std::string eps = "llama.attention.layer_norm_rms_epsilon";
  if (std::ranges::find(without, eps) == without.end()) writer.add(eps, 1e-5f);
  change(writer);
  writer.addTensor("token_embd.weight", 0, {64, 8}, std::string(64 * 8 * 4, '\0'));
  return writer;
}

}  // namespace

class TestGgufConfig : public QObject {
  Q_OBJECT

 private:
  Result<ModelConfig> read(const GgufWriter& writer, std::int64_t maxContext = 0) {
    const std::string path = m_folder.filePath("config.gguf").toStdString();
    writer.writeTo(path);
    const auto file = GgufFile::open(path);
    if (!file) return file.error();
    return readConfig(*file, maxContext);
  }

  QTemporaryDir m_folder;

 private slots:

  void readsLlama() {
    const auto config = read(test_support::tinyModel(familySpec("llama")));
    QVERIFY2(config.isOk(), config ? "" : config.error().message.c_str());
    QCOMPARE(config->architecture, std::string("llama"));
    QCOMPARE(config->name, std::string("tiny"));
    QCOMPARE(config->quantisation, std::string("F32"));
    QCOMPARE(config->trainedContext, std::int64_t{512});
    const DecoderSpec& spec = config->decoder;
    QCOMPARE(spec.numLayers, 2);
    QCOMPARE(spec.hidden, 64);
    QCOMPARE(spec.numHeads, 4);
    QCOMPARE(spec.numKvHeads, 2);
    QCOMPARE(spec.headDim, 16);
    QCOMPARE(spec.ffn, 96);
    QCOMPARE(spec.vocabSize, std::int64_t{269});
    QCOMPARE(spec.activation, kernels::Activation::SiluGate);
    QCOMPARE(spec.embedScale, 1.0f);
    QCOMPARE(spec.attentionScale, 0.25f);
    QCOMPARE(spec.ropes.size(), std::size_t{1});
    QCOMPARE(spec.ropes[0].pairing, RopePairing::Interleaved);
    QCOMPARE(spec.ropes[0].inverseFrequencies.size(), std::size_t{8});
    QCOMPARE(spec.layers.size(), std::size_t{2});
    QCOMPARE(spec.layers[0].window, 0);
  }

  void qwenRotatesHalves() {
    for (const char* family : {"qwen2", "qwen3"}) {
      const auto config = read(test_support::tinyModel(familySpec(family)));
      QVERIFY2(config.isOk(), config ? "" : config.error().message.c_str());
      QCOMPARE(config->decoder.ropes[0].pairing, RopePairing::Halves);
    }
  }

  void gemmaHasFiveLocalLayersToOneGlobalWithTwoRopes() {
    TinyModelSpec tiny = familySpec("gemma3");
    tiny.layers = 13;
    tiny.ropeBase = 1000000.0f;
    const auto config = read(test_support::tinyModel(tiny));
    QVERIFY2(config.isOk(), config ? "" : config.error().message.c_str());
    const DecoderSpec& spec = config->decoder;
    QCOMPARE(spec.embedScale, 8.0f);
    QCOMPARE(spec.activation, kernels::Activation::GeluTanhGate);
    QCOMPARE(spec.ropes.size(), std::size_t{2});
    QCOMPARE(spec.ropes[0].inverseFrequencies[1],
             static_cast<float>(std::pow(1000000.0, -1.0 / 8)));
    QCOMPARE(spec.ropes[1].inverseFrequencies[1], static_cast<float>(std::pow(10000.0, -1.0 / 8)));
    for (std::size_t i = 0; i < 13; ++i) {
      const bool isGlobal = i == 5 || i == 11;
      QCOMPARE(spec.layers[i].window, isGlobal ? 0 : 512);
      QCOMPARE(spec.layers[i].rope, isGlobal ? 0 : 1);
    }
  }

  void gemmasWindowAndScalingComeFromTheFileWhenThere() {
    TinyModelSpec tiny = familySpec("gemma3");
    tiny.layers = 6;
    tiny.window = 24;
    tiny.ropeScaleFactor = 8.0f;
    const auto config = read(test_support::tinyModel(tiny));
    QVERIFY2(config.isOk(), config ? "" : config.error().message.c_str());
    QCOMPARE(config->decoder.layers[0].window, 24);
    QCOMPARE(config->decoder.layers[5].window, 0);
    QCOMPARE(config->decoder.ropes[0].inverseFrequencies[0], 0.125f);
    QCOMPARE(config->decoder.ropes[1].inverseFrequencies[0], 1.0f);  // local layers do not stretch
  }

  void anExplicitHeadSizeWinsOverWidthByHeads() {
    TinyModelSpec tiny = familySpec("qwen3");
    tiny.hidden = 96;
    tiny.heads = 3;
    tiny.kvHeads = 1;
    tiny.headDim = 40;
    const auto config = read(test_support::tinyModel(tiny));
    QVERIFY2(config.isOk(), config ? "" : config.error().message.c_str());
    QCOMPARE(config->decoder.headDim, 40);
    QCOMPARE(config->decoder.attentionScale, static_cast<float>(1.0 / std::sqrt(40.0)));
    QCOMPARE(config->decoder.ropes[0].inverseFrequencies.size(), std::size_t{20});
  }

  void absentKeysTakeTheFormatsDefaults() {
    const auto config = read(bareLlama([](GgufWriter&) {}, {"llama.attention.head_count_kv"}));
    QVERIFY2(config.isOk(), config ? "" : config.error().message.c_str());
    QCOMPARE(config->decoder.numKvHeads, 4);
    QCOMPARE(config->decoder.headDim, 16);
    QCOMPARE(config->name, std::string("config"));  // the file's own name
    QCOMPARE(config->decoder.vocabSize, std::int64_t{8});
  }

  void anEqualValuePerLayerIsTakenAndADifferingOneRefused() {
    const auto equal = read(bareLlama(
        [](GgufWriter& w) {
          w.add("llama.attention.head_count_kv", std::vector<std::int32_t>{2, 2});
        },
        {"llama.attention.head_count_kv"}));
    QVERIFY2(equal.isOk(), equal ? "" : equal.error().message.c_str());
    QCOMPARE(equal->decoder.numKvHeads, 2);
    const auto differing = read(bareLlama(
        [](GgufWriter& w) {
          w.add("llama.attention.head_count_kv", std::vector<std::int32_t>{2, 1});
        },
        {"llama.attention.head_count_kv"}));
    QVERIFY(!differing.isOk());
    QCOMPARE(differing.error().code, ErrorCode::Unsupported);
  }

  void llamasFactorsDivideTheFrequencies() {
    TinyModelSpec tiny;
    tiny.ropeFactors = {1, 1, 2, 2, 4, 4, 8, 8};
    const auto plain = read(test_support::tinyModel(TinyModelSpec{}));
    const auto scaled = read(test_support::tinyModel(tiny));
    QVERIFY2(scaled.isOk(), scaled ? "" : scaled.error().message.c_str());
    for (std::size_t i = 0; i < 8; ++i) {
      QCOMPARE(scaled->decoder.ropes[0].inverseFrequencies[i] * tiny.ropeFactors[i],
               plain->decoder.ropes[0].inverseFrequencies[i]);
    }
  }

  void gemma2AlternatesAndCapsAsItsPaperSays() {
    TinyModelSpec tiny = familySpec("gemma2");
    tiny.layers = 4;
    const auto config = read(test_support::tinyModel(tiny));
    QVERIFY2(config.isOk(), config ? "" : config.error().message.c_str());
    const DecoderSpec& spec = config->decoder;
    QCOMPARE(spec.attentionSoftCap, 50.0f);
    QCOMPARE(spec.finalSoftCap, 30.0f);
    QCOMPARE(spec.embedScale, 8.0f);
    QCOMPARE(spec.attentionScale, 0.25f);
    QCOMPARE(spec.ropes.size(), std::size_t{1});
    for (std::size_t i = 0; i < 4; ++i) QCOMPARE(spec.layers[i].window, i % 2 == 0 ? 4096 : 0);
  }

  void theLargestGemma2ScalesByWidthOverHeads() {
    TinyModelSpec tiny = familySpec("gemma2");
    tiny.layers = 46;
    tiny.headDim = 8;  // 64 / 4 heads would be 16
    const auto config = read(test_support::tinyModel(tiny));
    QVERIFY2(config.isOk(), config ? "" : config.error().message.c_str());
    QCOMPARE(config->decoder.attentionScale, 0.25f);
  }

  void yarnKeepsWhatTurnsOftenAndStretchesTheRest() {
    TinyModelSpec tiny;
    tiny.headDim = 32;
    tiny.ropeScaling = "yarn";
    tiny.ropeScaleFactor = 4.0f;
    tiny.originalContext = 64;
    const auto plain = read(test_support::tinyModel([&] {
      TinyModelSpec spec;
      spec.headDim = 32;
      return spec;
    }()));
    const auto yarn = read(test_support::tinyModel(tiny));
    QVERIFY2(yarn.isOk(), yarn ? "" : yarn.error().message.c_str());
    const auto& rope = yarn->decoder.ropes[0];
    const auto& before = plain->decoder.ropes[0].inverseFrequencies;
    // 64 positions are 10.19 radians of turns: the ramp runs from pair 0 to 32*ln(10.19)/(2 ln 1e4)
    // = 4.03, rounded up to 5
    QCOMPARE(rope.inverseFrequencies[0], before[0]);
    QCOMPARE(rope.inverseFrequencies[2], before[2] * (0.6f + 0.4f / 4));
    for (std::size_t i = 5; i < 16; ++i) QCOMPARE(rope.inverseFrequencies[i], before[i] / 4);
    QCOMPARE(rope.magnitude, static_cast<float>(1.0 + 0.1 * std::log(4.0)));
  }

  void yarnsKeysChangeItsNumbers() {
    TinyModelSpec tiny;
    tiny.ropeScaling = "yarn";
    tiny.ropeScaleFactor = 4.0f;
    tiny.ropeScalingKeys = {{"yarn_ext_factor", 0.0f}, {"yarn_attn_factor", 1.5f}};
    const auto noRamp = read(test_support::tinyModel(tiny));
    QVERIFY2(noRamp.isOk(), noRamp ? "" : noRamp.error().message.c_str());
    QCOMPARE(noRamp->decoder.ropes[0].inverseFrequencies[0], 0.25f);
    QCOMPARE(noRamp->decoder.ropes[0].magnitude, 1.5f);
    tiny.ropeScalingKeys = {{"yarn_ext_factor", -1.0f}, {"yarn_log_multiplier", 1.0f}};
    const auto unsetRamp = read(test_support::tinyModel(tiny));
    QVERIFY2(unsetRamp.isOk(), unsetRamp ? "" : unsetRamp.error().message.c_str());
    QCOMPARE(unsetRamp->decoder.ropes[0].inverseFrequencies[0], 1.0f);
    QCOMPARE(unsetRamp->decoder.ropes[0].magnitude, 1.0f);
    tiny.ropeScalingKeys = {{"yarn_ext_factor", 2.0f}};
    QVERIFY(!read(test_support::tinyModel(tiny)).isOk());
    tiny.ropeScalingKeys = {{"yarn_log_multiplier", -20.0f}};
    QVERIFY(!read(test_support::tinyModel(tiny)).isOk());
    tiny.ropeScalingKeys = {};
    tiny.ropeBase = 1.0f;
    QVERIFY(!read(test_support::tinyModel(tiny)).isOk());
  }

  void longropeTakesTheLongFactorsBeyondItsFirstContext() {
    TinyModelSpec tiny = familySpec("phi3");
    tiny.ropeScaling = "longrope";
    tiny.originalContext = 64;
    tiny.longFactors = std::vector<float>(8, 4.0f);
    tiny.shortFactors = std::vector<float>(8, 2.0f);
    tiny.ropeScalingKeys = {{"attn_factor", 1.25f}};
    const GgufWriter writer = test_support::tinyModel(tiny);
    QCOMPARE(read(writer)->decoder.ropes[0].inverseFrequencies[0], 0.25f);  // trained on 512
    QCOMPARE(read(writer, 65)->decoder.ropes[0].inverseFrequencies[0], 0.25f);
    QCOMPARE(read(writer, 64)->decoder.ropes[0].inverseFrequencies[0], 0.5f);
    QCOMPARE(read(writer, 64)->decoder.ropes[0].magnitude, 1.25f);
    tiny.shortFactors.clear();
    const auto half = read(test_support::tinyModel(tiny));
    QVERIFY(!half.isOk());
    QVERIFY2(half.error().message.find("rope_factors_short") != std::string::npos,
             half.error().message.c_str());
  }

  void factorsOfTheWrongLengthOrSignAreRefused() {
    TinyModelSpec tiny;
    tiny.ropeFactors = {1, 1};
    QVERIFY(!read(test_support::tinyModel(tiny)).isOk());
    tiny.ropeFactors = {1, 1, 1, 1, 1, 1, 1, 0};
    QVERIFY(!read(test_support::tinyModel(tiny)).isOk());
  }

  void whatWeDoNotRunIsNamed_data() {
    QTest::addColumn<QString>("kind");
    QTest::addColumn<QString>("named");
    QTest::newRow("architecture") << "architecture"
                                  << "mamba";
    QTest::newRow("qwen3moe") << "qwen3moe"
                              << "\"qwen3moe\" is not run";
    QTest::newRow("phimoe") << "phimoe"
                            << "\"phimoe\" is not run";
    QTest::newRow("experts") << "experts"
                             << "8 experts";
    QTest::newRow("scaling") << "scaling"
                             << "dynamic";
    QTest::newRow("tensor type") << "type"
                                 << "IQ2_XS";
    QTest::newRow("vocabulary only") << "empty"
                                     << "no weights";
    QTest::newRow("not causal") << "causal"
                                << "causal";
    QTest::newRow("value size") << "value"
                                << "values of 32";
  }

  void whatWeDoNotRunIsNamed() {
    QFETCH(QString, kind);
    QFETCH(QString, named);
    GgufWriter writer = bareLlama([&](GgufWriter& w) {
      if (kind == "experts") w.add("llama.expert_count", 8u);
      if (kind == "scaling") w.add("llama.rope.scaling.type", "dynamic");
      if (kind == "causal") w.add("llama.attention.causal", false);
      if (kind == "value") w.add("llama.attention.value_length", 32u);
    });
    if (kind == "type") writer.addTensor("x", 17, {256}, std::string(74, '\0'));
    if (kind == "architecture" || kind == "empty" || kind.endsWith("moe")) {
      const std::string other = kind == "architecture" ? "mamba" : kind.toStdString();
      writer = GgufWriter();
      writer.add("general.architecture", kind == "empty" ? std::string("llama") : other);
    }
    const auto config = read(writer);
    QVERIFY(!config.isOk());
    QCOMPARE(config.error().code, ErrorCode::Unsupported);
    QVERIFY2(QString::fromStdString(config.error().message).contains(named),
             config.error().message.c_str());
  }

  void impossibleNumbersAreRefusedByName_data() {
    QTest::addColumn<QString>("key");
    QTest::addColumn<qint64>("value");
    for (const char* key : {"llama.context_length", "llama.embedding_length", "llama.block_count",
                            "llama.feed_forward_length", "llama.attention.head_count",
                            "llama.attention.head_count_kv"}) {
      for (const qint64 value : {qint64{0}, qint64{-4}, qint64{1} << 40}) {
        QTest::addRow("%s = %lld", key, static_cast<long long>(value)) << key << value;
      }
      QTest::addRow("%s absent", key) << key << std::numeric_limits<qint64>::min();
    }
    QTest::newRow("uneven share") << "llama.attention.head_count" << qint64{5};
    QTest::newRow("uneven groups") << "llama.attention.head_count_kv" << qint64{3};
    QTest::newRow("odd head") << "llama.attention.key_length" << qint64{15};
    QTest::newRow("rope beyond the head") << "llama.rope.dimension_count" << qint64{18};
    QTest::newRow("odd rope") << "llama.rope.dimension_count" << qint64{7};
  }

  void impossibleNumbersAreRefusedByName() {
    QFETCH(QString, key);
    QFETCH(qint64, value);
    const std::string name = key.toStdString();
    const bool isAbsent = value == std::numeric_limits<qint64>::min();
    const auto config = read(bareLlama(
        [&](GgufWriter& w) {
          test_support::ByteString bytes;
          bytes.u64(static_cast<std::uint64_t>(value));
          if (!isAbsent) w.addRaw(name, engine::model::GgufType::Int64, bytes);
        },
        {name}));
    if (isAbsent && name.ends_with("head_count_kv")) return;  // has a default
    QVERIFY(!config.isOk());
    QCOMPARE(config.error().code, ErrorCode::CorruptFile);
    QVERIFY(config.error().message.size() < 300);
  }

  void floatsThatAreNoUsableNumberAreRefused() {
    const float bad[] = {0.0f, -1.0f, NAN, INFINITY};
    for (const float value : bad) {
      for (const char* key : {"llama.rope.freq_base", "llama.rope.scaling.factor"}) {
        const auto config = read(bareLlama([&](GgufWriter& w) { w.add(key, value); }));
        QVERIFY(!config.isOk());
        QVERIFY2(config.error().message.find(key) != std::string::npos,
                 config.error().message.c_str());
      }
      const std::string eps = "llama.attention.layer_norm_rms_epsilon";
      QVERIFY(!read(bareLlama([&](GgufWriter& w) { w.add(eps, value); }, {eps})).isOk());
    }
  }

  void aVocabularyOfAnotherLengthThanTheEmbeddingIsRefused() {
    const auto config = read(bareLlama([](GgufWriter& w) {
      w.add("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "c"});
    }));
    QVERIFY(!config.isOk());
    QVERIFY2(config.error().message.find("3 tokens") != std::string::npos,
             config.error().message.c_str());
  }

  void readsTheRealModels_data() {
    QTest::addColumn<QString>("file");
    QTest::addColumn<QString>("quantisation");
    QTest::addColumn<QList<int>>("sizes");  // layers, hidden, heads, kv heads, head size, ffn
    QTest::newRow("smollm") << "SmolLM2-135M-Instruct.Q4_1.gguf"
                            << "Q4_1" << QList<int>{30, 576, 9, 3, 64, 1536};
    QTest::newRow("qwen") << "qwen2.5-coder-0.5b.gguf"
                          << "Q5_0" << QList<int>{24, 896, 14, 2, 64, 4864};
    QTest::newRow("gemma") << "gemma3-270m-q4_k_m.gguf"
                           << "Q8_0" << QList<int>{18, 640, 4, 1, 256, 2048};
  }

  void readsTheRealModels() {
    QFETCH(QString, file);
    QFETCH(QString, quantisation);
    QFETCH(QList<int>, sizes);
    const QString path = qEnvironmentVariable("TESSERA_MODELS") + "/" + file;
    if (!QFile::exists(path)) QSKIP("needs the real model in $TESSERA_MODELS");
    const auto opened = GgufFile::open(path.toStdString());
    QVERIFY2(opened.isOk(), opened ? "" : opened.error().message.c_str());
    const auto config = readConfig(*opened);
    QVERIFY2(config.isOk(), config ? "" : config.error().message.c_str());
    const DecoderSpec& spec = config->decoder;
    const QList<int> found{spec.numLayers,  spec.hidden,  spec.numHeads,
                           spec.numKvHeads, spec.headDim, spec.ffn};
    QCOMPARE(found, sizes);
    QCOMPARE(QString::fromStdString(config->quantisation), quantisation);
    if (config->architecture == "gemma3") {
      QCOMPARE(spec.layers[0].window, 512);
      QCOMPARE(spec.layers[17].window, 0);
    }
  }
};

QTEST_GUILESS_MAIN(TestGgufConfig)
#include "tst_gguf_config.moc"
