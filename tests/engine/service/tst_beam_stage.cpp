// Beam search over shared blocks: what it finds, its tree, its ends, and groups that move together.
// labels: contract
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <QtTest>

#include "engine/sample/column_tiles.h"
#include "engine/sample/sampler.h"
#include "tests/support/choice_bench.h"

using namespace engine;
using namespace engine::service;
using namespace test_support;

namespace {

// Beam search written down plainly, one sequence at a time, over the toy model's own rows.
struct PlainBeams {
  struct Beam {
    std::vector<TokenId> ids;
    double sum = 0, score = 0;
  };

  static std::vector<float> rowAfter(const std::vector<TokenId>& tokens, bool neverEnds) {
    auto control = std::make_shared<FakeControl>();
    control->neverEnds = neverEnds;
    FakeExecutor executor(control, 512, 1);
    const std::vector<BlockId> table = {BlockId(0)};
    const exec::SequenceRows rows{tokens, 0, table, 1};
    std::vector<float> row;
    (void)executor.execute(std::span(&rows, 1), nullptr, [&](int, int, const float* logits) {
      row.assign(logits, logits + kFakeVocabSize);
    });
    return row;
  }

  static std::vector<Beam> search(const std::vector<TokenId>& prompt,
                                  std::size_t width,
                                  std::size_t maxTokens,
                                  double lengthPenalty) {
    const auto scoreOf = [&](const Beam& beam, bool hasEnd) {
      const double length =
          static_cast<double>(prompt.size() + beam.ids.size()) - (hasEnd ? 1 : 0);
      return beam.sum / std::pow(length, lengthPenalty);
    };
    std::vector<Beam> live(1), done;
    for (std::size_t step = 0; step < maxTokens; ++step) {
      std::vector<Beam> next;
      for (const Beam& beam : live) {
        std::vector<TokenId> tokens = prompt;
        tokens.insert(tokens.end(), beam.ids.begin(), beam.ids.end());
        const std::vector<float> row = rowAfter(tokens, false);
        const double logSumExp = sample::summarizeRow(row).value().logSumExp;
        for (const sample::Candidate& one : sample::bestOfRow(row, 2 * width)) {
          Beam longer = beam;
          longer.ids.push_back(one.id);
          longer.sum += double{one.logit} - logSumExp;
          if (one.id != kFakeEnd) {
            next.push_back(longer);
          } else {
            longer.score = scoreOf(longer, true);
            done.push_back(longer);
          }
        }
      }
      std::ranges::stable_sort(next, std::greater(), &Beam::sum);
      next.resize(std::min(next.size(), width));
      live = next;
    }
    for (Beam& beam : live) {
      beam.score = scoreOf(beam, false);
      done.push_back(beam);
    }
    std::ranges::stable_sort(done, std::greater(), &Beam::score);
    done.resize(std::min(done.size(), width));
    return done;
  }
};

std::vector<TokenId> bytesOf(const std::string& text) {
  return {text.begin(), text.end()};
}

}  // namespace

class TestBeamStage : public QObject {
  Q_OBJECT

 private slots:

  void beamsFindWhatPlainSearchFinds_data() {
    QTest::addColumn<int>("width");
    QTest::addColumn<double>("lengthPenalty");
    for (const int width : {1, 2, 4, 7}) {
      for (const double penalty : {1.0, 0.0, 2.0, -1.0}) {
        QTest::addRow("width %d, penalty %g", width, penalty) << width << penalty;
      }
    }
  }

  void beamsFindWhatPlainSearchFinds() {
    QFETCH(int, width);
    QFETCH(double, lengthPenalty);
    for (const std::string prompt : {"a", "find the best", "or another"}) {
      SamplingParams params = beams(width, 14);
      params.lengthPenalty = static_cast<float>(lengthPenalty);
      const Served served = serve(asking(prompt, params, 1), {});
      const auto plain = PlainBeams::search(bytesOf(prompt), static_cast<std::size_t>(width), 14,
                                            lengthPenalty);
      const std::vector<ClientAnswer> answers = answersOf(served.request);
      QCOMPARE(answers.size(), plain.size());
      for (std::size_t i = 0; i < plain.size(); ++i) {
        QCOMPARE(answers[i].ids, plain[i].ids);
        const ChoiceEnd& end = served.request.finished.choices[i];
        QVERIFY(std::abs(end.cumulativeLogprob - plain[i].sum) < 1e-9);
        QVERIFY(std::abs(end.score - plain[i].score) < 1e-9);
      }
    }
  }

  // Every sequence that ran stands in the tree, and what was told is a path in it.
  void aBeamsTreeIsInTheTrace() {
    const Served served = serve(asking("grow a tree", beams(4, 25), 1), {});
    std::map<std::uint64_t, std::vector<TokenId>> paths;
    std::set<std::vector<TokenId>> ended;
    int forks = 0, prunes = 0;
    for (const TraceEvent& event : served.events) {
      if (event.kind != TraceKind::Branch) continue;
      const BranchRecord& one = event.branch;
      switch (one.op) {
        case BranchOp::Fork: {
          ++forks;
          std::vector<TokenId> path = paths[one.parent];
          // the parent may have gone on in the meantime: its tokens before this position count
          path.resize(static_cast<std::size_t>(one.position) - 11);
          path.push_back(one.id);
          paths[one.request] = path;
          break;
        }
        case BranchOp::Continue:
          QCOMPARE(paths[one.request].size(), static_cast<std::size_t>(one.position) - 11);
          paths[one.request].push_back(one.id);
          break;
        case BranchOp::Prune:
          ++prunes;
          paths.erase(one.request);
          break;
        case BranchOp::Finish: {
          std::vector<TokenId> path = paths[one.request];
          path.push_back(one.id);
          ended.insert(path);
          break;
        }
      }
    }
    QVERIFY(forks > 3 && prunes > 0);
    for (const ClientAnswer& one : answersOf(served.request)) QVERIFY(ended.contains(one.ids));
    QVERIFY(served.counters.cowCopies > 0);
  }

  void beamsEndEarlyWhereAskedTo() {
    SamplingParams params = beams(3, 200);
    const Served patient = serve(asking("stop early", params, 1), {});
    params.earlyStopping = true;
    const Served early = serve(asking("stop early", params, 1), {});
    QVERIFY(early.counters.steps <= patient.counters.steps);
    QVERIFY(early.counters.steps < 200);
    QCOMPARE(early.request.finished.choices.size(), std::size_t{3});
    for (const ChoiceEnd& end : early.request.finished.choices) {
      QVERIFY(end.reason == FinishReason::Stop);
    }
    params.n = 2;
    QCOMPARE(serve(asking("stop early", params, 2), {}).request.finished.choices.size(),
             std::size_t{2});
  }

  void stopStringsEndBeamsToo() {
    SamplingParams params = beams(3, 60);
    params.stop = {"a", "b", "c", "d"};
    const Served served = serve(asking("stop strings", params, 1), {});
    for (const ClientAnswer& one : answersOf(served.request)) {
      QVERIFY(one.text.find_first_of("abcd") == std::string::npos);
    }
  }

  // Two searches that do not fit together: one waits for the other instead of both for each other.
  void beamGroupsMoveTogether() {
    ServiceBench bench;
    QVERIFY(bench.load(53, 4));
    std::vector<RequestId> ids;
    const auto promptOf = [](std::size_t i) { return "search " + std::to_string(i); };
    for (std::size_t i = 0; i < 10; ++i) {
      ids.push_back(bench.client.submit(asking(promptOf(i), beams(4, 40), 1)));
    }
    QVERIFY(bench.comesToRest());
    QVERIFY(bench.client.snapshot()->counters.preemptions > 0);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::string prompt = promptOf(i);
      Serving ample;
      ample.neverEnds = true;
      const Served alone = serve(asking(prompt, beams(4, 40), 1), ample);
      QVERIFY(isSame(bench.client.request(ids[i]), alone.request));
    }
  }

  void whatCannotBeServedIsRefusedWithTheNumbers() {
    Serving few;
    few.limits.maxSeqs = 3;
    const auto wide = serve(asking("wide", beams(4, 10), 1), few).request.finished;
    QVERIFY(wide.reason == FinishReason::Refused);
    QVERIFY2(wide.explanation.find("needs 4 sequences at once, max-seqs is 3") != std::string::npos,
             wide.explanation.c_str());
    Serving small;
    small.kvBlocks = 20;
    const auto large = serve(asking("large", beams(4, 60), 1), small).request.finished;
    QVERIFY(large.reason == FinishReason::Refused);
    QVERIFY(large.explanation.find("68 blocks, the pool has 20") != std::string::npos);
    Serving contiguous;
    contiguous.allocator = AllocatorKind::Contiguous;
    const auto apart = serve(asking("apart", beams(2, 10), 1), contiguous).request.finished;
    QVERIFY(apart.reason == FinishReason::Refused);
    QVERIFY(apart.explanation.find("contiguous") != std::string::npos);
  }

};

QTEST_GUILESS_MAIN(TestBeamStage)
#include "tst_beam_stage.moc"
