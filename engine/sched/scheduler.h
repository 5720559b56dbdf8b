// Decides what the next step computes. No phases: every request has computed tokens chasing its
// tokens; one budget a step; running first, then waiting; nothing admitted in a step that
// preempted.
#pragma once

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/api/engine_config.h"
#include "engine/api/snapshot.h"
#include "engine/base/result.h"
#include "engine/kv/kv_cache.h"
#include "engine/sched/admission.h"
#include "engine/sched/request_queue.h"
#include "engine/sched/sequence.h"
#include "engine/sched/slo.h"
#include "engine/sched/step_plan.h"

namespace engine::sched {

// Why a request was not taken: reasonText(reason, a, b) is the sentence.
struct Refusal {
  Reason reason = Reason::None;
  std::int64_t a = 0, b = 0;
};

// How far an abandoned step had come.
enum class StepProgress : std::uint8_t {
  NotExecuted,  // nothing was written: the state before plan() comes back exactly
  // Blocks may have been overwritten: tables, counters and queues come back, but what the step had
  // evicted stays evicted, what it had preempted stays preempted, and so does (rarely) a request
  // whose shared block the step had copied away from. Nobody loses a token.
  MayHaveWritten,
};

struct SchedulerCounters {
  std::uint64_t steps = 0, preemptions = 0;
  std::uint64_t swaps = 0;  // requests swapped out: a part of the preemptions
  std::uint64_t prefixQueries = 0, prefixHits = 0;      // tokens, at admission
  std::uint64_t promptTokens = 0, generatedTokens = 0;  // prefilled (again, too); sampled
  std::int64_t paddedTokens = 0, idleSlotSteps = 0;
  // token slots after each step: of used blocks, and those of them that hold nothing
  std::int64_t usedSlotSteps = 0, emptySlotSteps = 0;
  // contiguous: free blocks after each step, and those of them outside the longest run
  std::int64_t freeBlockSteps = 0, strandedBlockSteps = 0;
};

// Engine thread only. A step is plan() -> execute -> commitStep(), or plan() -> abandonStep();
// the other calls belong between steps. `cache` must outlive the scheduler.
class Scheduler {
 public:
  Scheduler(kv::KvCache& cache, std::int64_t maxContext, const SchedulerLimits& limits);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Acts from the next plan. The caller has checked the ranges (checkSchedulerLimits).
  void setLimits(const SchedulerLimits& limits);

  const SchedulerLimits& limits() const { return m_limits; }

  // Puts a request in the waiting queue; a refusal keeps nothing of it. The id is new.
  std::optional<Refusal> submit(SequenceSpec spec);
  // Ends a request wherever it is and gives its blocks back; nothing when the id is not known, nor
  // for FinishReason::Stop in a batch, which the request then leaves with a later commit.
  std::optional<FinishedRequest> finish(RequestId id, FinishReason reason);
  // A child that shares all of the parent's blocks, its newest token being `lastToken` instead of
  // the parent's, or behind a held parent's. Both copy a shared block when they first write to it.
  // Where blocks cannot be shared or max-seqs run already, a child that is no beam waits and
  // computes its tokens anew. InvalidArgument when the parent has nothing to split at yet.
  Result<void> fork(RequestId parent, RequestId child, TokenId lastToken);
  // How a held sequence goes on.
  void extend(RequestId id, TokenId token);
  // Guesses for the request's next step, to be verified in it; used once, or not at all.
  void setDrafts(RequestId id, std::vector<TokenId> drafts);

  // The next step, which commitStep or abandonStep must follow; a plan without rows is committed
  // with no results. It stays as it is until the next one, but for the block tables of its rows.
  const StepPlan& plan(std::int64_t nowNs);

  // What plan() gave last: always the same object.
  const StepPlan& lastPlan() const { return m_plan; }

  // results: one a row, in order. Returns who ended, blocks already given back.
  std::vector<FinishedRequest> commitStep(std::span<const RowResult> results);
  void abandonStep(StepProgress progress);

  bool hasOpenStep() const { return m_reservation != nullptr; }

  bool hasWork() const { return !m_running.empty() || m_waiting.size() != 0; }

  std::size_t numRunning() const { return m_running.size(); }

  std::size_t numWaiting() const { return m_waiting.size(); }

  // Null when not known (never submitted, refused, ended).
  const Sequence* find(RequestId id) const;

  // In admission order; in the order of the queue.
  std::span<Sequence* const> running() const { return m_running; }

  std::vector<const Sequence*> waiting() const;

  const kv::KvCache& cache() const { return m_cache; }

  const SchedulerCounters& counters() const { return m_counters; }

 private:
  // A sequence that the open plan moved between the queues, as it was before.
  struct Moved {
    Sequence* sequence;
    SequenceProgress progress;
    bool wasRunning;
  };

  struct Leaving {
    Sequence* sequence;
    Ending ending;
  };

  // What the running requests are, counted once a plan.
  struct Demand {
    std::int64_t decoding = 0, prefilling = 0, starving = 0;
    std::int64_t reserved = 0;  // tokens of the budget that decodes leave to the starving
  };

  // plan(), part by part: scheduler_plan.cpp
  void beginPlan(std::int64_t nowNs);
  void surveyRunning();
  void orderRunning(bool isLeftOut);
  void holdDecodes();
  void planRunning(bool decodes);
  void planDecode(Sequence& sequence, std::int64_t decodesAfter);
  void planPrefill(Sequence& sequence);
  bool growOrPreempt(Sequence& sequence, std::int64_t num);
  Sequence& victim();
  void preempt(Sequence& sequence, std::int64_t blocksNeeded);
  void preemptWithBeams(Sequence& sequence, std::int64_t blocksNeeded);
  std::vector<Sequence*> runningBeamsOf(const Sequence& sequence) const;
  Verdict swapOut(Sequence& sequence, std::int64_t blocksNeeded);
  BlockId contentOf(const Sequence& sequence, std::int64_t logical) const;
  void leaveRunning(Sequence& sequence, std::int64_t swappedTokens);
  void enqueue(Sequence& sequence);
  void addRow(Sequence& sequence, std::int64_t numTokens, std::int64_t numDrafts);
  void dropRow(Sequence& sequence);
  // plan()'s admissions: scheduler_admission.cpp
  void admitWaiting(std::int64_t nowNs);
  bool holdsDoor(std::int64_t nowNs);
  bool rejectNext(std::int64_t nowNs);
  Verdict admitNext(std::int64_t nowNs);
  void enter(Sequence& sequence, const kv::PrefixMatch& match, std::int64_t nowNs);
  void notePrefix(Sequence& sequence, const kv::PrefixMatch& match);
  void swapIn(Sequence& sequence, std::int64_t firstBlock, std::int64_t tokens);
  void countPadding();
  kv::PrefixMatch matchPrefix(Sequence& sequence) const;
  std::int64_t blocksPromised(const Sequence& sequence) const;
  std::int64_t blocksToReserve(const Sequence& sequence) const;
  std::int64_t lengthToReserve(const Sequence& sequence) const;
  std::int64_t batchRoom() const;
  std::int64_t chunkFor(const Sequence& sequence) const;
  bool isStarving(const Sequence& sequence) const;
  Verdict waitReason(std::int64_t place) const;
  void describe(PlanRow& row, const Sequence& sequence) const;
  void closeGaps();
  void finishPlan();

  std::int64_t budgetLeft() const { return m_plan.budget - m_used; }

  std::int64_t decodeBudgetLeft() const { return budgetLeft() - m_demand.reserved; }

  bool isBatched() const { return m_limits.batching != BatchingKind::Continuous; }

  // commitStep() and the end of a request: scheduler.cpp
  void settleMoved();
  void countPlan();
  void countPool();
  void publishBlocks();
  std::int64_t emptySlots(const Sequence& sequence) const;
  void applyRow(Sequence& sequence, const PlanRow& row, const RowResult& result);
  std::vector<FinishedRequest> removeEnded(std::span<const RowResult> results);
  Ending endOf(const Sequence& sequence, FinishReason finish) const;
  void park(Sequence& sequence, const Ending& ending);
  void parkAnswers(std::vector<Leaving>& leaving);
  void releaseParked(std::vector<Leaving>& leaving);
  void forgetComputed(Sequence& sequence);
  void takeBack(const Moved& moved);
  Verdict limitReached(const Sequence& sequence) const;
  FinishedRequest remove(Sequence& sequence, const Ending& ending);
  Sequence& known(RequestId id);

  kv::KvCache& m_cache;
  const std::int64_t m_maxContext;
  SchedulerLimits m_limits;
  // A map of its own memory keeps them close together: a step goes through all that run.
  std::pmr::unsynchronized_pool_resource m_memory;
  std::pmr::unordered_map<RequestId, Sequence> m_sequences{&m_memory};
  RequestQueue m_waiting;
  std::vector<Sequence*> m_running;  // in admission order
  std::uint64_t m_arrivals = 0, m_admissions = 0, m_turns = 0;
  SchedulerCounters m_counters;
  std::size_t m_numParked = 0;  // of m_running
  PaceMeter m_pace;
  std::int64_t m_pacePlanNs = -1;  // begin of the last step that computed something

  // of the open plan
  std::int64_t m_planNs = 0;
  StepPlan m_plan;
  std::unique_ptr<kv::KvReservation> m_reservation;
  std::vector<Moved> m_moved;
  std::vector<Sequence*> m_rejected;   // by m_plan.rejected
  std::vector<Sequence*> m_order;      // running, in the order of planning
  std::vector<Sequence*> m_rowOwners;  // by row; null = dropped, closed before the plan is out
  bool m_hasGaps = false;              // of dropped rows

  // of the step being committed
  struct RowEnding {
    std::size_t row;
    Ending ending;
  };

  std::vector<RowEnding> m_endings;     // of the rows that end with it, in order
  std::vector<Sequence*> m_publishing;  // with a full block that is not findable yet
  Demand m_demand;
  std::int64_t m_used = 0;                           // tokens of the budget
  std::int64_t m_promised = 0;                       // blocks
  std::int64_t m_seats = 0;                          // of the running, counting what they will be
  std::size_t m_numStuck = 0;                        // beams that wait for preempted ones
  std::int64_t m_pacePrefill = 0, m_paceDecode = 0;  // tokens of the step at m_pacePlanNs
  bool m_wantedMore = false;               // a running request got less than it could compute
  Verdict m_blocked;                       // why the head of the queue did not enter
  std::uint64_t m_queried = 0, m_hit = 0;  // tokens looked up in the prefix index, found there
};

}  // namespace engine::sched
