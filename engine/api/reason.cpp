#include "engine/api/reason.h"

#include <fmt/format.h>

namespace engine {

namespace {

std::string millisText(std::int64_t microseconds) {
  return fmt::format("{:.1f}", static_cast<double>(microseconds) / 1e3);
}

// "1 block", "2 blocks".
std::string counted(std::int64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// "1 is", "2 are"; the same with "was" and "were".
std::string countIs(std::int64_t count) {
  return fmt::format("{} {}", count, count == 1 ? "is" : "are");
}

std::string countWas(std::int64_t count) {
  return fmt::format("{} {}", count, count == 1 ? "was" : "were");
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
      return fmt::format("{} of {} (chunk)", a, counted(b, "prompt token"));
    case Reason::Verify:
      return counted(a, "drafted token") + " to verify";
    case Reason::ResumedAfterPreemption:
      return "resumed, recomputes " + counted(a, "token");
    case Reason::WaitsTokenBudget:
      return fmt::format("token budget is full ({} of {})", a, b);
    case Reason::WaitsSequences:
      return fmt::format("{} of {} already {}", a, counted(b, "sequence"), a == 1 ? "runs" : "run");
    case Reason::WaitsBlocks:
      return fmt::format("needs {}, {} free", counted(a, "block"), countIs(b));
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
      return fmt::format("preempted: gave back {}, {} needed", counted(a, "block"), countWas(b));
    case Reason::RefusedTooLong:
      return fmt::format("needs {}, the context holds {}", counted(a, "token"), b);
    case Reason::RefusedPoolTooSmall:
      return fmt::format("needs {}, the pool has {}", counted(a, "block"), b);
    case Reason::RefusedBadInput:
      return "refused: bad input";
    case Reason::FinishedStop:
      return "reached a stop";
    case Reason::FinishedLength:
      return "reached its limit of " + counted(a, "token");
    case Reason::FinishedContextFull:
      return "filled the context of " + counted(a, "token");
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
      return fmt::format("needs {} at once, max-seqs is {}", counted(a, "sequence"), b);
    case Reason::BeamPruned:
      return "left the beam";
    case Reason::RecomputesPrefix:
      return fmt::format("{} of {}, all computed again without a cache", a, counted(b, "token"));
    case Reason::WaitsBatchPrefill:
      return "waits for the prompts of its batch";
    case Reason::HeldForBatch:
      return fmt::format("has its {}, held until the batch ends", counted(a, "token"));
    case Reason::PreemptedToSwap:
      return fmt::format("preempted: {} swapped out, {} needed", counted(a, "block"), countWas(b));
    case Reason::PreemptedSwapFull:
      return fmt::format("preempted: {} to swap out, {} fit{}, so it recomputes",
                         counted(a, "block"), b, b == 1 ? "s" : "");
    case Reason::ResumedFromSwap:
      return fmt::format("resumed, {} swapped in, {} to compute", counted(a, "token"), b);
    case Reason::RefusedTtft:
      return fmt::format("first token after {} ms at least, {} were asked for", millisText(a),
                         millisText(b));
    case Reason::RefusedTpot:
      return fmt::format("{} ms a token at least, {} were asked for", millisText(a), millisText(b));
  }
  return "";
}

}  // namespace engine
