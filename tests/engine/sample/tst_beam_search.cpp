// The rules of beam search on rows that are given.
#include <cmath>
#include <vector>

#include <QtTest>

#include "engine/sample/beam_search.h"

using namespace engine;
using namespace engine::sample;

namespace {

constexpr TokenId kEnd = 99;

bool isEnd(TokenId id) {
  return id == kEnd;
}

BeamCandidate candidate(TokenId id, double logprob) {
  BeamCandidate one;
  one.token.id = id;
  one.logprob = logprob;
  return one;
}

BeamParams params(int width, double lengthPenalty = 1.0) {
  BeamParams one;
  one.width = width;
  one.lengthPenalty = lengthPenalty;
  one.promptTokens = 4;
  one.maxOutputs = 10;
  return one;
}

BeamAnswer answer(int tokens, double sum, bool endsWithEndToken) {
  BeamAnswer one;
  one.tokens.resize(static_cast<std::size_t>(tokens));
  one.sum = sum;
  one.reason = FinishReason::Stop;
  one.endsWithEndToken = endsWithEndToken;
  return one;
}

}  // namespace

class TestBeamSearch : public QObject {
  Q_OBJECT

 private slots:

  void theBestContinuationsOfAllBeamsGoOn() {
    const BeamSearch search(params(2));
    QCOMPARE(search.numCandidates(), 4);
    const std::vector<double> sums = {-1.0, -2.0};
    const std::vector<std::vector<BeamCandidate>> rows = {
        {candidate(7, -0.5), candidate(8, -3.0)}, {candidate(9, -0.1), candidate(7, -0.2)}};
    const BeamSearch::Step step = search.choose(sums, rows, isEnd);
    QCOMPARE(step.next.size(), std::size_t{2});
    QCOMPARE(step.next[0].beam, std::size_t{0});
    QCOMPARE(step.next[0].sum, -1.5);
    QCOMPARE(step.next[1].beam, std::size_t{1});
    QCOMPARE(step.next[1].token.id, 9);
    QVERIFY(step.ended.empty());
  }

  void tiesGoToTheLowerBeamAndTheBetterRank() {
    const BeamSearch search(params(2));
    const std::vector<double> sums = {-1.0, -1.0};
    const std::vector<std::vector<BeamCandidate>> rows = {
        {candidate(7, -0.5), candidate(8, -0.5)}, {candidate(9, -0.5)}};
    const BeamSearch::Step step = search.choose(sums, rows, isEnd);
    QCOMPARE(step.next[0].token.id, 7);
    QCOMPARE(step.next[1].token.id, 8);
  }

  // As vLLM does it: no rank among the others is asked of an end.
  void everyEndTokenAmongTheCandidatesEndsAnAnswer() {
    const BeamSearch search(params(1));
    const std::vector<double> sums = {-1.0};
    const std::vector<std::vector<BeamCandidate>> rows = {
        {candidate(7, -0.5), candidate(kEnd, -5.0)}};
    const BeamSearch::Step step = search.choose(sums, rows, isEnd);
    QCOMPARE(step.next.size(), std::size_t{1});
    QCOMPARE(step.ended.size(), std::size_t{1});
    QCOMPARE(step.ended[0].sum, -6.0);
  }

  // Length counts the prompt and no end token.
  void scoresFollowTheLengthPenalty() {
    BeamSearch search(params(3, 2.0));
    search.add(answer(2, -9.0, false));
    search.add(answer(3, -9.0, true));
    search.add(answer(6, -9.0, false));
    const std::vector<BeamAnswer> best = search.best(3);
    QCOMPARE(best[0].tokens.size(), std::size_t{6});
    QCOMPARE(best[0].score, -9.0 / 100.0);
    QCOMPARE(best[1].score, -9.0 / 36.0);
    QCOMPARE(best[1].tokens.size(), std::size_t{2});  // the earlier of equals
    QCOMPARE(best[2].score, best[1].score);
    QCOMPARE(search.best(1).size(), std::size_t{1});
  }

  void earlyStoppingIsSatisfiedWithEnoughAnswers() {
    BeamParams early = params(2);
    early.earlyStopping = true;
    BeamSearch search(early);
    search.add(answer(2, -9.0, true));
    QVERIFY(!search.isDecided(-0.1, 2));
    search.add(answer(2, -9.0, true));
    QVERIFY(search.isDecided(-0.1, 2));
  }

  void otherwiseItEndsOnlyWhenNoBeamCanEnterTheAnswer() {
    BeamSearch search(params(1));
    search.add(answer(3, -7.0, true));  // -7 / 6
    QVERIFY(!search.isDecided(-7.5, 3));   // -7.5 / 14 would be better
    QVERIFY(search.isDecided(-17.0, 3));   // -17 / 14 would not
    BeamSearch without(params(1, 0.0));
    without.add(answer(3, -7.0, true));
    QVERIFY(!without.isDecided(-6.9, 3));
    QVERIFY(without.isDecided(-7.0, 3));
  }
};

QTEST_GUILESS_MAIN(TestBeamSearch)
#include "tst_beam_search.moc"
