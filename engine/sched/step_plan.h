// What one step will do, as data: row by row, with the reason for each, and why the others wait.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/api/reason.h"
#include "engine/api/request.h"
#include "engine/api/snapshot.h"
#include "engine/api/trace_event.h"
#include "engine/base/ids.h"
#include "engine/kv/kv_reservation.h"
#include "engine/kv/swap_space.h"

namespace engine::sched {

// How a request came into the step.
enum class RowEntry : std::uint8_t {
  Continues,
  Admitted,  // its first step
  Resumed,   // its first step after a preemption
};

// One request's tokens of this step, at consecutive positions of its sequence.
struct PlanRow {
  RequestId request;
  std::int64_t firstPosition = 0;  // = tokens whose KV is there already
  int numTokens = 0;               // >= 1, drafts included
  int firstToken = 0;              // index of its tokens in StepPlan::tokens
  int numDrafts = 0;               // its last numDrafts tokens are guesses to verify
  SlicePhase phase = SlicePhase::Prefill;
  // Logits of its last 1 + numDrafts tokens are wanted and results carry tokens. False for a
  // prefill chunk that is not the prompt's last: it yields no token, no log-probability, no
  // first-token time.
  bool samples = false;
  RowEntry entry = RowEntry::Continues;
  Reason reason = Reason::None;
  std::int64_t a = 0, b = 0;      // numbers of the reason
  std::int64_t cachedTokens = 0;  // of an Admitted or Resumed row: taken from the prefix cache
  // Covers positions [0, firstPosition + numTokens) and maybe more. Points into the scheduler:
  // valid until the step is committed or abandoned.
  std::span<const BlockId> blockTable;

  std::int64_t kvLength() const { return firstPosition + numTokens; }
};

struct Preemption {
  RequestId request;
  std::int64_t blocksReturned = 0, blocksNeeded = 0;
  std::int64_t tokensLost = 0;  // to be computed again, less what the prefix cache keeps
  Reason reason = Reason::PreemptedForBlocks;  // PreemptedToSwap: its content is kept
  std::int64_t a = 0, b = 0;                   // numbers of the reason
};

// A waiting request that can no longer be served as it asked to be; it ends with the commit.
struct Rejection {
  RequestId request;
  Reason reason = Reason::None;
  std::int64_t a = 0, b = 0;
};

struct StepPlan {
  StepId id;  // 1-based, one more than the last committed step's
  std::vector<PlanRow> rows;
  std::vector<TokenId> tokens;  // [sum of numTokens], rows one after another
  // Before the step's first write, in this order: blocks out to host memory, blocks in, copies.
  std::vector<kv::SwapMove> swapOuts, swapIns;
  std::vector<kv::BlockCopy> copies;
  std::vector<Preemption> preempted;
  std::vector<Rejection> rejected;
  // Who has no row and why: running requests, then the waiting ones in order, as far as
  // kMaxWaitDecisions; those behind wait for the reason of the last one named.
  std::vector<Decision> rowless;
  int budget = 0, prefillTokens = 0, decodeTokens = 0, draftTokens = 0;
  int numSampledRows = 0;                 // logits rows: sum over sampling rows of 1 + numDrafts
  std::int64_t running = 0, waiting = 0;  // as this step runs
  // Static and dynamic batching: tokens that would fill the prompts of a batch that begins now to
  // the longest of them; requests that have ended and hold their place.
  std::int64_t paddedTokens = 0, idleSlotSteps = 0;
  bool holdsResults = false;               // nobody hears of its tokens before its batch has ended
  Reason limit = Reason::LimitQueueEmpty;  // why no more work was taken
  std::int64_t wakeAtNs = -1;              // an empty plan that waits for time: when to ask again

  bool isEmpty() const { return rows.empty(); }

  int numTokens() const { return prefillTokens + decodeTokens + draftTokens; }
};

inline constexpr std::size_t kMaxWaitDecisions = 64;

// A sequence that splits off a row's own at its newest token: same tokens but for that one.
struct Branch {
  RequestId child;
  TokenId token = -1;
  FinishReason finish = FinishReason::None;  // as in RowResult
};

// What became of one row, in the plan's order.
struct RowResult {
  // Accepted drafts, then the one token sampled after them: 1 to 1 + numDrafts of a row that
  // samples; none of one that does not, or that ends without a token (cancelled, failed).
  std::span<const TokenId> tokens;
  // Stop, Cancelled or Failed as the caller found; None otherwise. Limits of length and context are
  // the scheduler's: it ends a request with Length by itself.
  FinishReason finish = FinishReason::None;
  std::span<const Branch> branches = {};  // of a row with tokens
  // No token yet: extend(), fork() or finish() says between steps how the sequence goes on.
  bool holds = false;
};

struct FinishedRequest {
  RequestId request;
  FinishReason finish = FinishReason::None;
  Reason reason = Reason::None;  // FinishedStop, FinishedLength, FinishedContextFull, ...
  std::int64_t a = 0, b = 0;
  Usage usage;
  int preemptions = 0;
  PrefixMiss prefixMiss = PrefixMiss::None;
  std::int64_t prefixMissPosition = 0;
};

}  // namespace engine::sched
