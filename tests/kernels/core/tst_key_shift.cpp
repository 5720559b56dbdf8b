// labels: pure
#include "kernels/core/key_shift.h"

#include <cmath>

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

DecoderSpec specOf(const RopeSpec& rope) {
  DecoderSpec spec;
  spec.headDim = kHeadDim;
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
    worst = std::max(worst, std::fabs(static_cast<double>(got[i]) - static_cast<double>(expected[i])));
  }
  return worst;
}

}  // namespace

class KeyShiftTest : public QObject {
  Q_OBJECT

 private slots:
  void theBiasOfSlowPairsIsLeftOut() {
    RopeSpec rope = mixedRope(RopePairing::Halves);
    rope.magnitude = 1.5f;
    std::vector<float> bias;
    for (int i = 0; i < 2 * kHeadDim; ++i) bias.push_back(static_cast<float>(i + 1));
    const std::vector<float> shift = keyShift(specOf(rope), 0, bias, {}, KvType::Int4);
    QCOMPARE(shift.size(), bias.size());
    for (std::size_t i = 0; i < shift.size(); ++i) {
      QCOMPARE(shift[i], isSlow(i) ? 1.5f * bias[i] : 0.0f);
    }
  }

  void neighboursTurnTogetherToo() {
    const std::vector<float> bias(kHeadDim, 2.0f);
    const auto shift =
        keyShift(specOf(mixedRope(RopePairing::Interleaved)), 0, bias, {}, KvType::Int8);
    for (std::size_t i = 0; i < shift.size(); ++i) {
      QCOMPARE(shift[i], i / 2 % 2 == 0 ? 2.0f : 0.0f);
    }
  }

  void elementsThatNeverTurnAreLeftOut() {
    RopeSpec rope;
    rope.inverseFrequencies = {1.0f, 0.5f};  // of 4 elements; the other 60 stay
    const auto shift = keyShift(specOf(rope), 0, std::vector<float>(kHeadDim, 3.0f), {}, KvType::Int4);
    for (std::size_t i = 0; i < shift.size(); ++i) QCOMPARE(shift[i], i < 4 ? 0.0f : 3.0f);
  }

  void nothingIsLeftOutWhereItWouldShow() {
    DecoderSpec spec = specOf(mixedRope(RopePairing::Halves));
    const std::vector<float> bias(kHeadDim, 2.0f), norm(kHeadDim, 1.0f);
    for (const KvType type : {KvType::F32, KvType::F16, KvType::BF16}) {
      QVERIFY(keyShift(spec, 0, bias, {}, type).empty());
    }
    QVERIFY(keyShift(spec, 0, {}, {}, KvType::Int4).empty());
    QVERIFY(keyShift(spec, 0, bias, norm, KvType::Int4).empty());
    spec.attentionSoftCap = 30.0f;
    QVERIFY(keyShift(spec, 0, bias, {}, KvType::Int4).empty());
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

  // With the same bias on pairs that turn, which stays in, the cache has little left for the rest.
  void aLargeBiasCostsNoAccuracy() {
    QFETCH(int, type);
    QFETCH(int, isa);
    const TinyDecoder decoder(TinyShape{.hasBias = true});
    DecoderSpec spec = decoder.spec();
    for (RopeSpec& rope : spec.ropes) rope = mixedRope(RopePairing::Halves);
    double errors[2];
    for (const bool onSlow : {false, true}) {
      DecoderWeights weights = decoder.weights();
      for (LayerWeights& layer : weights.layers) {
        for (std::size_t i = 0; i < layer.kBias.size(); ++i) {
          if (isSlow(i) == onSlow) layer.kBias[i] *= 100.0f;
        }
      }
      BackendRequest request = decoder.request(KvType::F32, 8, 5, 1);
      request.spec = &spec;
      request.weights = &weights;
      errors[onSlow] = worstError(decoder, request, static_cast<KvType>(type), isa);
    }
    QVERIFY2(errors[1] < 0.4 * errors[0],
             qPrintable(QString("%1 against %2").arg(errors[1]).arg(errors[0])));
  }
};

QTEST_GUILESS_MAIN(KeyShiftTest)
#include "tst_key_shift.moc"
