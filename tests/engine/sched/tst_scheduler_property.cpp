// Random workloads, pools, limits, cancels, failures, forks and drafts: after every step all
// invariants hold, every request gets exactly the tokens that it would get alone, and in the end
// everything is back. TESSERA_CASES sets how many cases, TESSERA_SEED the first one's seed.
#include <fmt/format.h>
#include <QtTest>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "engine/kv/kv_invariants.h"
#include "engine/sched/sched_invariants.h"
#include "engine/sched/sched_snapshot.h"
#include "engine/sched/scheduler.h"
#include "tests/support/toy_executor.h"

using namespace engine;
using namespace engine::sched;

namespace {

constexpr TokenId kVocab = 23;

// What the drawn cases really exercised, so that the test cannot pass by doing nothing.
struct Seen {
  std::int64_t cases = 0, mixedCases = 0, preemptions = 0, copies = 0, hits = 0, evictions = 0,
               abandoned = 0, exactRestores = 0, rejectedDrafts = 0, acceptedDrafts = 0, forks = 0,
               cancels = 0, failures = 0, refusals = 0, deduplicated = 0, resumedFromCache = 0,
               contiguous = 0, swaps = 0, fullSwaps = 0, swappedBack = 0, restoredCopies = 0,
               rejections = 0, batches = 0, heldAnswers = 0, delays = 0, cacheless = 0;
};

struct Reference {
  std::vector<TokenId> prompt;
  std::vector<TokenId> given;  // outputs that a fork inherited
  std::int64_t maxTokens = 0;
  std::vector<TokenId> outputs;  // as committed
  bool hasEnded = false;
};

class Case {
 public:
  Case(std::uint64_t seed, Seen& seen)
      : m_random(seed),
        m_seen(seen),
        m_config(drawConfig()),
        m_cache(m_config, [this](const BlockRecord& r) { mirror(r); }),
        m_toy(m_config.numBlocks, m_config.blockSize, kVocab),
        m_scheduler(m_cache, m_config.maxContext, drawLimits()),
        m_refs(static_cast<std::size_t>(m_config.numBlocks), 0) {
    for (int i = 0; i < 4; ++i) m_preludes.push_back(drawTokens(upTo(0, 40)));
    m_toCome = upTo(3, 14);
    m_drama = upTo(0, 3) == 0 ? 0 : 1;  // a quarter of the cases run without faults
  }

  // What went wrong, or nothing.
  std::string run() {
    for (int loops = 0; m_toCome > 0 || m_scheduler.hasWork(); ++loops) {
      if (loops > 20000) return "no end in sight";
      if (m_toCome > 0 && (upTo(0, 2) == 0 || !m_scheduler.hasWork())) arrive();
      interfere();
      if (std::string wrong = step(); !wrong.empty()) return wrong;
      if (std::string wrong = settled(); !wrong.empty()) return wrong;
    }
    return finished();
  }

 private:
  std::int64_t upTo(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(m_random);
  }

  std::vector<TokenId> drawTokens(std::int64_t count) {
    std::vector<TokenId> tokens(static_cast<std::size_t>(count));
    for (TokenId& token : tokens) token = static_cast<TokenId>(upTo(0, kVocab - 1));
    return tokens;
  }

  kv::KvCacheConfig drawConfig() {
    kv::KvCacheConfig config;
    config.allocator = upTo(0, 7) == 0 ? AllocatorKind::Contiguous : AllocatorKind::Paged;
    config.blockSize = 1 << upTo(0, 4);
    config.maxContext = upTo(20, 90);
    const std::int64_t whole = (config.maxContext + config.blockSize - 1) / config.blockSize;
    config.numBlocks = upTo(std::max<std::int64_t>(1, whole / 2), whole * 3);
    config.identity = "toy";
    config.swapBlocks = upTo(0, whole * 2);
    config.isKept = upTo(0, 9) != 0;
    if (!config.isKept) ++m_seen.cacheless;
    if (config.allocator == AllocatorKind::Contiguous) ++m_seen.contiguous;
    return config;
  }

  SchedulerLimits drawLimits() {
    SchedulerLimits limits;
    limits.maxSeqs = static_cast<int>(upTo(1, 10));
    limits.maxBatchedTokens = static_cast<int>(upTo(1, 5) == 1 ? upTo(1, 6) : upTo(8, 64));
    limits.prefillChunk = static_cast<int>(upTo(0, 2) == 0 ? upTo(1, 20) : 0);
    limits.longPrefillThreshold = static_cast<int>(upTo(0, 2) == 0 ? upTo(1, 20) : 0);
    limits.prefixCache = upTo(0, 4) != 0;
    limits.policy = static_cast<PolicyKind>(upTo(0, 2));
    if (upTo(0, 2) == 0) limits.batching = static_cast<BatchingKind>(upTo(1, 2));
    limits.maxBatch = static_cast<int>(upTo(1, 8));
    limits.queueDelayMs = static_cast<double>(upTo(0, 20));
    limits.preemption = static_cast<PreemptionKind>(upTo(0, 1));
    return limits;
  }

  void mirror(const BlockRecord& record) {
    std::int64_t& refs = m_refs[static_cast<std::size_t>(record.block)];
    switch (record.op) {
      case BlockOp::Allocate:
        if (refs != 0) m_eventFault = "a held block was allocated";
        refs = 1;
        break;
      case BlockOp::Share:
      case BlockOp::Hit:
        ++refs;
        break;
      case BlockOp::Unshare:
      case BlockOp::Free:
        --refs;
        break;
      case BlockOp::Evict:
        ++m_seen.evictions;
        if (refs != 0) m_eventFault = "a held block was evicted";
        break;
      case BlockOp::CopyOnWrite:
        ++m_seen.copies;
        break;
      case BlockOp::SwapOut:
      case BlockOp::SwapIn:
        if (refs < 1) m_eventFault = "a block was swapped that nobody held";
        break;
    }
    if (refs != record.refCount) m_eventFault = "events and reference counts differ";
  }

  void arrive() {
    --m_toCome;
    SequenceSpec spec;
    spec.id = RequestId(m_nextId++);
    spec.promptIds = m_preludes[static_cast<std::size_t>(upTo(0, 3))];
    const std::vector<TokenId> own = drawTokens(upTo(spec.promptIds.empty() ? 1 : 0, 12));
    spec.promptIds.insert(spec.promptIds.end(), own.begin(), own.end());
    spec.maxTokens = upTo(0, 9) == 0 ? 100000 : upTo(1, 40);
    spec.priority = static_cast<int>(upTo(0, 2));
    spec.cacheNamespace = upTo(0, 5) == 0 ? "other" : "";
    spec.arrivalNs = m_nowNs;
    if (upTo(0, 2) == 0) spec.slo.ttftMs = static_cast<double>(upTo(1, 300));
    if (upTo(0, 2) == 0) spec.slo.tpotMs = static_cast<double>(upTo(1, 30));
    spec.readsPrefixCache = upTo(0, 9) != 0;
    Reference reference;
    reference.prompt = spec.promptIds;
    reference.maxTokens = spec.maxTokens;
    const RequestId id = spec.id;
    if (m_scheduler.submit(std::move(spec))) {
      ++m_seen.refusals;
      return;
    }
    m_references[id] = std::move(reference);
  }

  // A cancel, a fork, drafts, or other limits, between two steps.
  void interfere() {
    if (m_drama == 0) return;
    if (upTo(0, 30) == 0 && !m_references.empty()) {
      const RequestId id(
          static_cast<std::uint64_t>(upTo(0, static_cast<std::int64_t>(m_nextId) - 1)));
      if (auto ended = m_scheduler.finish(id, FinishReason::Cancelled)) {
        ++m_seen.cancels;
        note(*ended);
      }
    }
    if (upTo(0, 40) == 0) m_scheduler.setLimits(drawLimits());
    if (!m_config.isKept) return;  // nothing to verify against, nothing to share
    for (const Sequence* one : m_scheduler.running()) {
      if (!one->isDecoding() || upTo(0, 3) != 0) continue;
      m_scheduler.setDrafts(one->spec.id, drawDrafts(*one));
    }
    const auto running = m_scheduler.running();
    if (upTo(0, 10) == 0 && !running.empty() && running.size() < 12 && m_cache.canShare()) {
      fork(*running[static_cast<std::size_t>(
          upTo(0, static_cast<std::int64_t>(running.size()) - 1))]);
    }
  }

  std::vector<TokenId> drawDrafts(const Sequence& sequence) {
    std::vector<TokenId> all = sequence.tokens, drafts;
    for (std::int64_t i = upTo(1, 6); i > 0; --i) {
      const bool isRight = upTo(0, 4) != 0;
      drafts.push_back(isRight ? m_toy.nextOf(all) : static_cast<TokenId>(upTo(0, kVocab - 1)));
      all.push_back(drafts.back());
    }
    return drafts;
  }

  void fork(const Sequence& parent) {
    if (parent.progress.state != RequestState::Decoding) return;
    const RequestId id(m_nextId++);
    const auto token = static_cast<TokenId>(upTo(0, kVocab - 1));
    Reference reference = m_references[parent.spec.id];
    reference.outputs.back() = token;
    reference.given = reference.outputs;
    if (!m_scheduler.fork(parent.spec.id, id, token).isOk()) return;
    ++m_seen.forks;
    m_references[id] = std::move(reference);
  }

  std::string step() {
    const kv::KvFacts before = kv::takeFacts(m_cache);
    const std::vector<RequestSnapshot> requestsBefore = snapshotRequests(m_scheduler);
    m_nowNs += upTo(0, 3) * 1'000'000;
    const StepPlan& plan = m_scheduler.plan(m_nowNs);
    if (plan.isEmpty() && plan.wakeAtNs >= 0) {
      ++m_seen.delays;
      if (plan.wakeAtNs <= m_nowNs) return "a step waits for a time that is over";
    }
    for (const std::string& wrong : findPlanViolations(plan, m_scheduler)) return "plan: " + wrong;
    if (m_drama == 1 && upTo(0, 12) == 0) return abandon(plan, before, requestsBefore);
    m_seen.preemptions += static_cast<std::int64_t>(plan.preempted.size());
    noteSwaps(plan);
    if (std::string wrong = judgeBatch(plan); !wrong.empty()) return wrong;
    if (plan.prefillTokens > 0 && plan.decodeTokens > 0) m_isMixed = true;
    std::vector<std::vector<TokenId>> sampled;
    const auto tokensOf = [this](RequestId id) {
      return std::span<const TokenId>(m_scheduler.find(id)->tokens);
    };
    if (std::string wrong = m_toy.execute(plan, tokensOf, sampled); !wrong.empty()) return wrong;
    std::vector<RowResult> results(plan.rows.size());
    std::vector<std::pair<RequestId, std::vector<TokenId>>> kept;
    for (std::size_t i = 0; i < plan.rows.size(); ++i) {
      judge(plan.rows[i], sampled[i], results[i]);
      kept.emplace_back(plan.rows[i].request,
                        std::vector<TokenId>(results[i].tokens.begin(), results[i].tokens.end()));
      if (plan.rows[i].entry == RowEntry::Resumed && plan.rows[i].cachedTokens > 0)
        ++m_seen.resumedFromCache;
    }
    const std::uint64_t hits = m_cache.pool().counters().hits;
    const auto ended = m_scheduler.commitStep(results);
    m_seen.deduplicated += static_cast<std::int64_t>(m_cache.pool().counters().hits - hits);
    for (auto& [id, tokens] : kept) {
      Reference& reference = m_references[id];
      reference.outputs.insert(reference.outputs.end(), tokens.begin(), tokens.end());
    }
    for (const FinishedRequest& one : ended) note(one);
    return {};
  }

  void noteSwaps(const StepPlan& plan) {
    for (const Preemption& one : plan.preempted) {
      if (one.reason == Reason::PreemptedToSwap) ++m_seen.swaps;
      if (one.reason == Reason::PreemptedSwapFull) ++m_seen.fullSwaps;
    }
    for (const PlanRow& row : plan.rows) {
      if (row.reason == Reason::ResumedFromSwap) ++m_seen.swappedBack;
    }
    m_seen.restoredCopies += static_cast<std::int64_t>(plan.swapIns.size());
    m_seen.rejections += static_cast<std::int64_t>(plan.rejected.size());
  }

  // Nobody enters a batch that has begun, and none of its answers leaves before the others.
  std::string judgeBatch(const StepPlan& plan) {
    if (!plan.holdsResults) return {};
    const auto enters = [](const PlanRow& row) { return row.entry != RowEntry::Continues; };
    const bool begins = std::ranges::any_of(plan.rows, enters);
    m_seen.batches += begins ? 1 : 0;
    m_seen.heldAnswers += plan.idleSlotSteps;
    // who enters with tokens that are in host memory or the prefix cache may have one to compute
    const auto decodesOn = [](const PlanRow& row) {
      return row.entry == RowEntry::Continues && row.phase != SlicePhase::Prefill;
    };
    if (plan.prefillTokens > 0 && std::ranges::any_of(plan.rows, decodesOn)) {
      return "a batch decodes while it prefills";
    }
    return {};
  }

  // What the sampler would say of a row: token 0 is the end; some rows fail or are cancelled.
  void judge(const PlanRow& row, std::vector<TokenId>& tokens, RowResult& result) {
    m_seen.acceptedDrafts += tokens.empty() ? 0 : static_cast<std::int64_t>(tokens.size()) - 1;
    if (!tokens.empty() && tokens.size() <= static_cast<std::size_t>(row.numDrafts))
      ++m_seen.rejectedDrafts;
    if (m_drama == 1 && upTo(0, 150) == 0) {
      ++m_seen.failures;
      tokens.clear();
      result.finish = upTo(0, 1) == 0 ? FinishReason::Failed : FinishReason::Cancelled;
      if (result.finish == FinishReason::Failed) m_toy.spoilRow(row);
      return;
    }
    const auto stop = std::ranges::find(tokens, TokenId{0});
    if (stop != tokens.end()) {
      tokens.erase(stop + 1, tokens.end());
      result.finish = FinishReason::Stop;
    }
    result.tokens = tokens;
  }

  std::string abandon(const StepPlan& plan,
                      const kv::KvFacts& before,
                      const std::vector<RequestSnapshot>& requestsBefore) {
    ++m_seen.abandoned;
    if (upTo(0, 1) == 0) {
      m_toy.spoil(plan);
      m_scheduler.abandonStep(StepProgress::MayHaveWritten);
      return {};
    }
    m_scheduler.abandonStep(StepProgress::NotExecuted);
    ++m_seen.exactRestores;
    const kv::KvFacts now = kv::takeFacts(m_cache);
    if (now.freeOrder != before.freeOrder) return "the free list is not as before the plan";
    if (now.evictionOrder != before.evictionOrder) return "the eviction order is not as before";
    for (std::size_t i = 0; i < now.blocks.size(); ++i) {
      const kv::Block &one = now.blocks[i], &other = before.blocks[i];
      if (one.refCount != other.refCount || one.hash != other.hash || one.owner != other.owner ||
          one.filled != other.filled || now.findable[i].hash != before.findable[i].hash) {
        return "a block is not as before the plan";
      }
    }
    const std::vector<RequestSnapshot> requests = snapshotRequests(m_scheduler);
    if (requests.size() != requestsBefore.size()) return "a request is lost";
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const RequestSnapshot &one = requests[i], &other = requestsBefore[i];
      if (one.id != other.id || one.state != other.state || one.blocks != other.blocks ||
          one.computedTokens != other.computedTokens || one.preemptions != other.preemptions) {
        return "a request is not as before the plan";
      }
    }
    return {};
  }

  void note(const FinishedRequest& one) {
    Reference& reference = m_references[one.request];
    if (reference.hasEnded) m_eventFault = "a request ended twice";
    reference.hasEnded = true;
    if (one.usage.completionTokens != static_cast<std::int64_t>(reference.outputs.size())) {
      m_eventFault = "usage does not count each token once";
    }
    if (one.finish == FinishReason::Length) {
      const auto total = reference.prompt.size() + reference.outputs.size();
      const bool isLong =
          static_cast<std::int64_t>(reference.outputs.size()) == reference.maxTokens;
      const bool isFull = static_cast<std::int64_t>(total) == m_config.maxContext;
      if (!isLong && !isFull) m_eventFault = "a request ended before its limit";
    }
  }

  // Between steps.
  std::string settled() {
    if (!m_eventFault.empty()) return m_eventFault;
    for (const std::string& wrong : findViolations(m_scheduler)) return wrong;
    for (std::size_t i = 0; i < m_refs.size(); ++i) {
      if (m_refs[i] != m_cache.pool().block(BlockId(static_cast<std::int32_t>(i))).refCount) {
        return "the events do not add up to the pool";
      }
    }
    if (snapshotCounters(m_scheduler).leakedBlocks != 0) return "blocks leak";
    return {};
  }

  std::string finished() {
    if (m_cache.pool().numUsed() != 0) return "blocks are not back";
    for (const auto& [id, reference] : m_references) {
      if (!reference.hasEnded) return "a request never ended";
      std::vector<TokenId> all = reference.prompt;
      all.insert(all.end(), reference.given.begin(), reference.given.end());
      for (std::size_t i = reference.given.size(); i < reference.outputs.size(); ++i) {
        if (reference.outputs[i] != m_toy.nextOf(all)) {
          return "request " + std::to_string(id.value) + " got another token than alone, output " +
                 std::to_string(i);
        }
        all.push_back(reference.outputs[i]);
      }
    }
    ++m_seen.cases;
    m_seen.mixedCases += m_isMixed ? 1 : 0;
    m_seen.hits += static_cast<std::int64_t>(m_scheduler.counters().prefixHits);
    return {};
  }

  std::mt19937_64 m_random;
  Seen& m_seen;
  kv::KvCacheConfig m_config;
  kv::KvCache m_cache;
  support::ToyExecutor m_toy;
  Scheduler m_scheduler;
  std::vector<std::int64_t> m_refs;  // by block, from the events
  std::string m_eventFault;
  std::vector<std::vector<TokenId>> m_preludes;
  std::map<RequestId, Reference> m_references;
  std::uint64_t m_nextId = 0;
  std::int64_t m_nowNs = 0;
  std::int64_t m_toCome = 0;
  int m_drama = 0;
  bool m_isMixed = false;
};

}  // namespace

class SchedulerProperty : public QObject {
  Q_OBJECT

 private slots:
  void anyWorkloadKeepsTheInvariantsAndItsTokens();
};

void SchedulerProperty::anyWorkloadKeepsTheInvariantsAndItsTokens() {
  const int numCases = qEnvironmentVariableIntValue("TESSERA_CASES") > 0
                           ? qEnvironmentVariableIntValue("TESSERA_CASES")
                           : 3000;
  const auto firstSeed =
      static_cast<std::uint64_t>(qEnvironmentVariable("TESSERA_SEED", "1").toULongLong());
  Seen seen;
  for (std::uint64_t seed = firstSeed; seed < firstSeed + static_cast<std::uint64_t>(numCases);
       ++seed) {
    Case one(seed, seen);
    const std::string wrong = one.run();
    QVERIFY2(wrong.empty(), ("TESSERA_SEED=" + std::to_string(seed) + ": " + wrong).c_str());
  }
  qInfo("%s",
        fmt::format("{} cases: {} mixed, {} preemptions ({} resumed from cache), {} copies, {} hit "
                    "tokens, {} deduplicated, {} evictions, {} abandoned ({} exact), drafts {} "
                    "accepted {} rejected, {} forks, {} cancels, {} failures, {} refusals, {} "
                    "contiguous; {} swaps, {} with no room, {} swapped back ({} blocks), {} "
                    "rejections, {} batches ({} slot-steps held), {} delays, {} cacheless",
                    seen.cases, seen.mixedCases, seen.preemptions, seen.resumedFromCache,
                    seen.copies, seen.hits, seen.deduplicated, seen.evictions, seen.abandoned,
                    seen.exactRestores, seen.acceptedDrafts, seen.rejectedDrafts, seen.forks,
                    seen.cancels, seen.failures, seen.refusals, seen.contiguous, seen.swaps,
                    seen.fullSwaps, seen.swappedBack, seen.restoredCopies, seen.rejections,
                    seen.batches, seen.heldAnswers, seen.delays, seen.cacheless)
            .c_str());
  if (numCases < 1000) return;  // a short run by hand need not have seen everything
  for (const std::int64_t count : {seen.preemptions,   seen.resumedFromCache, seen.copies,
                                   seen.hits,          seen.deduplicated,     seen.evictions,
                                   seen.exactRestores, seen.acceptedDrafts,   seen.rejectedDrafts,
                                   seen.forks,         seen.cancels,          seen.failures,
                                   seen.refusals,      seen.contiguous,       seen.swaps,
                                   seen.fullSwaps,     seen.swappedBack,      seen.rejections,
                                   seen.batches,       seen.heldAnswers,      seen.delays,
                                   seen.cacheless}) {
    QVERIFY(count >= 50);
  }
  QVERIFY(seen.mixedCases * 10 >= seen.cases * 5);
}

QTEST_GUILESS_MAIN(SchedulerProperty)
#include "tst_scheduler_property.moc"
