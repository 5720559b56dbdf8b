#include "engine/service/limit_changes.h"

#include <utility>

namespace engine::service {

namespace {

class Comparison {
 public:
  template <typename T>
  void operator()(std::string_view knob, T oldValue, T newValue) {
    if (oldValue == newValue) return;
    m_changes.push_back({knob, static_cast<double>(oldValue), static_cast<double>(newValue)});
  }
  std::vector<LimitChange> take() { return std::move(m_changes); }

 private:
  std::vector<LimitChange> m_changes;
};

}  // namespace

std::vector<LimitChange> changesBetween(const SchedulerLimits& before,
                                        const SchedulerLimits& after) {
  Comparison compare;
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
  return compare.take();
}

std::vector<LimitChange> changesBetween(const LoadConfig& before, const LoadConfig& after) {
  Comparison compare;
  compare("device", before.device, after.device);
  compare("isa", before.isa, after.isa);
  compare("threads", before.threads, after.threads);
  compare("max-context", before.maxContext, after.maxContext);
  compare("allocator", before.allocator, after.allocator);
  compare("block-size", before.blockSize, after.blockSize);
  compare("kv-memory", before.kvMemoryBytes, after.kvMemoryBytes);
  compare("kv-blocks", before.kvBlocks, after.kvBlocks);
  compare("kv-dtype", before.kvDtype, after.kvDtype);
  compare("kv-cache", before.kvCache, after.kvCache);
  compare("swap-memory", before.swapMemoryBytes, after.swapMemoryBytes);
  return compare.take();
}

}  // namespace engine::service
