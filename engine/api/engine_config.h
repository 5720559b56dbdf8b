// What is fixed when a model is loaded (needs-reload knobs) and what may change between steps
// (live).
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "engine/base/result.h"

namespace engine {

enum class DeviceKind : std::uint8_t { Auto, Cpu, Cuda };
enum class IsaKind : std::uint8_t { Auto, Reference, Avx2, AvxVnni, Avx512Vnni, Amx, AmxBf16 };
// All of them, in the order of their numbers.
inline constexpr std::array kIsaKinds = {IsaKind::Auto,    IsaKind::Reference,  IsaKind::Avx2,
                                         IsaKind::AvxVnni, IsaKind::Avx512Vnni, IsaKind::Amx,
                                         IsaKind::AmxBf16};
enum class AllocatorKind : std::uint8_t { Paged, Contiguous };
enum class KvDType : std::uint8_t { Default, F32, F16, BF16, Fp8, Int8, Int4 };
enum class BatchingKind : std::uint8_t { Continuous, Static, Dynamic };
enum class PreemptionKind : std::uint8_t { Recompute, Swap };
enum class PolicyKind : std::uint8_t { Fcfs, Priority, Slo };
enum class SpeculationKind : std::uint8_t { Off, Ngram, Draft };

// The greatest values that the checks below take.
inline constexpr int kMaxThreads = 1024;
inline constexpr int kMaxBlockSize = 4096;
inline constexpr std::int64_t kMaxKvBlocks = std::int64_t{1} << 30;
inline constexpr int kMaxBatchedTokens = 1 << 20;
inline constexpr int kMaxSeqs = 1 << 16;
inline constexpr int kMaxSpeculativeTokens = 64;
inline constexpr double kMaxQueueDelayMs = 60'000.0;

// Needs reload.
struct LoadConfig {
  std::string modelPath;
  DeviceKind device = DeviceKind::Auto;
  IsaKind isa = IsaKind::Auto;
  int threads = 0;              // 0 = physical cores
  std::int64_t maxContext = 0;  // 0 = the model's
  AllocatorKind allocator = AllocatorKind::Paged;
  int blockSize = 16;                  // tokens, a power of two
  std::int64_t kvMemoryBytes = 0;      // 0 = a quarter of free memory, at most 4 GiB
  std::int64_t kvBlocks = 0;           // overrides kvMemoryBytes when > 0
  KvDType kvDtype = KvDType::Default;  // bf16; f32 with the reference recipe
  bool kvCache = true;
  std::int64_t swapMemoryBytes = 0;  // 0 = as much as the KV pool takes, at most 4 GiB
  std::string draftModelPath;

  friend bool operator==(const LoadConfig&, const LoadConfig&) = default;
};

// Live: acts from the next step.
struct SchedulerLimits {
  BatchingKind batching = BatchingKind::Continuous;
  int maxBatch = 8;            // static and dynamic batching
  double queueDelayMs = 10.0;  // dynamic batching
  int maxSeqs = 64;
  int maxBatchedTokens = 512;    // the token budget of a step
  int prefillChunk = 0;          // 0 = the budget
  int longPrefillThreshold = 0;  // 0 = off
  bool prefixCache = true;
  PreemptionKind preemption = PreemptionKind::Recompute;
  PolicyKind policy = PolicyKind::Fcfs;
  SpeculationKind speculation = SpeculationKind::Off;
  int speculativeTokens = 4;
  bool speculateAdaptive = true;

  friend bool operator==(const SchedulerLimits&, const SchedulerLimits&) = default;
};

struct EngineConfig {
  LoadConfig load;
  SchedulerLimits limits;

  friend bool operator==(const EngineConfig&, const EngineConfig&) = default;
};

// One sentence naming knob, value and limits when something is out of range or cannot go together.
Result<void> checkLoadConfig(const LoadConfig& config);
Result<void> checkSchedulerLimits(const SchedulerLimits& limits);
Result<void> checkTogether(const EngineConfig& config);
Result<void> checkEngineConfig(const EngineConfig& config);  // all of these

const char* isaName(IsaKind isa);        // "auto", "reference", "avx2", ...
const char* kvDTypeName(KvDType dtype);  // "bf16", ...

}  // namespace engine
