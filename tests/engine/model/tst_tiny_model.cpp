#include <QtTest/QtTest>

#include <QTemporaryDir>

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/base/check.h"
#include "engine/model/gguf_weight_source.h"
#include "kernels/core/ops.h"
#include "kernels/core/unpack.h"
#include "tests/support/processor_timer.h"
#include "tests/support/quantise.h"
#include "tests/support/tiny_model.h"

using engine::model::GgufWeightSource;
using kernels::DType;
using test_support::TinyModelSpec;
using test_support::TinyVocabulary;

namespace {

struct Said {
  std::vector<int> ids;
  double spread = 0;  // standard deviation of the last row of logits
};

double spreadOf(const std::vector<float>& values) {
  double sum = 0, squares = 0;
  for (const float value : values) {
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  const double mean = sum / static_cast<double>(values.size());
  return std::sqrt(squares / static_cast<double>(values.size()) - mean * mean);
}

// One token a step through the reference backend, each the likeliest after the last.
Said greedyTokens(const kernels::DecoderSpec& spec,
                  const kernels::DecoderWeights& weights,
                  int count) {
  kernels::BackendRequest request;
  request.spec = &spec;
  request.weights = &weights;
  request.layout = {kernels::KvType::F32, spec.numLayers, spec.numKvHeads, spec.headDim, 64, 1};
  const kernels::BackendResult backend = kernels::reference::createOps(request);
  CHECK(backend.status.isOk());
  std::vector<float> logits(static_cast<std::size_t>(spec.vocabSize));
  Said said;
  std::int32_t token = 72, sequence = 0, block = 0, row = 0;
  for (std::int32_t position = 0; position < count; ++position) {
    const std::int32_t queryStart[] = {0, 1}, length = position + 1;
    const kernels::RaggedBatch batch{1,       1,      &token, &position, &sequence, queryStart,
                                     &length, &block, 1,      &row,      1,         nullptr};
    bool isOk = backend.ops->embed(batch).isOk();
    for (int layer = 0; layer < spec.numLayers; ++layer) {
      isOk = isOk && backend.ops->qkv(layer, batch).isOk() &&
             backend.ops->attend(layer, batch).isOk() &&
             backend.ops->project(layer, batch).isOk() && backend.ops->mlp(layer, batch).isOk();
    }
    CHECK(isOk && backend.ops->logits(batch, 0, 1, logits.data(), {}).isOk());
    token = static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
    said.ids.push_back(token);
  }
  said.spread = spreadOf(logits);
  return said;
}

}  // namespace

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
    const double limits[] = {0,    3e-4, 3e-3, 0.11, 0.09, 0.055, 0.045, 0.007,
                             0.40, 0.25, 0.09, 0.05, 0.03, 0.11,  0.11};
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

  void whatItSaysVaries_data() {
    QTest::addColumn<QString>("family");
    for (const char* family : {"llama", "qwen2", "qwen3", "gemma2", "gemma3", "phi3"}) {
      QTest::newRow(family) << family;
    }
  }

  void whatItSaysVaries() {
    QFETCH(QString, family);
    TinyModelSpec spec;
    spec.family = family.toStdString();
    const std::string path = m_folder.filePath("said.gguf").toStdString();
    test_support::writeTinyModel(spec, path);
    const auto source = GgufWeightSource::open(path);
    const auto config = (*source)->config();
    const auto weights = (*source)->weights(*config);
    QVERIFY2(weights.isOk(), weights ? "" : weights.error().message.c_str());
    const Said said = greedyTokens(config->decoder, *weights, 40);
    const std::set<int> distinct(said.ids.begin(), said.ids.end());
    QVERIFY2(distinct.size() >= 8, qPrintable(QString::number(distinct.size())));
    QVERIFY2(said.spread > 1.0, qPrintable(QString::number(said.spread)));
    QVERIFY2(said.spread < 12.0, qPrintable(QString::number(said.spread)));
  }

  void isQuickToMake() {
    test_support::ProcessorTimer timer;
    timer.start();
    const std::string bytes = test_support::tinyModel(TinyModelSpec{}).bytes();
    QVERIFY(!bytes.empty());
    QVERIFY2(timer.elapsed() < 500, qPrintable(QString::number(timer.elapsed())));
  }
};

QTEST_GUILESS_MAIN(TestTinyModel)
#include "tst_tiny_model.moc"
