// Why the scheduler did what it did. Every decision carries one of these with two numbers.
#pragma once

#include <cstdint>
#include <string>

namespace engine {

enum class Reason : std::uint8_t {
  None,
  // why a request runs this step
  DecodeNext,    // one token each
  PrefillChunk,  // a = tokens now, b = tokens still to compute before
  Verify,        // a = drafted tokens
  ResumedAfterPreemption,
  // why a request waits
  WaitsTokenBudget,     // a = budget used, b = budget
  WaitsSequences,       // a = running, b = max sequences
  WaitsBlocks,          // a = blocks needed, b = blocks free
  WaitsPreemptionStep,  // nothing is admitted in a step that preempted
  WaitsBatchEnd,        // static or dynamic batching holds the door
  WaitsQueueDelay,
  WaitsPaused,
  WaitsStart,  // arrived after the step was planned
  WaitsTurn,   // a = requests before it in the queue
  // why a request was set back or ended
  PreemptedForBlocks,   // a = blocks given back, b = blocks needed
  RefusedTooLong,       // a = tokens asked for, b = context limit
  RefusedPoolTooSmall,  // a = blocks needed, b = blocks in the pool
  RefusedBadInput,
  FinishedStop,
  FinishedLength,
  FinishedContextFull,
  CancelledByUser,
  FailedStep,
  // why a step took no more work
  LimitTokenBudget,
  LimitSequences,
  LimitBlocks,
  LimitQueueEmpty,
  LimitBatchPolicy,
  // appended, for trace files hold the numbers
  // beam search and parallel sampling
  WaitsBeams,        // its candidates are known, those of other beams are not yet
  RefusedSequences,  // a = sequences it needs at once, b = max sequences
  BeamPruned,        // no continuation of it was among the best
  // batches, swapping, SLO, no cache
  RecomputesPrefix,   // runs without a KV cache: a = tokens now, b = tokens to compute
  WaitsBatchPrefill,  // its next token waits until the batch's other prompts are computed
  HeldForBatch,       // it has all its a tokens, which wait for the batch to end
  PreemptedToSwap,    // a = blocks copied to host memory, b = blocks needed
  PreemptedSwapFull,  // recomputed later, for: a = blocks to swap out, b = swap blocks free
  ResumedFromSwap,    // a = tokens restored, b = tokens still to compute
  RefusedTtft,        // a = microseconds to the first token at least, b = asked for
  RefusedTpot,        // a = microseconds a token at least, b = asked for
};

// Machine name in kebab case: "waits-blocks".
const char* reasonName(Reason reason);

// A sentence for a person, numbers filled in: "needs 41 blocks, 37 are free".
std::string reasonText(Reason reason, std::int64_t a, std::int64_t b);

}  // namespace engine
