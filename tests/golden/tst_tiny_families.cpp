// Every family and rope scaling against float64 arithmetic written apart from the engine
// (tests/golden/tiny_families.py; tests/golden/data/tiny_families.json). To make the numbers anew:
//   TESSERA_TINY_FOLDER=DIR tst.golden.tiny_families
//   python3 tests/golden/tiny_families.py DIR tests/golden/data/tiny_families.json
#include <QCryptographicHash>
#include <QDir>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "engine/base/check.h"
#include "engine/model/gguf_weight_source.h"
#include "kernels/core/ops.h"
#include "tests/support/tiny_families.h"

using kernels::DecoderSpec;
using kernels::DecoderWeights;
using nlohmann::json;
using test_support::TinyFamily;

namespace {

constexpr double kTolerance = 0.001, kSpan = 3.0;
constexpr double kVisible = 10 * kTolerance;  // what a feature left out must shift at least

using Makes = std::function<kernels::BackendResult(const kernels::BackendRequest&)>;

// Logits after the last of `ids`, all in one step.
std::vector<float> lastLogits(const DecoderSpec& spec,
                              const DecoderWeights& weights,
                              const std::vector<std::int32_t>& ids,
                              const Makes& makeOps,
                              kernels::KvType kvType) {
  kernels::BackendRequest request;
  request.spec = &spec;
  request.weights = &weights;
  request.layout = {kvType, spec.numLayers, spec.numKvHeads, spec.headDim, 128, 1};
  const kernels::BackendResult backend = makeOps(request);
  if (!backend.status.isOk()) qFatal("%s", backend.status.message.c_str());
  const auto count = static_cast<std::int32_t>(ids.size());
  std::vector<std::int32_t> positions(ids.size()), sequences(ids.size(), 0);
  std::iota(positions.begin(), positions.end(), 0);
  const std::int32_t queryStart[] = {0, count}, block = 0, last = count - 1;
  const kernels::RaggedBatch batch{
      count, 1,     ids.data(), positions.data(), sequences.data(), queryStart, &count, &block,
      1,     &last, 1,          nullptr};
  bool isOk = backend.ops->embed(batch).isOk();
  for (int layer = 0; layer < spec.numLayers; ++layer) {
    isOk = isOk && backend.ops->qkv(layer, batch).isOk() &&
           backend.ops->attend(layer, batch).isOk() && backend.ops->project(layer, batch).isOk() &&
           backend.ops->mlp(layer, batch).isOk();
  }
  std::vector<float> logits(static_cast<std::size_t>(spec.vocabSize));
  CHECK(isOk && backend.ops->logits(batch, 0, 1, logits.data(), {}).isOk());
  return logits;
}

// The largest distance from the golden log-probabilities of the likeliest tokens.
double worstError(const std::vector<float>& logits, const json& top) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(double{logit} - largest);
  const double logSum = largest + std::log(sum);
  double worst = 0;
  for (const json& entry : top) {
    const double found = double{logits[entry[0].get<std::size_t>()]} - logSum;
    worst = std::max(worst, std::fabs(found - entry[1].get<double>()));
  }
  return worst;
}

std::vector<float> plainFrequencies(double base, std::size_t size) {
  std::vector<float> out(size);
  for (std::size_t i = 0; i < size; ++i) {
    out[i] =
        static_cast<float>(std::pow(base, -static_cast<double>(i) / static_cast<double>(size)));
  }
  return out;
}

struct Decoder {
  DecoderSpec spec;
  DecoderWeights weights;
};

using Edit = std::function<void(Decoder&, const TinyFamily&)>;

template <typename Change>
Edit onLayerSpecs(Change change) {
  return [change](Decoder& decoder, const TinyFamily&) {
    for (kernels::LayerSpec& layer : decoder.spec.layers) change(layer);
  };
}

template <typename Change>
Edit onWeights(Change change) {
  return [change](Decoder& decoder, const TinyFamily&) {
    for (kernels::LayerWeights& layer : decoder.weights.layers) change(layer);
  };
}

// Switches one feature off.
const std::map<std::string, Edit>& edits() {
  using kernels::LayerSpec;
  using kernels::LayerWeights;
  static const std::map<std::string, Edit> all = {
      {"window", onLayerSpecs([](LayerSpec& layer) { layer.window = 0; })},
      {"local rope", onLayerSpecs([](LayerSpec& layer) { layer.rope = 0; })},
      {"layer order",
       [](Decoder& decoder, const TinyFamily&) { std::ranges::reverse(decoder.spec.layers); }},
      {"attention cap", [](Decoder& d, const TinyFamily&) { d.spec.attentionSoftCap = 0.0f; }},
      {"final cap", [](Decoder& d, const TinyFamily&) { d.spec.finalSoftCap = 0.0f; }},
      {"embedding scale", [](Decoder& d, const TinyFamily&) { d.spec.embedScale = 1.0f; }},
      {"activation",
       [](Decoder& d, const TinyFamily&) { d.spec.activation = kernels::Activation::SiluGate; }},
      {"scaling",
       [](Decoder& decoder, const TinyFamily& family) {
         auto& frequencies = decoder.spec.ropes[0].inverseFrequencies;
         frequencies = plainFrequencies(double{family.spec.ropeBase}, frequencies.size());
       }},
      {"stretch alone",  // yarn without its ramp
       [](Decoder& decoder, const TinyFamily& family) {
         auto& frequencies = decoder.spec.ropes[0].inverseFrequencies;
         frequencies = plainFrequencies(double{family.spec.ropeBase}, frequencies.size());
         for (float& frequency : frequencies) frequency /= family.spec.ropeScaleFactor;
       }},
      {"magnitude", [](Decoder& d, const TinyFamily&) { d.spec.ropes[0].magnitude = 1.0f; }},
      {"pairing",
       [](Decoder& d, const TinyFamily&) {
         d.spec.ropes[0].pairing = kernels::RopePairing::Halves;
       }},
      {"output matrix",
       [](Decoder& d, const TinyFamily&) { d.weights.output = d.weights.embedding; }},
      {"query norm", onWeights([](LayerWeights& layer) { layer.qNorm.clear(); })},
      {"key norm", onWeights([](LayerWeights& layer) { layer.kNorm.clear(); })},
      {"gate and up", onWeights([](LayerWeights& layer) { std::swap(layer.gate, layer.up); })},
      {"post norms", onWeights([](LayerWeights& layer) {
         layer.postAttnNorm.clear();
         layer.postFfnNorm.clear();
       })},
      {"bias", onWeights([](LayerWeights& layer) {
         layer.qBias.clear();
         layer.kBias.clear();
         layer.vBias.clear();
       })},
  };
  return all;
}

}  // namespace

class TinyFamiliesTest : public QObject {
  Q_OBJECT

 private:
  std::string pathOf(const TinyFamily& family) const {
    const QString kept = qEnvironmentVariable("TESSERA_TINY_FOLDER");
    const QDir folder(kept.isEmpty() ? m_folder.path() : kept);
    return folder.filePath(QString::fromStdString(family.name + ".gguf")).toStdString();
  }

  engine::Result<Decoder> open(const TinyFamily& family) {
    m_source = TRY(engine::model::GgufWeightSource::open(pathOf(family)));
    const engine::model::ModelConfig config = TRY(m_source->configFor(family.maxContext));
    return Decoder{config.decoder, TRY(m_source->weights(config))};
  }

  void listFamilies() {
    QTest::addColumn<int>("index");
    for (std::size_t i = 0; i < m_families.size(); ++i) {
      QTest::newRow(m_families[i].name.c_str()) << static_cast<int>(i);
    }
  }

  const json& goldenOf(const TinyFamily& family) const { return m_golden.at(family.name); }

  QTemporaryDir m_folder;
  std::vector<TinyFamily> m_families = test_support::tinyFamilies();
  std::unique_ptr<engine::model::WeightSource> m_source;
  json m_golden;

 private slots:

  void initTestCase() {
    json cases = json::array();
    for (const TinyFamily& family : m_families) {
      test_support::writeTinyModel(family.spec, pathOf(family));
      cases.push_back({{"name", family.name},
                       {"length", family.promptLength},
                       {"max_context", family.maxContext}});
    }
    if (qEnvironmentVariableIsSet("TESSERA_TINY_FOLDER")) {
      const QDir folder(qEnvironmentVariable("TESSERA_TINY_FOLDER"));
      std::ofstream(folder.filePath("cases.json").toStdString()) << cases.dump(1);
    }
    const QString source = qEnvironmentVariable("TESSERA_SOURCE_DIR");
    std::ifstream file((source + "/tests/golden/data/tiny_families.json").toStdString());
    QVERIFY2(file.good(), "tests/golden/data/tiny_families.json is missing");
    m_golden = json::parse(file);
    for (const TinyFamily& family : m_families) {
      QVERIFY2(m_golden.contains(family.name), family.name.c_str());
    }
  }

  void theReferenceRecipeComesNearFloat64_data() { listFamilies(); }

  void theReferenceRecipeComesNearFloat64() {
    QFETCH(int, index);
    const TinyFamily& family = m_families[static_cast<std::size_t>(index)];
    const json& golden = goldenOf(family);
    const QByteArray bytes = QByteArray::fromStdString(test_support::readFile(pathOf(family)));
    QCOMPARE(QCryptographicHash::hash(bytes, QCryptographicHash::Sha256).toHex().toStdString(),
             golden.at("sha256").get<std::string>());  // else the numbers are of another file
    const json& top = golden.at("top20");
    QCOMPARE(top.size(), std::size_t{20});
    QVERIFY(top.front()[1].get<double>() - top.back()[1].get<double>() >= kSpan);

    const auto decoder = open(family);
    QVERIFY2(decoder.isOk(), decoder ? "" : decoder.error().message.c_str());
    const auto ids = golden.at("ids").get<std::vector<std::int32_t>>();
    QCOMPARE(ids.size(), static_cast<std::size_t>(family.promptLength));
    const std::vector<float> logits = lastLogits(
        decoder->spec, decoder->weights, ids, kernels::reference::createOps, kernels::KvType::F32);
    const double error = worstError(logits, top);
    qInfo("off by %.2g", error);
    QVERIFY2(error <= kTolerance, qPrintable(QString::number(error)));
  }

  void withoutAnyOneFeatureTheAnswerIsAnother_data() { listFamilies(); }

  void withoutAnyOneFeatureTheAnswerIsAnother() {
    QFETCH(int, index);
    const TinyFamily& family = m_families[static_cast<std::size_t>(index)];
    const json& golden = goldenOf(family);
    const auto decoder = open(family);
    QVERIFY2(decoder.isOk(), decoder ? "" : decoder.error().message.c_str());
    const auto ids = golden.at("ids").get<std::vector<std::int32_t>>();
    for (const std::string& feature : family.features) {
      Decoder without = *decoder;
      edits().at(feature)(without, family);
      const double error =
          worstError(lastLogits(without.spec, without.weights, ids, kernels::reference::createOps,
                                kernels::KvType::F32),
                     golden.at("top20"));
      qInfo("without %s off by %.3g", feature.c_str(), error);
      QVERIFY2(error >= kVisible, feature.c_str());
    }
  }

  void fastRecipesComeNear_data() { listFamilies(); }

  void fastRecipesComeNear() {
    QFETCH(int, index);
    const TinyFamily& family = m_families[static_cast<std::size_t>(index)];
    const json& golden = goldenOf(family);
    const auto decoder = open(family);
    QVERIFY2(decoder.isOk(), decoder ? "" : decoder.error().message.c_str());
    const auto ids = golden.at("ids").get<std::vector<std::int32_t>>();
    const bool isPackable = family.spec.heads * family.spec.headDim % 32 == 0;
    if (!isPackable) QSKIP("a width that fast recipes do not pack; the reference recipe runs it");
    for (const kernels::cpu::Isa isa : kernels::cpu::supportedIsas()) {
      const auto makeOps = [isa](const kernels::BackendRequest& request) {
        return kernels::cpu::createOps(request, isa);
      };
      const double error = worstError(
          lastLogits(decoder->spec, decoder->weights, ids, makeOps, kernels::KvType::F32),
          golden.at("top20"));
      qInfo("recipe %d off by %.3g", static_cast<int>(isa), error);
      QVERIFY2(error <= kTolerance, qPrintable(QString::number(error)));
    }
  }
};

QTEST_GUILESS_MAIN(TinyFamiliesTest)
#include "tst_tiny_families.moc"
