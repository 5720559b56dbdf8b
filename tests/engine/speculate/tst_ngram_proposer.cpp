// Prompt lookup: the longest, then the latest earlier occurrence of the newest tokens.
#include <vector>

#include <QtTest>

#include "engine/speculate/ngram_proposer.h"

using namespace engine;
using namespace engine::speculate;

using Ids = std::vector<TokenId>;

class TestNgramProposer : public QObject {
  Q_OBJECT

 private slots:

  void whatFollowedTheNewestTokensIsProposed() {
    QCOMPARE(ngramDrafts(Ids{1, 2, 3, 4, 5, 1, 2}, 3, {}), (Ids{3, 4, 5}));
    QCOMPARE(ngramDrafts(Ids{1, 2, 3, 4, 5, 1, 2}, 1, {}), (Ids{3}));
  }

  void theLongestMatchWinsAndTheLatestAmongEquals() {
    // "2 3" occurs twice; before the first it is preceded by 1, as at the end
    QCOMPARE(ngramDrafts(Ids{1, 2, 3, 7, 9, 2, 3, 8, 1, 2, 3}, 1, {}), (Ids{7}));
    QCOMPARE(ngramDrafts(Ids{2, 3, 7, 0, 2, 3, 8, 5, 2, 3}, 1, {}), (Ids{8}));
    // beyond `max` tokens a match is as good as any: the latest
    QCOMPARE(ngramDrafts(Ids{1, 2, 3, 7, 9, 2, 3, 8, 1, 2, 3}, 1, {1, 2}), (Ids{8}));
  }

  void aLoopGoesOnBeyondWhatWasSeen() {
    QCOMPARE(ngramDrafts(Ids{4, 5, 4, 5, 4, 5}, 7, {}), (Ids{4, 5, 4, 5, 4, 5, 4}));
    QCOMPARE(ngramDrafts(Ids{6, 6, 6}, 4, {}), (Ids{6, 6, 6, 6}));
  }

  void nothingIsProposedWithoutAMatch() {
    QCOMPARE(ngramDrafts(Ids{}, 4, {}), Ids{});
    QCOMPARE(ngramDrafts(Ids{1}, 4, {}), Ids{});
    QCOMPARE(ngramDrafts(Ids{1, 2, 3, 4}, 4, {}), Ids{});
    QCOMPARE(ngramDrafts(Ids{1, 2, 9, 3, 2}, 4, {}), Ids{});  // one token in common, two wanted
    QCOMPARE(ngramDrafts(Ids{1, 2, 9, 3, 2}, 4, {1, 5}), (Ids{9, 3, 2, 9}));
    QCOMPARE(ngramDrafts(Ids{1, 2, 1, 2}, 0, {}), Ids{});
  }
};

QTEST_GUILESS_MAIN(TestNgramProposer)
#include "tst_ngram_proposer.moc"
