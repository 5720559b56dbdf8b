// The engine's state after a step, as plain values. A missing value (a replay has no live knobs, a
// remote engine has no blocks) is an empty optional or vector, never a made-up number.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/api/engine_config.h"
#include "engine/api/reason.h"
#include "engine/api/request.h"
#include "engine/base/ids.h"

namespace engine {

enum class EngineState : std::uint8_t { NoModel, Loading, Idle, Running, Paused, Failed };
enum class RequestState : std::uint8_t {
  Tokenising,
  Waiting,
  Prefilling,
  Decoding,
  Preempted,
  Finished
};
enum class BlockState : std::uint8_t { Free, Used, Cached };  // Cached: findable, no holder

// Why a prefix match ended where it did.
enum class PrefixMiss : std::uint8_t {
  None,
  BlockFloor,  // everything that may be reused is: the rest is no full block, or the one token to
               // compute
  DifferentToken,  // the nearest cached branch differs at a position
  Evicted,         // these tokens were cached and had to make room
  Namespace,       // the same tokens are cached, for another namespace
  NeverSeen,
  Disabled,
};
const char* prefixMissName(PrefixMiss miss);  // "block-floor"

// The loaded model and the backend that runs it.
struct ModelInfo {
  std::string path, name, architecture, quantisation;  // "SmolLM2-135M", "llama", "Q4_1"
  std::int64_t parameters = 0, fileBytes = 0;
  std::int64_t trainedContext = 0, maxContext = 0, vocabSize = 0;
  int numLayers = 0, numHeads = 0, numKvHeads = 0, headDim = 0;
  bool hasChatTemplate = false;
  bool hasTools = false;  // the template offers tools and takes their answers; not recorded in traces
  std::string chatNote;  // why, when the template is not the file's own; else empty; not recorded either
  std::string backend;  // "CPU"
  std::string isa;      // recipe in force: "avx512vnni"
  std::string isaNote;  // why, when it is not what was asked for or not a fast one; else empty
  int threads = 0;
  KvDType kvDtype = KvDType::BF16;
  std::int64_t weightBytes = 0, kvBytes = 0, scratchBytes = 0, kvBytesPerToken = 0;
  double loadMs = 0;
  std::string draftName;  // of the draft model; empty without one
  std::int64_t draftWeightBytes = 0, draftKvBytes = 0;
};

struct BlockSnapshot {
  BlockState state = BlockState::Free;
  RequestId owner;  // first holder, or the last one of a cached block
  std::uint16_t refCount = 0;
  std::uint16_t filled = 0;   // slots written
  std::int32_t logical = -1;  // index in the owner's block table
  std::uint64_t hash = 0;     // 0 = not findable
  std::uint64_t allocatedStep = 0, lastUsedStep = 0;
};

struct RequestSnapshot {
  RequestId id;
  std::string label;
  RequestState state = RequestState::Waiting;
  Reason reason = Reason::None;  // what it is doing, or why it waits
  std::int64_t reasonA = 0, reasonB = 0;
  FinishReason finish = FinishReason::None;
  std::int64_t promptTokens = 0, computedTokens = 0, totalTokens = 0, outputTokens = 0;
  std::int64_t cachedTokens = 0, maxTokens = 0;
  int preemptions = 0;
  PrefixMiss prefixMiss = PrefixMiss::None;  // at its last admission; None before the first
  std::int64_t prefixMissPosition = 0;       // first token not reused, or that differs
  RequestTimes times;
  double tokensPerSecond = 0;   // over the last second; 0 before the second token
  std::vector<BlockId> blocks;  // the block table
  RequestId parent;             // the sequence it was split off; none = a request of its own
  int choice = 0;               // which answer of its request it is; of beams: any order
  double cumulativeLogprob = 0;  // of its outputs; known where a request has several answers
};

// One line of "why this batch?".
struct Decision {
  RequestId request;
  Reason reason = Reason::None;
  std::int64_t tokens = 0;  // scheduled this step
  std::int64_t a = 0, b = 0;
};

struct StepSummary {
  StepId id;
  std::int64_t t0Ns = 0, t1Ns = 0;
  int budget = 0, prefillTokens = 0, decodeTokens = 0, draftTokens = 0;
  Reason limit = Reason::None;
  std::vector<Decision> decisions;
};

struct PoolSummary {
  int blockSize = 0;
  std::int64_t numBlocks = 0, freeBlocks = 0, cachedBlocks = 0, usedBlocks = 0;
  double internalFragmentation = 0;  // share of slots in used blocks that hold nothing
  double externalFragmentation = 0;  // 0 for a paged pool
};

struct EngineCounters {
  std::uint64_t steps = 0, preemptions = 0, swaps = 0, cowCopies = 0;
  std::uint64_t prefixQueries = 0, prefixHits = 0;  // tokens
  std::uint64_t evictions = 0, promptTokens = 0, generatedTokens = 0;
  std::int64_t peakBlocks = 0, leakedBlocks = 0;
  std::int64_t paddedTokens = 0, idleSlotSteps = 0;
  // Token slots summed over steps: of all used blocks, and those of them that hold nothing.
  std::int64_t usedSlotSteps = 0, emptySlotSteps = 0;
  // Contiguous allocator, blocks summed over steps: free, and those of them outside the longest
  // run.
  std::int64_t freeBlockSteps = 0, strandedBlockSteps = 0;
  std::uint64_t lostEvents = 0;
};

// What speculation did since the model was loaded. A pass is one request's verification in one
// step.
struct SpeculationSummary {
  std::uint64_t passes = 0, drafted = 0, accepted = 0;
  std::uint64_t tokens = 0;  // that came out of the passes, after stops and limits
  std::vector<std::uint64_t> acceptedByPosition;  // [0] = the first guess of a pass
  std::vector<std::uint64_t> draftedByPosition;
  // Measured time a token of decode steps of the newest size; empty when not measured yet.
  std::optional<double> plainMsPerToken, speculativeMsPerToken;
  // Time of the steps with guesses, drafting included, less than plain steps would have taken for
  // the same tokens at the measured rate; negative = lost. Empty without a measured baseline.
  std::optional<double> savedMs;
  std::int64_t draftBlocks = 0, draftBlocksUsed = 0;  // of a draft model's own pool; 0 without one
};

struct EngineSnapshot {
  std::uint64_t version = 0;  // grows with every publication
  std::int64_t timeNs = 0;
  std::uint64_t numEvents = 0;  // trace events told before it, lost ones aside: they are in it
  EngineState state = EngineState::NoModel;
  std::string failure;                     // why, when state is Failed
  std::shared_ptr<const ModelInfo> model;  // null without a model
  EngineConfig config;
  std::optional<PoolSummary> pool;
  std::vector<BlockSnapshot> blocks;      // by BlockId; empty when unknown
  std::vector<RequestSnapshot> requests;  // running, waiting, then the last finished
  StepSummary lastStep;
  EngineCounters counters;
  SpeculationSummary speculation;
  double decodeTokensPerSecond = 0, prefillTokensPerSecond = 0;  // over the last second
};

}  // namespace engine
