// The chain as a whole: neutral and extreme values (H09), orders, penalties, mask, logprobs, speed.
// labels: pure
#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <vector>

#include <QtTest>

#include "engine/sample/sampler.h"
#include "tests/support/processor_timer.h"

using namespace engine;
using namespace engine::sample;
using test_support::ProcessorTimer;

namespace {

std::vector<float> randomRow(std::size_t size, unsigned seed, float spread = 2.0f) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0.0f, spread);
  std::vector<float> row(size);
  for (float& x : row) x = normal(generator);
  return row;
}

// Allows the ids below a limit that each accepted token lowers by one.
class FallingMask final : public TokenMask {
 public:
  explicit FallingMask(TokenId limit) : m_limit(limit) {}

  void apply(std::span<float> logits) const override {
    for (std::size_t i = static_cast<std::size_t>(m_limit); i < logits.size(); ++i) {
      logits[i] = -std::numeric_limits<float>::infinity();
    }
  }

  void accept(TokenId) override { --m_limit; }

  void rollback(std::size_t count) override { m_limit += static_cast<TokenId>(count); }

 private:
  TokenId m_limit;
};

std::set<TokenId> idsLeft(OrderPreset order, const DrawRequest& request) {
  Sampler sampler(order);
  std::set<TokenId> ids;
  const auto left = sampler.remaining(request);
  for (const Candidate& c : *left) ids.insert(c.id);
  return ids;
}

double medianMicroseconds(Sampler& sampler, DrawRequest request) {
  std::vector<double> times;
  for (int i = 0; i < 31; ++i) {
    request.position = i;
    const ProcessorTimer timer;
    const auto token = sampler.sample(request);
    times.push_back(timer.elapsedUs());
    if (!token.isOk()) return -1.0;
  }
  std::nth_element(times.begin(), times.begin() + 15, times.end());
  return times[15];
}

}  // namespace

class TestSampler : public QObject {
  Q_OBJECT

 private slots:

  void temperatureZeroIsArgmaxWhateverTheSeed() {
    std::vector<float> row = randomRow(1000, 1);
    row[77] = row[400] = 50.0f;
    Sampler sampler;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      SamplingParams params;
      params.seed = seed;
      params.topK = 5;
      params.topP = 0.1f;
      params.typicalP = 0.01f;
      QCOMPARE(sampler.sample({row, &params})->id, 77);
    }
  }

  void neutralValuesSwitchEveryFilterOff() {
    const std::vector<float> row = randomRow(777, 2);
    SamplingParams params;
    params.temperature = 1.0f;
    for (const OrderPreset order : {OrderPreset::Vllm, OrderPreset::TensorRtLlm,
                                    OrderPreset::Sglang, OrderPreset::LlamaCpp}) {
      QCOMPARE(idsLeft(order, {row, &params}).size(), row.size());
    }
  }

  void fortySeedsGiveManyTokens() {
    const std::vector<float> row = randomRow(500, 4, 1.0f);
    SamplingParams params;
    params.temperature = 1.0f;
    std::set<TokenId> seen;
    Sampler sampler;
    for (params.seed = 1; params.seed <= 40; ++params.seed)
      seen.insert(sampler.sample({row, &params})->id);
    QVERIFY(seen.size() >= 10);
  }

  void twoThousandDrawsFollowTheSoftmaxAtEachTemperature_data() {
    QTest::addColumn<float>("temperature");
    for (const float t : {0.5f, 1.0f, 1.7f}) QTest::addRow("%.1f", double{t}) << t;
  }

  void twoThousandDrawsFollowTheSoftmaxAtEachTemperature() {
    QFETCH(float, temperature);
    const std::vector<float> row = {0.3f, -0.2f, 1.0f, 0.0f, 0.8f, -0.7f};
    SamplingParams params;
    params.temperature = temperature;
    Sampler sampler;
    std::vector<int> counts(row.size(), 0);
    for (params.seed = 0; params.seed < 2000; ++params.seed) {
      ++counts[static_cast<std::size_t>(sampler.sample({row, &params})->id)];
    }
    double sum = 0.0, chiSquare = 0.0;
    for (const float x : row) sum += std::exp(double{x} / double{temperature});
    for (std::size_t i = 0; i < row.size(); ++i) {
      const double expected = 2000.0 * std::exp(double{row[i]} / double{temperature}) / sum;
      chiSquare += std::pow(counts[i] - expected, 2) / expected;
    }
    QVERIFY2(chiSquare < 20.5, qPrintable(QString::number(chiSquare)));  // 5 degrees, 0.1 %
  }

  void topPZeroKeepsOneToken() {
    const std::vector<float> row = randomRow(5000, 5, 0.1f);
    SamplingParams params;
    params.temperature = 1.0f;
    params.topP = 0.0f;
    QCOMPARE(idsLeft(OrderPreset::Vllm, {row, &params}).size(), std::size_t{1});
  }

  // p = .4 .3 .2 .1: top-p 0.6 keeps two of them; min-p 0.6 keeps .4 and .3 at temperature 1, but
  // all at temperature 2 if it comes after the temperature and not before.
  void theOrderMattersAndIsThePresets() {
    std::vector<float> row;
    for (const double p : {0.4, 0.3, 0.2, 0.1}) row.push_back(static_cast<float>(std::log(p)));
    SamplingParams params;
    params.temperature = 2.0f;
    params.minP = 0.6f;
    QCOMPARE(idsLeft(OrderPreset::Vllm, {row, &params}).size(), std::size_t{3});
    QCOMPARE(idsLeft(OrderPreset::LlamaCpp, {row, &params}).size(), std::size_t{2});
    params.temperature = 1.0f;
    params.topP = 0.55f;
    params.minP = 0.0f;
    params.topK = 3;  // .4/.9 + .3/.9 > .55
    QCOMPARE(idsLeft(OrderPreset::Vllm, {row, &params}).size(), std::size_t{2});
  }

  void penaltiesHaveTheirOwnScopes() {
    const std::vector<float> row = {2.0f, 2.0f, -2.0f, 1.9f};
    SamplingParams params;
    const std::vector<TokenId> prompt = {0, 2};
    TokenHistory history(prompt);
    Sampler sampler;
    DrawRequest request{row, &params, &history};

    params.presencePenalty = 1.0f;  // the prompt does not count
    QCOMPARE(sampler.sample(request)->id, 0);
    params.repetitionPenalty = 1.3f;  // the prompt counts
    params.presencePenalty = 0.0f;
    QCOMPARE(sampler.sample(request)->id, 1);
    params.repetitionPenalty = 1.0f;
    params.frequencyPenalty = 0.06f;
    history.append(0);
    history.append(1);
    QCOMPARE(sampler.sample(request)->id, 0);  // 1.94 against 1.94, lowest id
    history.append(0);
    QCOMPARE(sampler.sample(request)->id, 1);
    history.append(1);
    QCOMPARE(sampler.sample(request)->id, 3);  // 1.88 against 1.9
    history.rollback(2);
    QCOMPARE(sampler.sample(request)->id, 0);
  }

  void repetitionPenaltyPushesBothSignsDown() {
    const std::vector<float> row = {-1.0f, -1.5f};
    SamplingParams params;
    params.repetitionPenalty = 2.0f;
    const std::vector<TokenId> prompt = {0};
    const TokenHistory history(prompt);
    Sampler sampler;
    QCOMPARE(sampler.sample({row, &params, &history})->id, 1);
  }

  void biasMovesOneTokenAndStaysFinite() {
    const std::vector<float> row = randomRow(300, 6);
    SamplingParams params;
    params.logitBias = {{123, 3.0e38f}, {123, 3.0e38f}, {9999, 1.0f}};
    Sampler sampler;
    const auto token = sampler.sample({row, &params});
    QCOMPARE(token->id, 123);
    params.temperature = 0.01f;
    QCOMPARE(sampler.sample({row, &params})->id, 123);
  }

  void logprobsAreOfTheRawRow() {
    const std::vector<float> row = randomRow(400, 8);
    double sum = 0.0;
    for (const float x : row) sum += std::exp(double{x});
    SamplingParams params;
    params.temperature = 0.3f;
    params.topK = 2;
    params.logitBias = {{5, 30.0f}};
    params.topLogprobs = 4;
    Sampler sampler;
    const auto token = sampler.sample({row, &params});
    QCOMPARE(token->id, 5);
    QVERIFY(std::abs(double{token->logprob} - (double{row[5]} - std::log(sum))) < 1e-5);
    QCOMPARE(token->top.size(), std::size_t{4});
    QCOMPARE(token->top[0].id,
             static_cast<TokenId>(std::max_element(row.begin(), row.end()) - row.begin()));
    for (std::size_t i = 1; i < 4; ++i) QVERIFY(token->top[i - 1].logprob >= token->top[i].logprob);
  }

  void aDrawDependsOnSeedChildAndPositionOnly() {
    const std::vector<float> row = randomRow(2000, 9, 0.5f);
    SamplingParams params;
    params.temperature = 1.0f;
    params.seed = 5;
    Sampler first, second;
    for (int i = 0; i < 7; ++i) first.sample({randomRow(2000, 50), &params}).isOk();
    DrawRequest request{row, &params};
    request.position = 17;
    const TokenId id = first.sample(request)->id;
    QCOMPARE(second.sample(request)->id, id);
    request.sample = 1;
    const TokenId child = second.sample(request)->id;
    request.sample = 0;
    request.position = 18;
    const TokenId next = second.sample(request)->id;
    QVERIFY(child != id || next != id);
  }

  void theMaskActsAndRollsBack() {
    std::vector<float> row(50, 0.0f);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(i);
    FallingMask mask(10);
    SamplingParams params;
    Sampler sampler;
    DrawRequest request{row, &params};
    request.mask = &mask;
    QCOMPARE(sampler.sample(request)->id, 9);
    mask.accept(9);
    mask.accept(8);
    QCOMPARE(sampler.sample(request)->id, 7);
    mask.rollback(1);
    QCOMPARE(sampler.sample(request)->id, 8);
    FallingMask none(0);
    request.mask = &none;
    const auto token = sampler.sample(request);
    QVERIFY(!token.isOk());
    QCOMPARE(token.error().code, ErrorCode::InvalidArgument);
  }

  void badLogitsAreAnErrorNotAToken() {
    std::vector<float> row = randomRow(300, 10);
    row[299] = std::numeric_limits<float>::quiet_NaN();
    SamplingParams params;
    Sampler sampler;
    const auto token = sampler.sample({row, &params});
    QVERIFY(!token.isOk());
    QVERIFY(token.error().message.find("token 299") != std::string::npos);
  }

  void rowHashesTellRowsApart() {
    std::vector<float> row = randomRow(300, 12);
    SamplingParams params;
    Sampler sampler;
    DrawRequest request{row, &params};
    QCOMPARE(sampler.sample(request)->rowHash, std::uint64_t{0});
    request.wantRowHash = true;
    const std::uint64_t hash = sampler.sample(request)->rowHash;
    QCOMPARE(sampler.sample(request)->rowHash, hash);
    row[7] = std::nextafter(row[7], 100.0f);
    request.logits = row;
    QVERIFY(sampler.sample(request)->rowHash != hash);
  }

  void whatIsKnownOfTheTilesChangesNothing() {
    const std::vector<float> row = randomRow(1001, 21);
    std::vector<TileSummary> tiles;
    for (std::size_t begin = 0; begin < row.size(); begin += kColumnTile) {
      tiles.push_back(summarizeTile(row.data() + begin, std::min(kColumnTile, row.size() - begin)));
    }
    SamplingParams params;
    params.topLogprobs = 5;
    for (const float temperature : {0.0f, 0.7f, 1.0f}) {
      for (const std::int64_t topK : {0, 3}) {
        for (const float topP : {0.5f, 1.0f}) {
          params.temperature = temperature;
          params.topK = topK;
          params.topP = topP;
          Sampler sampler;
          DrawRequest request{row, &params};
          const auto found = sampler.sample(request);
          request.tiles = tiles;
          const auto known = sampler.sample(request);
          QVERIFY(found.isOk() && known.isOk());
          QCOMPARE(known->id, found->id);
          QVERIFY(known->logprob == found->logprob);
          QCOMPARE(known->top.size(), std::size_t{5});
          for (std::size_t i = 0; i < 5; ++i) QCOMPARE(known->top[i].id, found->top[i].id);
        }
      }
    }
  }

  void aTileThatIsNotFiniteIsAnErrorToo() {
    std::vector<float> row = randomRow(300, 10);
    row[299] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<TileSummary> tiles = {summarizeTile(row.data(), kColumnTile),
                                            summarizeTile(row.data() + kColumnTile, 44)};
    SamplingParams params;
    DrawRequest request{row, &params};
    request.tiles = tiles;
    const auto token = Sampler().sample(request);
    QVERIFY(!token.isOk());
    QVERIFY(token.error().message.find("token 299") != std::string::npos);
  }

  // A sort of the same row, in the same run, is what no draw may cost.
  void noFilterSortsTheVocabulary() {
    const std::vector<float> row = randomRow(262144, 13, 3.0f);
    const ProcessorTimer timer;
    std::vector<float> sorted = row;
    std::sort(sorted.begin(), sorted.end());
    const double sort = timer.elapsedUs();
    SamplingParams params;
    params.temperature = 1.0f;
    Sampler sampler;
    const double plain = medianMicroseconds(sampler, {row, &params});
    params.topK = 40;
    const double topK = medianMicroseconds(sampler, {row, &params});
    params.topK = 0;
    params.topP = 0.95f;
    const double topP = medianMicroseconds(sampler, {row, &params});
    qInfo("262144 columns: sort %.0f us, plain draw %.0f us, top-k 40 %.0f us, top-p 0.95 %.0f us",
          sort, plain, topK, topP);
    QVERIFY(plain > 0.0 && topK > 0.0 && topP > 0.0);
    QVERIFY2(plain <= sort / 4, "a draw without filters must cost far less than a sort");
    QVERIFY2(topK <= sort / 4, "top-k must cost far less than a sort");
    QVERIFY2(topP <= 2 * sort, "top-p over some 20,000 tokens must not cost more than two sorts");
  }
};

QTEST_GUILESS_MAIN(TestSampler)
#include "tst_sampler.moc"
