// The draft model alone, over the toy executor: what it guesses, what it keeps, and that it leaves
// nothing behind.
#include <limits>
#include <vector>

#include <QtTest>

#include "engine/base/random.h"
#include "engine/speculate/draft_model.h"
#include "tests/support/fake_model.h"

using namespace engine;
using namespace engine::speculate;
using namespace test_support;

namespace {

// Allows even tokens alone.
class EvenTokens final : public sample::TokenMask {
 public:
  void apply(std::span<float> logits) const override {
    for (std::size_t i = 1; i < logits.size(); i += 2) {
      logits[i] = -std::numeric_limits<float>::infinity();
    }
  }

  void accept(TokenId id) override { accepted.push_back(id); }

  void rollback(std::size_t count) override { accepted.resize(accepted.size() - count); }

  std::vector<TokenId> accepted;
};

struct Rig {
  explicit Rig(std::int64_t numBlocks = 64, std::int64_t maxContext = 200)
      : executor(control, 4, numBlocks),
        proposer(executor, {maxContext, kFakeVocabSize, "toy"}) {}

  std::vector<TokenId> draftsOf(std::uint64_t id, const std::vector<TokenId>& tokens, int count) {
    Proposal one = proposalOf(id, tokens, count);
    proposer.catchUp(std::span(&one, 1), 512);
    proposer.propose(std::span(&one, 1));
    drawnFrom = one.drawnFrom;
    return one.drafts;
  }

  Proposal proposalOf(std::uint64_t id, const std::vector<TokenId>& tokens, int count) {
    Proposal one;
    one.request = RequestId(id);
    one.tokens = tokens;
    one.count = count;
    one.params = &params;
    one.history = &history;
    one.mask = mask;
    return one;
  }

  std::shared_ptr<FakeControl> control = std::make_shared<FakeControl>();
  FakeExecutor executor;
  DraftModelProposer proposer;
  SamplingParams params;
  sample::TokenHistory history;
  sample::TokenMask* mask = nullptr;
  std::vector<sample::Distribution> drawnFrom;
};

std::vector<TokenId> counting(int count) {
  std::vector<TokenId> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(i % 200);
  return tokens;
}

}  // namespace

class TestDraftModel : public QObject {
  Q_OBJECT

 private slots:

  void guessesAreThoseOfAFreshOneWhateverCameBefore() {
    Rig used;
    std::vector<TokenId> tokens = counting(50);
    for (int step = 0; step < 40; ++step) {
      const std::vector<TokenId> drafts = used.draftsOf(1, tokens, 4);
      QCOMPARE(drafts.size(), std::size_t{4});
      Rig fresh;
      QCOMPARE(fresh.draftsOf(1, tokens, 4), drafts);
      QVERIFY(used.draftsOf(1, tokens, 4) == drafts);  // a step that was not carried out
      // some stand, some fall
      const std::size_t stand = static_cast<std::size_t>(step) % 5;
      tokens.insert(tokens.end(), drafts.begin(), drafts.begin() + static_cast<std::ptrdiff_t>(stand));
      tokens.push_back(step % 7);
    }
    QVERIFY(used.drawnFrom.empty());
    QCOMPARE(used.history.numOutputTokens(), std::size_t{0});
  }

  void drawnGuessesFollowTheChainAndTheMaskAtEachPosition() {
    Rig rig;
    EvenTokens mask;
    rig.mask = &mask;
    rig.params.temperature = 0.9f;
    rig.params.topK = 30;
    rig.params.presencePenalty = 2.0f;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      rig.params.seed = seed;
      const std::vector<TokenId> drafts = rig.draftsOf(1, counting(9), 5);
      QCOMPARE(drafts.size(), std::size_t{5});
      QCOMPARE(rig.drawnFrom.size(), std::size_t{5});
      for (std::size_t i = 0; i < drafts.size(); ++i) {
        QCOMPARE(drafts[i] % 2, 0);
        QVERIFY(rig.drawnFrom[i].of(drafts[i]) > 0.0f);
        QCOMPARE(rig.drawnFrom[i].shares().size(), std::size_t{30});
        QCOMPARE(rig.drawnFrom[i].draw(counterDraw(seed, 0, 9 + i, DrawStream::Draft)), drafts[i]);
      }
      QVERIFY(mask.accepted.empty());
      QCOMPARE(rig.history.numOutputTokens(), std::size_t{0});
    }
  }

  void equalBeginningsAreComputedOnce() {
    Rig rig;
    QCOMPARE(rig.draftsOf(1, counting(60), 2).size(), std::size_t{2});
    const std::vector<TokenId> tokens = counting(60);
    Proposal second = rig.proposalOf(2, tokens, 2);
    QCOMPARE(rig.proposer.catchUp(std::span(&second, 1), 512), std::int64_t{0});
    rig.proposer.propose(std::span(&second, 1));
    QCOMPARE(second.drafts, rig.draftsOf(1, counting(60), 2));
  }

  void aSmallPoolGivesUpWhatWasNotUsedLately() {
    Rig rig(16);
    std::vector<TokenId> other = counting(40);
    other[0] = 199;
    const std::vector<TokenId> first = rig.draftsOf(1, counting(40), 3);
    QCOMPARE(rig.draftsOf(2, other, 3).size(), std::size_t{3});
    QCOMPARE(rig.draftsOf(1, counting(40), 3), first);
    QVERIFY(rig.draftsOf(3, counting(70), 3).empty());  // more than the pool
    QCOMPARE(rig.draftsOf(1, counting(40), 3), first);
    rig.proposer.keepOnly([](RequestId) { return false; });
    QCOMPARE(rig.proposer.pool().numUsed(), std::int64_t{0});
  }

  void theEndOfItsContextEndsTheGuesses() {
    Rig rig(64, 50);
    QCOMPARE(rig.draftsOf(1, counting(45), 4).size(), std::size_t{4});
    QCOMPARE(rig.draftsOf(1, counting(48), 4).size(), std::size_t{2});
    QVERIFY(rig.draftsOf(1, counting(50), 4).empty());
    QVERIFY(rig.draftsOf(1, counting(80), 4).empty());
  }

  void longPromptsAreCaughtUpWithinABudget() {
    Rig rig;
    const std::vector<TokenId> tokens = counting(150);
    Proposal one = rig.proposalOf(1, tokens, 3);
    QCOMPARE(rig.proposer.numBehind(std::span(&one, 1)), std::int64_t{149});
    QCOMPARE(rig.proposer.catchUp(std::span(&one, 1), 100), std::int64_t{100});
    rig.proposer.propose(std::span(&one, 1));
    QVERIFY(one.drafts.empty());
    QCOMPARE(rig.proposer.catchUp(std::span(&one, 1), 100), std::int64_t{49});
    rig.proposer.propose(std::span(&one, 1));
    Rig fresh;
    QCOMPARE(one.drafts, fresh.draftsOf(1, tokens, 3));
  }

  void aFailingDeviceCostsGuessesAndIsTold() {
    Rig rig;
    rig.control->stepsToFail = 1;
    QVERIFY(rig.draftsOf(1, counting(5), 3).empty());
    QVERIFY(rig.proposer.error().has_value());
    Rig fresh;
    QCOMPARE(rig.draftsOf(1, counting(5), 3), fresh.draftsOf(1, counting(5), 3));
    QVERIFY(!rig.proposer.error().has_value());
  }
};

QTEST_GUILESS_MAIN(TestDraftModel)
#include "tst_draft_model.moc"
