#include "engine/service/limit_changes.h"

namespace engine::service {

std::vector<LimitChange> changesBetween(const SchedulerLimits& before,
                                        const SchedulerLimits& after) {
  std::vector<LimitChange> changes;
  const auto compare = [&changes](std::string_view knob, auto oldValue, auto newValue) {
    if (oldValue == newValue) return;
    changes.push_back({knob, static_cast<double>(oldValue), static_cast<double>(newValue)});
  };
  compare("batching", before.batching, after.batching);
  compare("max-batch", before.maxBatch, after.maxBatch);
  compare("queue-delay-ms", before.queueDelayMs, after.queueDelayMs);
  compare("max-seqs", before.maxSeqs, after.maxSeqs);
  compare("max-batched-tokens", before.maxBatchedTokens, after.maxBatchedTokens);
  compare("prefill-chunk", before.prefillChunk, after.prefillChunk);
  compare("long-prefill-threshold", before.longPrefillThreshold, after.longPrefillThreshold);
  compare("prefix-cache", before.prefixCache, after.prefixCache);
  compare("preemption", before.preemption, after.preemption);
  compare("policy", before.policy, after.policy);
  compare("speculate", before.speculation, after.speculation);
  compare("speculative-tokens", before.speculativeTokens, after.speculativeTokens);
  compare("speculate-adaptive", before.speculateAdaptive, after.speculateAdaptive);
  return changes;
}

}  // namespace engine::service
