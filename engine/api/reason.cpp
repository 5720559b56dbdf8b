#include "engine/api/reason.h"

#include <fmt/format.h>

namespace engine {

namespace {

std::string millisText(std::int64_t microseconds) {
  return fmt::format("{:.1f}", static_cast<double>(microseconds) / 1e3);
}

}  // namespace

const char* reasonName(Reason reason) {
  switch (reason) {
    case Reason::None:
      return "none";
    case Reason::DecodeNext:
      return "decode";
    case Reason::PrefillChunk:
      return "prefill-chunk";
    case Reason::Verify:
      return "verify";
    case Reason::ResumedAfterPreemption:
      return "resumed";
    case Reason::WaitsTokenBudget:
      return "waits-token-budget";
    case Reason::WaitsSequences:
      return "waits-sequences";
    case Reason::WaitsBlocks:
      return "waits-blocks";
    case Reason::WaitsPreemptionStep:
      return "waits-preemption-step";
    case Reason::WaitsBatchEnd:
      return "waits-batch-end";
    case Reason::WaitsQueueDelay:
      return "waits-queue-delay";
    case Reason::WaitsPaused:
      return "waits-paused";
    case Reason::WaitsStart:
      return "waits-start";
    case Reason::WaitsTurn:
      return "waits-turn";
    case Reason::PreemptedForBlocks:
      return "preempted-for-blocks";
    case Reason::RefusedTooLong:
      return "refused-too-long";
    case Reason::RefusedPoolTooSmall:
      return "refused-pool-too-small";
    case Reason::RefusedBadInput:
      return "refused-bad-input";
    case Reason::FinishedStop:
      return "finished-stop";
    case Reason::FinishedLength:
      return "finished-length";
    case Reason::FinishedContextFull:
      return "finished-context-full";
    case Reason::CancelledByUser:
      return "cancelled";
    case Reason::FailedStep:
      return "failed-step";
    case Reason::LimitTokenBudget:
      return "limit-token-budget";
    case Reason::LimitSequences:
      return "limit-sequences";
    case Reason::LimitBlocks:
      return "limit-blocks";
    case Reason::LimitQueueEmpty:
      return "limit-queue-empty";
    case Reason::LimitBatchPolicy:
      return "limit-batch-policy";
    case Reason::WaitsBeams:
      return "waits-beams";
    case Reason::RefusedSequences:
      return "refused-sequences";
    case Reason::BeamPruned:
      return "beam-pruned";
    case Reason::RecomputesPrefix:
      return "recomputes-prefix";
    case Reason::WaitsBatchPrefill:
      return "waits-batch-prefill";
    case Reason::HeldForBatch:
      return "held-for-batch";
    case Reason::PreemptedToSwap:
      return "preempted-to-swap";
    case Reason::PreemptedSwapFull:
      return "preempted-swap-full";
    case Reason::ResumedFromSwap:
      return "resumed-from-swap";
    case Reason::RefusedTtft:
      return "refused-ttft";
    case Reason::RefusedTpot:
      return "refused-tpot";
  }
  return "unknown";
}

std::string reasonText(Reason reason, std::int64_t a, std::int64_t b) {
  switch (reason) {
    case Reason::None:
      return "";
    case Reason::DecodeNext:
      return "one token";
    case Reason::PrefillChunk:
      return fmt::format("{} of {} prompt tokens (chunk)", a, b);
    case Reason::Verify:
      return fmt::format("{} drafted tokens to verify", a);
    case Reason::ResumedAfterPreemption:
      return fmt::format("resumed, recomputes {} tokens", a);
    case Reason::WaitsTokenBudget:
      return fmt::format("token budget is full ({} of {})", a, b);
    case Reason::WaitsSequences:
      return fmt::format("{} of {} sequences already run", a, b);
    case Reason::WaitsBlocks:
      return fmt::format("needs {} blocks, {} are free", a, b);
    case Reason::WaitsPreemptionStep:
      return "no admission in a step that preempted";
    case Reason::WaitsBatchEnd:
      return "waits for the batch to end";
    case Reason::WaitsQueueDelay:
      return "waits for the batch to fill";
    case Reason::WaitsPaused:
      return "the engine is paused";
    case Reason::WaitsStart:
      return "arrived, waits for the next step";
    case Reason::WaitsTurn:
      return fmt::format("waits its turn, {} before it", a);
    case Reason::PreemptedForBlocks:
      return fmt::format("preempted: gave back {} blocks, {} were needed", a, b);
    case Reason::RefusedTooLong:
      return fmt::format("needs {} tokens, the context holds {}", a, b);
    case Reason::RefusedPoolTooSmall:
      return fmt::format("needs {} blocks, the pool has {}", a, b);
    case Reason::RefusedBadInput:
      return "refused: bad input";
    case Reason::FinishedStop:
      return "reached a stop";
    case Reason::FinishedLength:
      return fmt::format("reached its limit of {} tokens", a);
    case Reason::FinishedContextFull:
      return fmt::format("filled the context of {} tokens", a);
    case Reason::CancelledByUser:
      return "stopped";
    case Reason::FailedStep:
      return "failed";
    case Reason::LimitTokenBudget:
      return "token budget";
    case Reason::LimitSequences:
      return "sequences";
    case Reason::LimitBlocks:
      return "no blocks";
    case Reason::LimitQueueEmpty:
      return "queue empty";
    case Reason::LimitBatchPolicy:
      return "batch policy";
    case Reason::WaitsBeams:
      return "waits for the other beams";
    case Reason::RefusedSequences:
      return fmt::format("needs {} sequences at once, max-seqs is {}", a, b);
    case Reason::BeamPruned:
      return "left the beam";
    case Reason::RecomputesPrefix:
      return fmt::format("{} of {} tokens, all computed again without a cache", a, b);
    case Reason::WaitsBatchPrefill:
      return "waits for the prompts of its batch";
    case Reason::HeldForBatch:
      return fmt::format("has its {} tokens, held until the batch ends", a);
    case Reason::PreemptedToSwap:
      return fmt::format("preempted: {} blocks swapped out, {} were needed", a, b);
    case Reason::PreemptedSwapFull:
      return fmt::format("preempted: {} blocks to swap out, {} fit, so it recomputes", a, b);
    case Reason::ResumedFromSwap:
      return fmt::format("resumed, {} tokens swapped in, {} to compute", a, b);
    case Reason::RefusedTtft:
      return fmt::format("first token after {} ms at least, {} were asked for", millisText(a),
                         millisText(b));
    case Reason::RefusedTpot:
      return fmt::format("{} ms a token at least, {} were asked for", millisText(a), millisText(b));
  }
  return "";
}

}  // namespace engine
