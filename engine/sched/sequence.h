// One request as the scheduler sees it: its tokens, how far they are computed, and its blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/api/request.h"
#include "engine/api/snapshot.h"
#include "engine/base/ids.h"
#include "engine/kv/block_pool.h"
#include "engine/kv/block_table.h"
#include "engine/kv/hash_chain.h"
#include "engine/kv/prefix_index.h"
#include "engine/kv/swap_space.h"
#include "engine/sched/slo.h"

namespace engine::sched {

// What never changes about a request. What each step looks at comes first, here and below: with
// thousands of them running a step costs what their memory costs.
struct SequenceSpec {
  RequestId id;
  std::int64_t maxTokens = 128;    // >= 1
  std::vector<TokenId> promptIds;  // not empty
  int priority = 0;                // lower goes first
  int numBranches = 1;             // sequences that the request becomes, itself included
  // Beams go on together: they are preempted together and wait for each other.
  bool isBeam = false;
  bool readsPrefixCache =
      true;  // false when every prompt position must be computed (prompt logprobs)
  std::int64_t arrivalNs = 0;
  RequestId root;  // the request that it is part of; none = its own
  SloTarget slo;
  std::string cacheNamespace;
};

// Counters that one step may change; restored as one value when the step is abandoned.
struct SequenceProgress {
  RequestState state = RequestState::Waiting;
  // Admitted, and no row of it was committed since.
  bool isEntering = false, isResuming = false;
  int preemptions = 0;
  std::int64_t numComputed = 0;      // positions whose KV stands; chases the number of tokens
  std::int64_t publishedBlocks = 0;  // leading blocks that are findable
  std::int64_t cachedTokens = -1;    // from the prefix cache at the first admission; -1 = not yet
  std::int64_t entryCachedTokens = 0;  // taken from the prefix cache at the last admission
  std::uint64_t admissionOrder = 0;    // of the last admission
  std::uint64_t waitingSince = 0;      // step after which it began to wait
  std::int64_t admittedNs = -1;        // first admission
  std::int64_t swappedTokens = 0;  // while preempted: leading positions whose KV is in host memory
};

// How a request ended.
struct Ending {
  FinishReason finish = FinishReason::None;
  Reason reason = Reason::None;
  std::int64_t a = 0, b = 0;
};

// Whether a request may go from one state to another.
bool isLegalTransition(RequestState from, RequestState to);

// Engine thread only. Owned by the scheduler, which alone changes it.
struct Sequence {
  Sequence(SequenceSpec theSpec,
           std::uint64_t theArrivalOrder,
           kv::HashChain theChain,
           int blockSize);

  const SequenceSpec spec;
  std::vector<TokenId> tokens;  // prompt, then outputs; outputs stay outputs after a preemption
  TokenId newest;               // the last of them, which a decode needs, without a way to the list
  kv::BlockTable table;
  std::vector<TokenId> drafts;  // guesses for the next step only
  SequenceProgress progress;

  // Why it is where it is, from the last plan.
  Reason reason = Reason::WaitsStart;
  bool hasBranched = false;  // its branches count by themselves
  bool isLeaving = false;    // scratch of the step being committed
  int planRow = -1;          // scratch of the plan being made
  std::int64_t reasonA = 0, reasonB = 0;
  std::uint64_t lastStep = 0;  // last committed step that had a row of it
  std::uint64_t turn = 0;  // counts committed rows of all requests: who has the least goes first
  std::int64_t firstTokenNs = -1, lastTokenNs = -1;  // begin of the step that sampled it
  // Static and dynamic batching: it has ended, and holds its blocks until its batch ends.
  Ending parked;

  kv::HashChain chain;
  const std::uint64_t arrivalOrder;
  std::uint64_t rootArrival = 0;  // arrivalOrder of its root: branches stand together in the queue
  PrefixMiss prefixMiss = PrefixMiss::None;
  std::int64_t prefixMissPosition = 0;
  std::vector<kv::SwapSlot> swapSlots;  // by logical block, as far as swappedTokens
  std::int64_t restoredTokens = 0;      // scratch of the plan: swapped in when it entered
  std::int64_t queueRank = 0;  // under the slo policy, set when it enters the queue

  std::int64_t numTokens() const { return static_cast<std::int64_t>(tokens.size()); }

  std::int64_t numPrompt() const { return static_cast<std::int64_t>(spec.promptIds.size()); }

  std::int64_t numOutput() const { return numTokens() - numPrompt(); }

  std::int64_t numPending() const { return numTokens() - progress.numComputed; }

  // All of its tokens are computed and the next one is not chosen yet (beams).
  bool isHeld() const { return numPending() == 0; }

  // Sequences that it takes of max-seqs.
  std::int64_t numSeats() const { return hasBranched ? 1 : spec.numBranches; }

  // Only its newest token is to be computed, and that token was sampled. Not "has output": a
  // resumed request prefills again.
  bool isDecoding() const { return numPending() == 1 && numOutput() > 0 && !isParked(); }

  bool isParked() const { return parked.finish != FinishReason::None; }

  // When it must have its next token.
  std::int64_t nextDeadlineNs() const { return deadlineNs(sloFacts()); }

  SloFacts sloFacts() const {
    return {spec.slo, spec.arrivalNs, firstTokenNs, lastTokenNs, numOutput()};
  }

  void append(std::span<const TokenId> more) {
    for (const TokenId token : more) tokens.push_back(token);  // one, nearly always
    newest = tokens.back();
  }

  std::span<const TokenId> outputs() const {
    return std::span(tokens).subspan(spec.promptIds.size());
  }

  // CHECKs that the transition is legal.
  void setState(RequestState state);
};

// A pass through thousands of sequences waits for memory more than for anything else: at place i
// this asks for the ends of the lists of one that comes some places later, and for the last block of
// one that comes sooner, whose list has arrived.
inline void prefetchAhead(std::span<Sequence* const> sequences,
                          std::size_t i,
                          const kv::BlockPool& pool) {
  constexpr std::size_t kListsAhead = 12, kBlockAhead = 6;
  if (i + kListsAhead >= sequences.size()) return;
  const Sequence& later = *sequences[i + kListsAhead];
  __builtin_prefetch(later.tokens.data() + later.tokens.size(), 1);
  if (later.table.size() > 0) __builtin_prefetch(&later.table.blocks().back(), 1);
  const kv::BlockTable& sooner = sequences[i + kBlockAhead]->table;
  if (sooner.size() > 0) __builtin_prefetch(&pool.block(sooner.at(sooner.size() - 1)), 1);
}

}  // namespace engine::sched
