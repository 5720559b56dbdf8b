#include "engine/sched/sequence.h"

#include <QtTest>
#include <set>

#include "engine/sched/request_queue.h"
#include "tests/support/kv_rig.h"

using namespace engine;
using namespace engine::sched;

namespace {

Sequence makeSequence(std::uint64_t id, std::uint64_t arrival, int priority = 0) {
  SequenceSpec spec;
  spec.id = RequestId(id);
  spec.promptIds = support::countingTokens(5);
  spec.priority = priority;
  return Sequence(std::move(spec), arrival, kv::HashChain("toy", "", 4), 4);
}

}  // namespace

class SequenceTest : public QObject {
  Q_OBJECT

 private slots:
  void computedTokensChaseTokens();
  void aResumedRequestPrefillsThoughItHasOutput();
  void statesMoveOnlyAlongTheirPaths();
  void theQueueIsFirstComeFirstServed();
  void theQueueGoesByPriorityThenArrival();
  void aChangeOfPolicyReordersTheQueue();
};

void SequenceTest::computedTokensChaseTokens() {
  Sequence one = makeSequence(1, 1);
  QCOMPARE(one.numPending(), std::int64_t{5});
  QVERIFY(!one.isDecoding());
  one.progress.numComputed = 5;
  one.tokens.push_back(42);
  QCOMPARE(one.numPending(), std::int64_t{1});
  QVERIFY(one.isDecoding());
  QCOMPARE(one.numOutput(), std::int64_t{1});
  QCOMPARE(one.outputs()[0], 42);
}

void SequenceTest::aResumedRequestPrefillsThoughItHasOutput() {
  Sequence one = makeSequence(1, 1);
  one.tokens.insert(one.tokens.end(), {42, 43, 44});
  one.progress.numComputed = 0;
  QVERIFY(!one.isDecoding());
  QCOMPARE(one.numPending(), std::int64_t{8});
  QCOMPARE(one.numOutput(), std::int64_t{3});
  QCOMPARE(one.numPrompt(), std::int64_t{5});
}

void SequenceTest::statesMoveOnlyAlongTheirPaths() {
  using enum RequestState;
  const std::vector<RequestState> all{Tokenising, Waiting,   Prefilling,
                                      Decoding,   Preempted, Finished};
  const std::set<std::pair<RequestState, RequestState>> legal{
      {Tokenising, Waiting},   {Tokenising, Finished}, {Waiting, Prefilling},
      {Waiting, Finished},     {Prefilling, Decoding}, {Prefilling, Preempted},
      {Prefilling, Finished},  {Decoding, Preempted},  {Decoding, Finished},
      {Preempted, Prefilling}, {Preempted, Finished}};
  for (const RequestState from : all) {
    for (const RequestState to : all)
      QCOMPARE(isLegalTransition(from, to), legal.contains({from, to}));
  }
}

void SequenceTest::theQueueIsFirstComeFirstServed() {
  Sequence one = makeSequence(7, 1, 5), two = makeSequence(3, 2, 0), three = makeSequence(9, 3, 1);
  RequestQueue queue(PolicyKind::Fcfs);
  queue.insert(two);
  queue.insert(three);
  queue.insert(one);  // as after a preemption: before all that came later
  QCOMPARE(queue.front(), &one);
  queue.erase(one);
  QCOMPARE(queue.front(), &two);
  queue.erase(three);
  QCOMPARE(queue.size(), std::size_t{1});
}

void SequenceTest::theQueueGoesByPriorityThenArrival() {
  Sequence one = makeSequence(7, 1, 5), two = makeSequence(3, 2, 0), three = makeSequence(9, 3, 0);
  RequestQueue queue(PolicyKind::Priority);
  for (Sequence* each : {&three, &one, &two}) queue.insert(*each);
  QCOMPARE(queue.front(), &two);
  queue.erase(two);
  QCOMPARE(queue.front(), &three);
  queue.erase(three);
  QCOMPARE(queue.front(), &one);
}

void SequenceTest::aChangeOfPolicyReordersTheQueue() {
  Sequence one = makeSequence(7, 1, 5), two = makeSequence(3, 2, 0);
  RequestQueue queue(PolicyKind::Fcfs);
  queue.insert(one);
  queue.insert(two);
  queue.setPolicy(PolicyKind::Priority);
  QCOMPARE(queue.front(), &two);
  queue.setPolicy(PolicyKind::Fcfs);
  QCOMPARE(queue.front(), &one);
  QCOMPARE(queue.size(), std::size_t{2});
}

QTEST_GUILESS_MAIN(SequenceTest)
#include "tst_sequence.moc"
