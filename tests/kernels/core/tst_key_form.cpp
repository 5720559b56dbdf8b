// labels: pure
#include "kernels/core/key_form.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <QtTest>

#include "kernels/core/request_check.h"
#include "kernels/cpu/isa.h"
#include "tests/kernels/tiny_decoder.h"

using namespace kernels;
using namespace tests;

namespace {

constexpr int kHeadDim = 64, kPairs = 32;

// Every second pair does not turn to speak of, the others do.
RopeSpec mixedRope(RopePairing pairing) {
  RopeSpec rope;
  rope.pairing = pairing;
  for (int i = 0; i < kPairs; ++i) rope.inverseFrequencies.push_back(i % 2 == 0 ? 1e-5f : 0.3f);
  return rope;
}

LayerWeights biased(float bias) {
  LayerWeights weights;
  weights.kBias.assign(kHeadDim, bias);
  return weights;
}

DecoderSpec specOf(const RopeSpec& rope) {
  DecoderSpec spec;
  spec.headDim = kHeadDim;
  spec.numHeads = 2;
  spec.numKvHeads = 1;
  spec.ropes = {rope};
  spec.layers = {{}};
  return spec;
}

bool isSlow(std::size_t element) {
  return element % kPairs % 2 == 0;  // pairing by halves
}

// Largest error of logits with this cache against those with f32.
double worstError(const TinyDecoder& decoder, BackendRequest request, KvType type, int isa) {
  const auto logitsOf = [&](const BackendRequest& one) {
    const BackendResult result =
        isa < 0 ? reference::createOps(one) : cpu::createOps(one, static_cast<cpu::Isa>(isa));
    if (!result.ops) qFatal("%s", result.status.message.c_str());
    TinySequence sequence{randomTokens(33, 67, 9), blockRun(5)};
    std::vector<float> logits;
    if (!runStep(*result.ops, decoder, {{&sequence, 33}}, logits).isOk()) qFatal("step failed");
    return logits;
  };
  const std::vector<float> expected = logitsOf(request);
  request.layout.type = type;
  const std::vector<float> got = logitsOf(request);
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    worst =
        std::max(worst, std::fabs(static_cast<double>(got[i]) - static_cast<double>(expected[i])));
  }
  return worst;
}

}  // namespace

class KeyFormTest : public QObject {
  Q_OBJECT

 private slots:

  void theBiasOfSlowPairsIsLeftOut() {
    RopeSpec rope = mixedRope(RopePairing::Halves);
    rope.magnitude = 1.5f;
    LayerWeights weights;
    for (int i = 0; i < 2 * kHeadDim; ++i) weights.kBias.push_back(static_cast<float>(i + 1));
    DecoderSpec spec = specOf(rope);
    spec.numKvHeads = 2;
    for (const KvType type : {KvType::Fp8E4M3, KvType::Int8, KvType::Int4}) {
      const KeyForm form = keyForm(spec, 0, weights, type);
      QCOMPARE(form.shift.size(), weights.kBias.size());
      for (std::size_t i = 0; i < form.shift.size(); ++i) {
        QCOMPARE(form.shift[i], isSlow(i) ? 1.5f * weights.kBias[i] : 0.0f);
      }
    }
  }

  void neighboursTurnTogetherToo() {
    const LayerWeights weights = biased(2.0f);
    const KeyForm form =
        keyForm(specOf(mixedRope(RopePairing::Interleaved)), 0, weights, KvType::Int8);
    for (std::size_t i = 0; i < form.shift.size(); ++i) {
      QCOMPARE(form.shift[i], i / 2 % 2 == 0 ? 2.0f : 0.0f);
    }
  }

  void elementsThatNeverTurnAreLeftOut() {
    RopeSpec rope;
    rope.inverseFrequencies = {1.0f, 0.5f};  // of 4 elements; the other 60 stay
    const KeyForm form = keyForm(specOf(rope), 0, biased(3.0f), KvType::Int4);
    for (std::size_t i = 0; i < kHeadDim; ++i) QCOMPARE(form.shift[i], i < 4 ? 0.0f : 3.0f);
  }

  // What stays large in the keys is made small there; both elements of a pair alike, for they turn.
  void queriesTakeOverWhatTurns() {
    LayerWeights weights = biased(40.0f);
    const KeyForm form = keyForm(specOf(mixedRope(RopePairing::Halves)), 0, weights, KvType::Int4);
    for (std::size_t i = 0; i < kHeadDim; ++i) {
      QCOMPARE(form.keyScale[i], form.keyScale[i % kPairs]);
      QVERIFY(std::fabs(form.keyScale[i] * form.queryScale[i] - 1.0f) < 1e-6f);
      QVERIFY(isSlow(i) ? form.keyScale[i] > 1.0f : form.keyScale[i] < 0.3f);
    }
    weights.qBias.assign(2 * kHeadDim, 40.0f);  // now the queries are as large
    const KeyForm even = keyForm(specOf(mixedRope(RopePairing::Halves)), 0, weights, KvType::Int4);
    QVERIFY(std::fabs(even.keyScale[1] - 1.0f) < 0.01f);
    const KeyForm fp8 =
        keyForm(specOf(mixedRope(RopePairing::Halves)), 0, weights, KvType::Fp8E4M3);
    for (const float scale : fp8.keyScale) QCOMPARE(scale, 1.0f);
  }

  void allScoresOfAQueryChangeByOneNumber() {
    const KeyForm form =
        keyForm(specOf(mixedRope(RopePairing::Halves)), 0, biased(40.0f), KvType::Int4);
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    const auto draw = [&](float* head) {
      std::generate_n(head, kHeadDim, [&] { return normal(random); });
    };
    float query[kHeadDim], shapedQuery[kHeadDim];
    draw(query);
    std::copy_n(query, kHeadDim, shapedQuery);
    shapeQuery(form, 0, kHeadDim, shapedQuery);
    double first = 0;
    for (int turn = 0; turn < 20; ++turn) {
      float key[kHeadDim], shapedKey[kHeadDim];
      draw(key);
      std::copy_n(key, kHeadDim, shapedKey);
      shapeKey(form, 0, kHeadDim, shapedKey);
      double change = 0;
      for (int i = 0; i < kHeadDim; ++i) {
        change += static_cast<double>(query[i]) * static_cast<double>(key[i]) -
                  static_cast<double>(shapedQuery[i]) * static_cast<double>(shapedKey[i]);
      }
      if (turn == 0) first = change;
      QVERIFY(std::fabs(first) > 1.0 && std::fabs(change - first) < 1e-3);
    }
  }

  void nothingChangesWhereItWouldShow() {
    DecoderSpec spec = specOf(mixedRope(RopePairing::Halves));
    for (const KvType type : {KvType::F32, KvType::F16, KvType::BF16}) {
      QVERIFY(keyForm(spec, 0, biased(2.0f), type).isPlain());
    }
    QVERIFY(keyForm(spec, 0, LayerWeights(), KvType::Int4).isPlain());
    LayerWeights normed = biased(2.0f);
    normed.kNorm.assign(kHeadDim, 1.0f);
    QVERIFY(keyForm(spec, 0, normed, KvType::Int4).isPlain());
    spec.attentionSoftCap = 30.0f;
    QVERIFY(keyForm(spec, 0, biased(2.0f), KvType::Int4).isPlain());
  }

  void aLargeBiasCostsNoAccuracy_data() {
    QTest::addColumn<int>("type");
    QTest::addColumn<int>("isa");
    for (const KvType type : {KvType::Fp8E4M3, KvType::Int8, KvType::Int4}) {
      QTest::addRow("reference %s", kvTypeName(type)) << static_cast<int>(type) << -1;
      for (const cpu::Isa isa : cpu::supportedIsas()) {
        QTest::addRow("%s %s", cpu::isaName(isa), kvTypeName(type))
            << static_cast<int>(type) << static_cast<int>(isa);
      }
    }
  }

  void aLargeBiasCostsNoAccuracy() {
    QFETCH(int, type);
    QFETCH(int, isa);
    const TinyDecoder decoder(TinyShape{.hasBias = true});
    DecoderSpec spec = decoder.spec();
    for (RopeSpec& rope : spec.ropes) rope = mixedRope(RopePairing::Halves);
    const auto errorWith = [&](float onSlow, float onOthers) {
      DecoderWeights weights = decoder.weights();
      for (LayerWeights& layer : weights.layers) {
        for (std::size_t i = 0; i < layer.kBias.size(); ++i) {
          layer.kBias[i] *= isSlow(i) ? onSlow : onOthers;
        }
      }
      BackendRequest request = decoder.request(KvType::F32, 8, 5, 1);
      request.spec = &spec;
      request.weights = &weights;
      return worstError(decoder, request, static_cast<KvType>(type), isa);
    };
    const double plain = errorWith(1, 1), slow = errorWith(100, 1), turning = errorWith(1, 20);
    QVERIFY2(slow < 2 * plain, qPrintable(QString("%1 against %2").arg(slow).arg(plain)));
    // 4 bits come near to what the logits can differ at most
    if (static_cast<KvType>(type) != KvType::Int8) return;
    QVERIFY2(turning < 2 * plain, qPrintable(QString("%1 against %2").arg(turning).arg(plain)));
  }
};

QTEST_GUILESS_MAIN(KeyFormTest)
#include "tst_key_form.moc"
