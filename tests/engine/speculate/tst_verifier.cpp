// The verifier alone, on rows of logits that are given: same tokens as without guesses, the exact
// distribution, and nothing left behind in history and mask.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <QtTest>

#include "engine/base/random.h"
#include "engine/speculate/verifier.h"

using namespace engine;
using namespace engine::speculate;

namespace {

constexpr int kVocab = 8;
using Row = std::vector<float>;

const Row kRow = {0.5f, 2.0f, -1.0f, 1.5f, 0.0f, 1.0f, -0.5f, 1.8f};

// Forbids the token that came last.
class NoRepeats final : public sample::TokenMask {
 public:
  void apply(std::span<float> logits) const override {
    if (!accepted.empty()) {
      logits[static_cast<std::size_t>(accepted.back())] = -std::numeric_limits<float>::infinity();
    }
  }

  void accept(TokenId id) override { accepted.push_back(id); }

  void rollback(std::size_t count) override { accepted.resize(accepted.size() - count); }

  std::vector<TokenId> accepted;
};

std::array<double, kVocab> softmax(const Row& row, double temperature, TokenId without) {
  std::array<double, kVocab> p{};
  double sum = 0;
  for (int i = 0; i < kVocab; ++i) {
    if (i != without) p[i] = std::exp(double{row[static_cast<std::size_t>(i)]} / temperature);
    sum += p[i];
  }
  for (double& one : p) one /= sum;
  return p;
}

double chiSquare(const std::array<double, kVocab>& p, const std::array<int, kVocab>& counts) {
  double total = 0, sum = 0;
  for (const int count : counts) total += count;
  for (int i = 0; i < kVocab; ++i) {
    if (p[i] == 0) {
      if (counts[i] > 0) return 1e9;
      continue;
    }
    sum += (counts[i] - total * p[i]) * (counts[i] - total * p[i]) / (total * p[i]);
  }
  return sum;
}

double twoSampleChiSquare(const std::array<int, kVocab>& a, const std::array<int, kVocab>& b) {
  double totalA = 0, totalB = 0, sum = 0;
  for (int i = 0; i < kVocab; ++i) {
    totalA += a[i];
    totalB += b[i];
  }
  const double k = std::sqrt(totalB / totalA);
  for (int i = 0; i < kVocab; ++i) {
    if (a[i] + b[i] == 0) continue;
    sum += (k * a[i] - b[i] / k) * (k * a[i] - b[i] / k) / (a[i] + b[i]);
  }
  return sum;
}

// What a sequence says without guesses when its rows come in this order.
std::vector<TokenId> saidPlainly(const SamplingParams& params, const std::vector<Row>& rows) {
  sample::Sampler sampler;
  sample::TokenHistory history(std::vector<TokenId>{1, 2});
  NoRepeats mask;
  std::vector<TokenId> said;
  for (const Row& row : rows) {
    sample::DrawRequest draw;
    draw.logits = row;
    draw.params = &params;
    draw.history = &history;
    draw.mask = &mask;
    draw.position = 2 + static_cast<std::int64_t>(said.size());
    said.push_back(sampler.sample(draw).value().id);
    history.append(said.back());
    mask.accept(said.back());
  }
  return said;
}

SamplingParams chain(int index) {
  SamplingParams params;
  params.seed = 11;
  if (index > 0) params.temperature = 0.8f;
  if (index > 1) {
    params.repetitionPenalty = 1.4f;
    params.presencePenalty = 0.7f;
    params.frequencyPenalty = 0.4f;
  }
  if (index > 2) {
    params.topK = 6;
    params.topP = 0.9f;
    params.minP = 0.02f;
    params.logitBias = {{4, 1.5f}};
  }
  if (index > 3) params.typicalP = 0.9f;
  return params;
}

}  // namespace

class TestVerifier : public QObject {
  Q_OBJECT

 private slots:

  // Penalties and mask see the guesses before them, and are as before afterwards.
  void guessesStandAsFarAsTheyAreWhatWouldBeSaid_data() {
    QTest::addColumn<int>("chainIndex");
    for (int i = 0; i < 5; ++i) QTest::addRow("chain %d", i) << i;
  }

  void guessesStandAsFarAsTheyAreWhatWouldBeSaid() {
    QFETCH(int, chainIndex);
    SamplingParams params = chain(chainIndex);
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      params.seed = seed;
      std::vector<Row> rows(5, kRow);
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i][(seed + i) % kVocab] += 1.0f;
      const std::vector<TokenId> said = saidPlainly(params, rows);
      for (std::size_t wrong = 0; wrong <= 4; ++wrong) {
        std::vector<TokenId> drafts(said.begin(), said.begin() + 4);
        if (wrong < 4) drafts[wrong] = (drafts[wrong] + 3) % kVocab;
        sample::Sampler sampler;
        sample::TokenHistory history(std::vector<TokenId>{1, 2});
        NoRepeats mask;
        DraftRun run;
        run.drafts = drafts;
        const RunContext context{&params, &history, &mask, 0, 2, true};
        for (const Row& row : rows) {
          if (run.isOpen) QVERIFY(verifyNext(sampler, context, row, run).isOk());
        }
        QVERIFY(!run.isOpen);
        QCOMPARE(run.numAccepted(), wrong);
        QCOMPARE(run.tokens.size(), wrong + 1);
        for (std::size_t i = 0; i <= wrong; ++i) {
          QCOMPARE(run.tokens[i].id, said[i]);
          QCOMPARE(run.tokens[i].rowHash, sample::rowHash(rows[i]));
        }
        QCOMPARE(run.verdicts.size(), std::min<std::size_t>(wrong + 1, 4));
        for (const DraftVerdict& one : run.verdicts) {
          QCOMPARE(one.isAccepted, one.u < one.p / one.q);
        }
        QCOMPARE(history.numOutputTokens(), std::size_t{0});
        QVERIFY(mask.accepted.empty());
      }
    }
  }

  // 100,000 draws: the tokens follow p whatever was guessed, a guess stands with probability p.
  void theDistributionIsTheModels_data() {
    QTest::addColumn<int>("draft");
    QTest::addRow("likely") << 1;
    QTest::addRow("unlikely") << 2;
    QTest::addRow("middling") << 5;
  }

  void theDistributionIsTheModels() {
    QFETCH(int, draft);
    SamplingParams params;
    params.temperature = 0.8f;
    constexpr int kDraws = 100'000;
    std::array<int, kVocab> first{}, second{}, uBins{};
    int accepted = 0;
    sample::Sampler sampler;
    NoRepeats mask;
    const std::vector<TokenId> drafts = {draft};
    for (int i = 0; i < kDraws; ++i) {
      params.seed = static_cast<std::uint64_t>(i);
      DraftRun run;
      run.drafts = drafts;
      const RunContext context{&params, nullptr, &mask, 0, 7, false};
      while (run.isOpen) QVERIFY(verifyNext(sampler, context, kRow, run).isOk());
      ++first[static_cast<std::size_t>(run.tokens[0].id)];
      ++uBins[static_cast<std::size_t>(run.verdicts[0].u * kVocab)];
      if (run.numAccepted() == 0) continue;
      ++accepted;
      ++second[static_cast<std::size_t>(run.tokens[1].id)];
    }
    const auto p = softmax(kRow, params.temperature, -1);
    constexpr double kLimit = 24.3;  // 7 degrees of freedom, one in a thousand
    QVERIFY2(chiSquare(p, first) < kLimit, qPrintable(QString::number(chiSquare(p, first))));
    const auto masked = softmax(kRow, params.temperature, draft);
    QVERIFY2(chiSquare(masked, second) < kLimit,
             qPrintable(QString::number(chiSquare(masked, second))));
    std::array<double, kVocab> uniform{};
    uniform.fill(1.0 / kVocab);
    QVERIFY2(chiSquare(uniform, uBins) < kLimit,
             qPrintable(QString::number(chiSquare(uniform, uBins))));
    const double expected = p[static_cast<std::size_t>(draft)];
    const double sigma = std::sqrt(expected * (1 - expected) / kDraws);
    QVERIFY(std::abs(static_cast<double>(accepted) / kDraws - expected) < 4 * sigma);
  }

  // Guesses drawn from another distribution, by any chain and under a mask: the tokens follow p.
  void drawnGuessesKeepTheDistribution_data() {
    QTest::addColumn<int>("chainIndex");
    QTest::addColumn<bool>("isMasked");
    for (int i = 1; i < 5; ++i) {
      QTest::addRow("chain %d", i) << i << false;
      QTest::addRow("chain %d masked", i) << i << true;
    }
  }

  void drawnGuessesKeepTheDistribution() {
    QFETCH(int, chainIndex);
    QFETCH(bool, isMasked);
    SamplingParams params = chain(chainIndex);
    const Row draftRow = {1.5f, 0.5f, 0.0f, 1.9f, -1.0f, 1.0f, 0.7f, 0.2f};
    constexpr int kDraws = 100'000;
    std::array<int, kVocab> drawn{}, plain{};
    std::array<std::array<int, kVocab>, 2> later{};
    int accepted = 0;
    sample::Sampler sampler;
    for (int i = 0; i < kDraws; ++i) {
      params.seed = static_cast<std::uint64_t>(i);
      sample::TokenHistory history(std::vector<TokenId>{1, 2});
      history.append(3);
      NoRepeats mask;
      mask.accept(3);
      sample::DrawRequest draw;
      draw.logits = kRow;
      draw.params = &params;
      draw.history = &history;
      draw.mask = isMasked ? &mask : nullptr;
      draw.position = 7;
      // two positions, so that the second one's chain sees the first one's guess
      std::vector<TokenId> drafts;
      std::vector<sample::Distribution> drawnFrom;
      for (int k = 0; k < 2; ++k) {
        draw.logits = draftRow;
        draw.position = 7 + k;
        drawnFrom.push_back(sampler.distribution(draw).value());
        drafts.push_back(drawnFrom.back().draw(counterDraw(
            params.seed, 0, static_cast<std::uint64_t>(draw.position), DrawStream::Draft)));
        history.append(drafts.back());
        mask.accept(drafts.back());
      }
      history.rollback(2);
      mask.rollback(2);
      DraftRun run;
      run.drafts = drafts;
      run.drawnFrom = drawnFrom;
      const RunContext context{&params, &history, isMasked ? &mask : nullptr, 0, 7, false};
      while (run.isOpen) QVERIFY(verifyNext(sampler, context, kRow, run).isOk());
      for (const DraftVerdict& one : run.verdicts) {
        QCOMPARE(one.isAccepted, one.u < one.p / one.q);
      }
      QCOMPARE(history.numOutputTokens(), std::size_t{1});
      QCOMPARE(mask.accepted.size(), std::size_t{1});
      ++drawn[static_cast<std::size_t>(run.tokens[0].id)];
      accepted += run.numAccepted() > 0 ? 1 : 0;
      // what comes after token 1, with guesses and without
      const auto next = [&](TokenId first) {
        history.append(first);
        mask.accept(first);
        draw.logits = kRow;
        draw.position = 8;
        params.seed = static_cast<std::uint64_t>(i) + 1'000'000;
        const TokenId id = sampler.sample(draw).value().id;
        params.seed = static_cast<std::uint64_t>(i);
        history.rollback(1);
        mask.rollback(1);
        return id;
      };
      if (run.tokens[0].id == 1 && run.numAccepted() > 0) {
        ++later[0][static_cast<std::size_t>(run.tokens[1].id)];
        ++later[1][static_cast<std::size_t>(next(1))];
      }
      draw.logits = kRow;
      draw.position = 7;
      params.seed = static_cast<std::uint64_t>(i) + 2'000'000;
      ++plain[static_cast<std::size_t>(sampler.sample(draw).value().id)];
    }
    QVERIFY(accepted > kDraws / 5 && accepted < kDraws);
    // two samples of one distribution: 7 degrees of freedom at most, one in ten thousand
    QVERIFY2(twoSampleChiSquare(drawn, plain) < 29.9,
             qPrintable(QString::number(twoSampleChiSquare(drawn, plain))));
    QVERIFY2(twoSampleChiSquare(later[0], later[1]) < 29.9,
             qPrintable(QString::number(twoSampleChiSquare(later[0], later[1]))));
  }

  void guessesOfTheSameModelAllStand() {
    SamplingParams params = chain(3);
    sample::Sampler sampler;
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
      params.seed = seed;
      sample::DrawRequest draw;
      draw.logits = kRow;
      draw.params = &params;
      draw.position = 4;
      const std::vector<sample::Distribution> q = {sampler.distribution(draw).value()};
      const std::vector<TokenId> drafts = {
          q[0].draw(counterDraw(seed, 0, 4, DrawStream::Draft))};
      DraftRun run;
      run.drafts = drafts;
      run.drawnFrom = q;
      const RunContext context{&params, nullptr, nullptr, 0, 4, true};
      QVERIFY(verifyNext(sampler, context, kRow, run).isOk());
      QCOMPARE(run.numAccepted(), std::size_t{1});
      QCOMPARE(run.tokens[0].id, drafts[0]);
      QCOMPARE(run.tokens[0].rowHash, sample::rowHash(kRow));
    }
  }

  void aRowThatGivesNoTokenEndsTheRunBeforeItOrIsAnError() {
    SamplingParams params;
    sample::Sampler sampler;
    Row broken = kRow;
    broken[3] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<TokenId> drafts = {1, 1};
    const RunContext context{&params, nullptr, nullptr, 0, 7, false};
    DraftRun first;
    first.drafts = drafts;
    QVERIFY(!verifyNext(sampler, context, broken, first).isOk());
    QVERIFY(!first.isOpen && first.tokens.empty());
    DraftRun second;
    second.drafts = drafts;
    QVERIFY(verifyNext(sampler, context, kRow, second).isOk());
    QVERIFY(second.isOpen);
    QVERIFY(verifyNext(sampler, context, broken, second).isOk());
    QVERIFY(!second.isOpen);
    QCOMPARE(second.tokens.size(), std::size_t{1});
    QCOMPARE(second.numAccepted(), std::size_t{1});
  }
};

QTEST_GUILESS_MAIN(TestVerifier)
#include "tst_verifier.moc"
