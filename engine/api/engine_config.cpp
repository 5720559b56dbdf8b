#include "engine/api/engine_config.h"

#include <bit>
#include <cmath>

#include <fmt/format.h>

namespace engine {

namespace {

Result<void> checkRange(const char* knob, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return {};
  return Error{ErrorCode::InvalidArgument,
               fmt::format("{} is {}; it takes {} to {}", knob, value, low, high)};
}

Result<void> checkNotNegative(const char* knob, std::int64_t value) {
  if (value >= 0) return {};
  return Error{ErrorCode::InvalidArgument,
               fmt::format("{} is {}; it takes 0 or more", knob, value)};
}

}  // namespace

Result<void> checkLoadConfig(const LoadConfig& config) {
  TRY_VOID(checkRange("threads", config.threads, 0, kMaxThreads));
  TRY_VOID(checkNotNegative("max-context", config.maxContext));
  if (config.blockSize < 1 || config.blockSize > kMaxBlockSize ||
      !std::has_single_bit(static_cast<unsigned>(config.blockSize))) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("block-size is {}; it takes a power of two from 1 to {}",
                             config.blockSize, kMaxBlockSize)};
  }
  TRY_VOID(checkNotNegative("kv-memory", config.kvMemoryBytes));
  TRY_VOID(checkRange("kv-blocks", config.kvBlocks, 0, kMaxKvBlocks));
  TRY_VOID(checkNotNegative("swap-memory", config.swapMemoryBytes));
  return {};
}

Result<void> checkSchedulerLimits(const SchedulerLimits& limits) {
  TRY_VOID(checkRange("max-batch", limits.maxBatch, 1, kMaxSeqs));
  TRY_VOID(checkRange("max-seqs", limits.maxSeqs, 1, kMaxSeqs));
  TRY_VOID(checkRange("max-batched-tokens", limits.maxBatchedTokens, 1, kMaxBatchedTokens));
  TRY_VOID(checkRange("prefill-chunk", limits.prefillChunk, 0, kMaxBatchedTokens));
  TRY_VOID(checkRange("long-prefill-threshold", limits.longPrefillThreshold, 0, kMaxBatchedTokens));
  TRY_VOID(checkRange("speculative-tokens", limits.speculativeTokens, 1, kMaxSpeculativeTokens));
  if (!(limits.queueDelayMs >= 0.0 && limits.queueDelayMs <= kMaxQueueDelayMs)) {
    return Error{ErrorCode::InvalidArgument, fmt::format("queue-delay-ms is {}; it takes 0 to {}",
                                                         limits.queueDelayMs, kMaxQueueDelayMs)};
  }
  return {};
}

Result<void> checkTogether(const EngineConfig& config) {
  const SchedulerLimits& limits = config.limits;
  if (limits.speculation == SpeculationKind::Draft && config.load.draftModelPath.empty()) {
    return Error{ErrorCode::InvalidArgument, "speculate draft needs a draft-model"};
  }
  if (config.load.kvCache) return {};
  if (limits.speculation != SpeculationKind::Off) {
    return Error{ErrorCode::InvalidArgument,
                 "speculate needs kv-cache on: without it there is nothing to verify against"};
  }
  if (limits.preemption == PreemptionKind::Swap) {
    return Error{ErrorCode::InvalidArgument,
                 "preemption swap needs kv-cache on: without it there is nothing to swap"};
  }
  return {};
}

Result<void> checkEngineConfig(const EngineConfig& config) {
  TRY_VOID(checkLoadConfig(config.load));
  TRY_VOID(checkSchedulerLimits(config.limits));
  return checkTogether(config);
}

const char* isaName(IsaKind isa) {
  switch (isa) {
    case IsaKind::Auto:
      return "auto";
    case IsaKind::Reference:
      return "reference";
    case IsaKind::Avx2:
      return "avx2";
    case IsaKind::AvxVnni:
      return "avxvnni";
    case IsaKind::Avx512Vnni:
      return "avx512vnni";
    case IsaKind::Amx:
      return "amx";
    case IsaKind::AmxBf16:
      return "amx-bf16";
  }
  return "unknown";
}

const char* kvDTypeName(KvDType dtype) {
  switch (dtype) {
    case KvDType::Default:
      return "default";
    case KvDType::F32:
      return "f32";
    case KvDType::F16:
      return "f16";
    case KvDType::BF16:
      return "bf16";
    case KvDType::Fp8:
      return "fp8";
    case KvDType::Int8:
      return "int8";
    case KvDType::Int4:
      return "int4";
  }
  return "unknown";
}

}  // namespace engine
