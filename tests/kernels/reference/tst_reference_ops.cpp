#include "kernels/reference/reference_ops.h"

#include <cmath>

#include <QtTest>

#include "kernels/core/unpack.h"
#include "tests/kernels/tiny_decoder.h"

using namespace tests;
using kernels::BackendResult;
using kernels::KvType;

namespace {

using Vector = std::vector<double>;

// The same decoder once more, in double, without cache or batch: a second pair of eyes.
class DenseDecoder {
 public:
  explicit DenseDecoder(const TinyDecoder& decoder)
      : m_spec(decoder.spec()), m_weights(decoder.weights()) {}

  // [tokens, vocab]
  std::vector<Vector> logits(const std::vector<std::int32_t>& tokens) const {
    std::vector<Vector> xs;
    for (const std::int32_t token : tokens) {
      Vector x = row(m_weights.embedding, token);
      for (double& value : x) value *= static_cast<double>(m_spec.embedScale);
      xs.push_back(x);
    }
    for (int layer = 0; layer < m_spec.numLayers; ++layer) runLayer(layer, xs);
    std::vector<Vector> out;
    for (const Vector& x : xs) {
      Vector y = times(m_weights.output, norm(x, m_weights.outputNorm));
      for (double& value : y) value = cap(value, static_cast<double>(m_spec.finalSoftCap));
      out.push_back(y);
    }
    return out;
  }

 private:
  static Vector row(const kernels::WeightView& w, std::int64_t index) {
    std::vector<float> values(static_cast<std::size_t>(w.cols));
    const std::size_t stride = kernels::rowBytes(w.type, w.cols);
    kernels::unpackRow(w.type, w.data + static_cast<std::size_t>(index) * stride, w.cols, values.data());
    return Vector(values.begin(), values.end());
  }

  static Vector times(const kernels::WeightView& w, const Vector& x) {
    Vector out;
    for (std::int64_t n = 0; n < w.rows; ++n) {
      const Vector weights = row(w, n);
      double sum = 0;
      for (std::size_t i = 0; i < x.size(); ++i) sum += weights[i] * x[i];
      out.push_back(sum);
    }
    return out;
  }

  Vector norm(const Vector& x, const std::vector<float>& weight, std::size_t from = 0) const {
    double squares = 0;
    for (std::size_t i = 0; i < weight.size(); ++i) squares += x[from + i] * x[from + i];
    const double root = std::sqrt(squares / static_cast<double>(weight.size()) + 1e-5);
    Vector out;
    for (std::size_t i = 0; i < weight.size(); ++i) {
      out.push_back(x[from + i] / root * static_cast<double>(weight[i]));
    }
    return out;
  }

  static double cap(double x, double limit) { return limit == 0 ? x : limit * std::tanh(x / limit); }

  void turnHeads(Vector& heads,
                 int layer,
                 std::size_t position,
                 const std::vector<float>& bias,
                 const std::vector<float>& weight) const {
    const auto dim = static_cast<std::size_t>(m_spec.headDim);
    const kernels::RopeSpec& rope =
        m_spec.ropes[static_cast<std::size_t>(m_spec.layers[static_cast<std::size_t>(layer)].rope)];
    for (std::size_t i = 0; i < bias.size(); ++i) heads[i] += static_cast<double>(bias[i]);
    for (std::size_t from = 0; from < heads.size(); from += dim) {
      if (!weight.empty()) {
        const Vector normed = norm(heads, weight, from);
        std::copy(normed.begin(), normed.end(), heads.begin() + static_cast<std::ptrdiff_t>(from));
      }
      for (std::size_t i = 0; i < dim / 2; ++i) {
        const double angle = static_cast<double>(position) *
                             static_cast<double>(rope.inverseFrequencies[i]);
        const bool isAlternate = rope.pairing == kernels::RopePairing::Interleaved;
        double& a = heads[from + (isAlternate ? 2 * i : i)];
        double& b = heads[from + (isAlternate ? 2 * i + 1 : i + dim / 2)];
        const double turned = a * std::cos(angle) - b * std::sin(angle);
        b = a * std::sin(angle) + b * std::cos(angle);
        a = turned;
      }
    }
  }

  Vector attend(int layer,
                std::size_t position,
                const Vector& query,
                const std::vector<Vector>& keys,
                const std::vector<Vector>& values) const {
    const auto dim = static_cast<std::size_t>(m_spec.headDim);
    const auto window = static_cast<std::size_t>(m_spec.layers[static_cast<std::size_t>(layer)].window);
    const std::size_t group = static_cast<std::size_t>(m_spec.numHeads / m_spec.numKvHeads);
    Vector out(query.size(), 0.0);
    for (std::size_t head = 0; head < static_cast<std::size_t>(m_spec.numHeads); ++head) {
      const std::size_t q = head * dim, kv = head / group * dim;
      double total = 0;
      for (std::size_t p = 0; p <= position; ++p) {
        if (window > 0 && p + window <= position) continue;
        double score = 0;
        for (std::size_t i = 0; i < dim; ++i) score += query[q + i] * keys[p][kv + i];
        score = cap(score * static_cast<double>(m_spec.attentionScale),
                    static_cast<double>(m_spec.attentionSoftCap));
        total += std::exp(score);
        for (std::size_t i = 0; i < dim; ++i) out[q + i] += std::exp(score) * values[p][kv + i];
      }
      for (std::size_t i = 0; i < dim; ++i) out[q + i] /= total;
    }
    return out;
  }

  void runLayer(int layer, std::vector<Vector>& xs) const {
    const kernels::LayerWeights& w = m_weights.layers[static_cast<std::size_t>(layer)];
    std::vector<Vector> queries, keys, values;
    for (std::size_t p = 0; p < xs.size(); ++p) {
      const Vector normed = norm(xs[p], w.attnNorm);
      queries.push_back(times(w.q, normed));
      keys.push_back(times(w.k, normed));
      values.push_back(times(w.v, normed));
      turnHeads(queries.back(), layer, p, w.qBias, w.qNorm);
      turnHeads(keys.back(), layer, p, w.kBias, w.kNorm);
      for (std::size_t i = 0; i < w.vBias.size(); ++i) {
        values.back()[i] += static_cast<double>(w.vBias[i]);
      }
    }
    for (std::size_t p = 0; p < xs.size(); ++p) {
      add(xs[p], times(w.attnOut, attend(layer, p, queries[p], keys, values)), w.postAttnNorm);
      const Vector normed = norm(xs[p], w.ffnNorm);
      Vector gate = times(w.gate, normed);
      const Vector up = times(w.up, normed);
      for (std::size_t i = 0; i < gate.size(); ++i) gate[i] = activated(gate[i]) * up[i];
      add(xs[p], times(w.down, gate), w.postFfnNorm);
    }
  }

  double activated(double g) const {
    if (m_spec.activation == kernels::Activation::SiluGate) return g / (1 + std::exp(-g));
    return 0.5 * g * (1 + std::tanh(std::sqrt(2 / M_PI) * (g + 0.044715 * g * g * g)));
  }

  void add(Vector& x, Vector update, const std::vector<float>& postNorm) const {
    if (!postNorm.empty()) update = norm(update, postNorm);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += update[i];
  }

  const kernels::DecoderSpec& m_spec;
  const kernels::DecoderWeights& m_weights;
};

}  // namespace

class ReferenceOpsTest : public QObject {
  Q_OBJECT

 private slots:
  void agreesWithADenseDoubleDecoder_data() {
    QTest::addColumn<TinyShape>("shape");
    QTest::newRow("llama") << TinyShape{};
    QTest::newRow("interleaved rope") << TinyShape{.isInterleaved = true};
    QTest::newRow("qwen: biases, one kv head") << TinyShape{.numKvHeads = 1, .hasBias = true};
    QTest::newRow("gemma: norms, window, gelu")
        << TinyShape{.numHeads = 3, .numKvHeads = 3, .window = 7, .isGemma = true};
    QTest::newRow("soft caps") << TinyShape{.attentionSoftCap = 1.5f, .finalSoftCap = 2.0f};
    QTest::newRow("q8_0") << TinyShape{.type = kernels::DType::Q8_0};
    QTest::newRow("q4_1, odd head") << TinyShape{.headDim = 80, .type = kernels::DType::Q4_1};
  }

  void agreesWithADenseDoubleDecoder() {
    QFETCH(TinyShape, shape);
    const TinyDecoder decoder(shape);
    const BackendResult result =
        kernels::reference::createOps(decoder.request(KvType::F32, 4, 16, 2));
    QVERIFY2(result.ops, result.status.message.c_str());
    TinySequence sequence{randomTokens(37, shape.vocabSize, 5), blockRun(10, 3, 5, 16)};
    const std::vector<Vector> expected = DenseDecoder(decoder).logits(sequence.tokens);
    std::size_t at = 0;
    for (const int rows : {20, 1, 16}) {
      std::vector<float> logits;
      QVERIFY(runStep(*result.ops, decoder, {{&sequence, rows}}, logits).isOk());
      for (std::size_t i = 0; i < logits.size(); ++i) {
        const double error = std::fabs(static_cast<double>(logits[i]) -
                                       expected[at + i / static_cast<std::size_t>(shape.vocabSize)]
                                               [i % static_cast<std::size_t>(shape.vocabSize)]);
        // logits are of size 1; ~200 roundings of 2^-24 on the way, with room
        QVERIFY2(error < 4e-5, qPrintable(QString::number(error)));
      }
      at += static_cast<std::size_t>(rows);
    }
  }

  void smallerCachesStayClose_data() {
    QTest::addColumn<int>("type");
    QTest::addColumn<double>("limit");
    QTest::newRow("f16") << static_cast<int>(KvType::F16) << 2e-3;
    QTest::newRow("bf16") << static_cast<int>(KvType::BF16) << 1.5e-2;
    QTest::newRow("fp8") << static_cast<int>(KvType::Fp8E4M3) << 3e-1;
    QTest::newRow("int8") << static_cast<int>(KvType::Int8) << 8e-2;
    QTest::newRow("int4") << static_cast<int>(KvType::Int4) << 9e-1;
  }

  void smallerCachesStayClose() {
    QFETCH(int, type);
    QFETCH(double, limit);
    const TinyDecoder decoder(TinyShape{});
    TinySequence sequence{randomTokens(33, 67, 9), blockRun(5)};
    const std::vector<Vector> expected = DenseDecoder(decoder).logits(sequence.tokens);
    const BackendResult result = kernels::reference::createOps(
        decoder.request(static_cast<KvType>(type), 8, 5, 1));
    std::vector<float> logits;
    QVERIFY(runStep(*result.ops, decoder, {{&sequence, 33}}, logits).isOk());
    double worst = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      worst = std::max(worst, std::fabs(static_cast<double>(logits[i]) - expected[i / 67][i % 67]));
    }
    QVERIFY2(worst < limit && worst > limit / 1000, qPrintable(QString::number(worst)));
  }

  void countersTellTheLinearWork() {
    const TinyDecoder decoder(TinyShape{.numLayers = 1});
    const BackendResult result =
        kernels::reference::createOps(decoder.request(KvType::F32, 16, 4, 1));
    TinySequence sequence{randomTokens(3, 67, 2), blockRun(1)};
    std::vector<float> logits;
    QVERIFY(runStep(*result.ops, decoder, {{&sequence, 3}}, logits).isOk());
    const kernels::OpsCounters counters = result.ops->takeCounters();
    QCOMPARE(counters.linearOps, 2.0 * 3 * 64 * (2 * 256 + 2 * 128 + 3 * 96 + 67));
    QVERIFY(counters.linearNs > 0 && counters.attentionNs > 0);
    QCOMPARE(result.ops->takeCounters().linearOps, 0.0);
  }
};

QTEST_GUILESS_MAIN(ReferenceOpsTest)
#include "tst_reference_ops.moc"
