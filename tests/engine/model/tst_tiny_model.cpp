#include <QtTest/QtTest>

#include <QElapsedTimer>
#include <QTemporaryDir>

#include <cmath>

#include "engine/model/gguf_weight_source.h"
#include "kernels/core/unpack.h"
#include "tests/support/quantise.h"
#include "tests/support/tiny_model.h"

using engine::model::GgufWeightSource;
using kernels::DType;
using test_support::TinyModelSpec;
using test_support::TinyVocabulary;

// The generator itself: other tests stand on its files.
class TestTinyModel : public QObject {
  Q_OBJECT

 private:
  void listTypes() {
    QTest::addColumn<int>("type");
    for (int i = 0; i < kernels::kNumDTypes; ++i) {
      QTest::newRow(kernels::dtypeInfo(static_cast<DType>(i)).name) << i;
    }
  }

  QTemporaryDir m_folder;

 private slots:
  void aQuantisedRowComesBackNearlyTheSame_data() { listTypes(); }

  void aQuantisedRowComesBackNearlyTheSame() {
    QFETCH(int, type);
    const auto dtype = static_cast<DType>(type);
    // Relative root mean square error that plain rounding of a normal-like row stays under.
    const double limits[] = {0,     3e-4, 3e-3, 0.11, 0.09, 0.055, 0.045, 0.007,
                             0.40,  0.25, 0.09, 0.05, 0.03, 0.11,  0.11};
    std::vector<float> in(512), out(512);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const auto x = static_cast<float>(i);
      in[i] = 0.7f * std::sin(x * 1.7f) + 0.4f * std::cos(x * 0.37f) + 0.02f;
    }
    const std::string row = test_support::quantiseRow(dtype, in.data(), 512);
    QCOMPARE(row.size(), kernels::rowBytes(dtype, 512));
    kernels::unpackRow(dtype, reinterpret_cast<const std::byte*>(row.data()), 512, out.data());
    double error = 0, total = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
      error += (in[i] - out[i]) * (in[i] - out[i]);
      total += in[i] * in[i];
    }
    const double relative = std::sqrt(error / total);
    QVERIFY2(relative <= limits[type], qPrintable(QString::number(relative)));
  }

  void zerosStayZeros_data() { listTypes(); }

  void zerosStayZeros() {
    QFETCH(int, type);
    const std::vector<float> in(256, 0.0f);
    std::vector<float> out(256, 1.0f);
    const std::string row = test_support::quantiseRow(static_cast<DType>(type), in.data(), 256);
    kernels::unpackRow(static_cast<DType>(type), reinterpret_cast<const std::byte*>(row.data()),
                       256, out.data());
    QVERIFY(std::ranges::all_of(out, [](float value) { return value == 0.0f; }));
  }

  void aModelOfEveryTypeLoads_data() { listTypes(); }

  void aModelOfEveryTypeLoads() {
    QFETCH(int, type);
    const std::string path = m_folder.filePath("typed.gguf").toStdString();
    const TinyModelSpec spec = test_support::withType(TinyModelSpec{}, static_cast<DType>(type));
    test_support::writeTinyModel(spec, path);
    const auto source = GgufWeightSource::open(path);
    QVERIFY2(source.isOk(), source ? "" : source.error().message.c_str());
    const auto config = (*source)->config();
    QVERIFY2(config.isOk(), config ? "" : config.error().message.c_str());
    QCOMPARE(config->quantisation, std::string(kernels::dtypeInfo(spec.type).name));
    const auto weights = (*source)->weights(*config);
    QVERIFY2(weights.isOk(), weights ? "" : weights.error().message.c_str());
    QCOMPARE(weights->layers[1].down.type, spec.type);
  }

  void theSameSpecGivesTheSameBytesAndAnotherSeedOthers() {
    const TinyModelSpec spec;
    TinyModelSpec other;
    other.seed = 2;
    QVERIFY(test_support::tinyModel(spec).bytes() == test_support::tinyModel(spec).bytes());
    QVERIFY(test_support::tinyModel(spec).bytes() != test_support::tinyModel(other).bytes());
  }

  void bothVocabulariesAreRead() {
    for (const auto kind : {TinyVocabulary::ByteBpe, TinyVocabulary::SentencePiece}) {
      TinyModelSpec spec;
      spec.vocabulary = kind;
      spec.vocabSize = 400;
      const std::string path = m_folder.filePath("vocabulary.gguf").toStdString();
      test_support::writeTinyModel(spec, path);
      const auto source = GgufWeightSource::open(path);
      const auto vocabulary = (*source)->vocabulary();
      QVERIFY2(vocabulary.isOk(), vocabulary ? "" : vocabulary.error().message.c_str());
      QCOMPARE(vocabulary->tokens.size(), std::size_t{400});
      const bool isBpe = kind == TinyVocabulary::ByteBpe;
      const auto end = static_cast<std::size_t>(isBpe ? test_support::kTinyBpeImEnd
                                                      : test_support::kTinySpmImEnd);
      QCOMPARE(vocabulary->tokens[end], std::string("<|im_end|>"));
      QCOMPARE(vocabulary->types[end], engine::text::TokenType::Control);
      QCOMPARE(vocabulary->merges.empty(), !isBpe);
      QVERIFY(!vocabulary->chatTemplate.empty());
    }
  }

  void isQuickToMake() {
    QElapsedTimer timer;
    timer.start();
    const std::string bytes = test_support::tinyModel(TinyModelSpec{}).bytes();
    QVERIFY(!bytes.empty());
    QVERIFY2(timer.elapsed() < 500, qPrintable(QString::number(timer.elapsed())));
  }
};

QTEST_GUILESS_MAIN(TestTinyModel)
#include "tst_tiny_model.moc"
