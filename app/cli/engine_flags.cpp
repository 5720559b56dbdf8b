#include "app/cli/engine_flags.h"

#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/cli/not_built.h"
#include "app/cli/number_text.h"
#include "engine/exec/backend_choice.h"
#include "engine/service/packed_folder.h"

namespace app::cli {

namespace {

using namespace engine;


// Before the other flags, which so have the last word.
void addPresetFlag(FlagSet& flags, EngineConfig& config) {
  flags.custom("--preset", "naive (one request at a time, contiguous memory, no reuse)",
               [&config](const std::string& name) {
                 if (name != "naive") return false;
                 config.load.allocator = AllocatorKind::Contiguous;
                 config.limits.maxSeqs = 1;
                 config.limits.prefixCache = false;
                 return true;
               });
}

void addLoadFlags(FlagSet& flags, LoadConfig& load) {
  flags.choice<DeviceKind>(
      "--device", load.device,
      {{"auto", DeviceKind::Auto}, {"cpu", DeviceKind::Cpu}, {"cuda", DeviceKind::Cuda}});
  std::vector<std::pair<std::string, IsaKind>> isas;
  for (const IsaKind kind : kIsaKinds) isas.emplace_back(isaName(kind), kind);
  flags.choice<IsaKind>("--isa", load.isa, isas);
  flags.whole("--threads", load.threads, 0, kMaxThreads, "0: one a physical core");
  addCacheFlags(flags, load);
  flags.bytes("--kv-memory", load.kvMemoryBytes, "size of the KV pool");
  flags.whole("--kv-blocks", load.kvBlocks, 0, kMaxKvBlocks, "0: from --kv-memory");
  flags.onOff("--kv-cache", load.kvCache, "keep keys and values between steps");
  flags.bytes("--swap-memory", load.swapMemoryBytes,
              "room for swapped-out blocks (0: as much as the KV pool, at most 4G)");
  flags.text("--draft-model", load.draftModelPath, "path of the model that drafts");
}

// What the program reads in place of flags is wrong use as they are. What this machine lacks is told
// when a model is loaded.
std::optional<std::string> environmentError(const EngineConfig& config) {
  const auto isa = exec::chooseBackend(config.load.isa, std::getenv("TESSERA_ISA"), {});
  if (!isa && isa.error().code == ErrorCode::InvalidArgument) return isa.error().message;
  if (const auto folder = service::packedFolderOfEnvironment(); !folder) return folder.error().message;
  return std::nullopt;
}

// "5=-1.5" as a token id and what is added to its logit.
bool parseBias(const std::string& text, std::vector<std::pair<TokenId, float>>& target) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return false;
  TokenId id = 0;
  float bias = 0.0f;
  if (!parseNumber(text.substr(0, equals), id) || !parseNumber(text.substr(equals + 1), bias)) {
    return false;
  }
  target.emplace_back(id, bias);
  return true;
}

// The engine's sentences begin with the knob's name.
std::string asFlag(const Error& error) {
  return (error.message.rfind("a stop string", 0) == 0 ? "--stop: " : "--") + error.message;
}

}  // namespace

void addCacheFlags(FlagSet& flags, LoadConfig& load) {
  flags.whole("--max-context", load.maxContext, 0, kMostOfAny, "0: the model's");
  flags.choice<AllocatorKind>(
      "--allocator", load.allocator,
      {{"paged", AllocatorKind::Paged}, {"contiguous", AllocatorKind::Contiguous}});
  flags.custom("--block-size", fmt::format("a power of two from 1 to {}, in tokens", kMaxBlockSize),
               [&load](const std::string& value) { return parseNumber(value, load.blockSize); });
  flags.choice<KvDType>("--kv-dtype", load.kvDtype,
                        {{"f32", KvDType::F32},
                         {"f16", KvDType::F16},
                         {"bf16", KvDType::BF16},
                         {"fp8", KvDType::Fp8},
                         {"int8", KvDType::Int8},
                         {"int4", KvDType::Int4}});
}

void addSchedulingFlags(FlagSet& flags, SchedulerLimits& limits) {
  flags.choice<BatchingKind>("--batching", limits.batching,
                             {{"continuous", BatchingKind::Continuous},
                              {"static", BatchingKind::Static},
                              {"dynamic", BatchingKind::Dynamic}});
  flags.whole("--max-batch", limits.maxBatch, 1, kMaxSeqs);
  flags.number("--queue-delay-ms", limits.queueDelayMs, fmt::format("0 to {} milliseconds", kMaxQueueDelayMs));
  flags.whole("--max-seqs", limits.maxSeqs, 1, kMaxSeqs);
  flags.whole("--max-batched-tokens", limits.maxBatchedTokens, 1, kMaxBatchedTokens);
  flags.whole("--prefill-chunk", limits.prefillChunk, 0, kMaxBatchedTokens, "0: the budget");
  flags.whole("--long-prefill-threshold", limits.longPrefillThreshold, 0, kMaxBatchedTokens,
              "0: off");
  flags.onOff("--prefix-cache", limits.prefixCache, "share blocks of equal prefixes; "
              "nothing is shared with --allocator contiguous or --kv-cache off");
  flags.choice<PreemptionKind>(
      "--preemption", limits.preemption,
      {{"recompute", PreemptionKind::Recompute}, {"swap", PreemptionKind::Swap}});
  flags.choice<PolicyKind>(
      "--policy", limits.policy,
      {{"fcfs", PolicyKind::Fcfs}, {"priority", PolicyKind::Priority}, {"slo", PolicyKind::Slo}});
  flags.choice<SpeculationKind>("--speculate", limits.speculation,
                                {{"off", SpeculationKind::Off},
                                 {"ngram", SpeculationKind::Ngram},
                                 {"draft", SpeculationKind::Draft}});
  flags.whole("--speculative-tokens", limits.speculativeTokens, 1, kMaxSpeculativeTokens);
  flags.onOff("--speculate-adaptive", limits.speculateAdaptive,
              "draft less where little is accepted");
}

void addEngineFlags(FlagSet& flags, EngineConfig& config) {
  addPresetFlag(flags, config);
  addLoadFlags(flags, config.load);
  addSchedulingFlags(flags, config.limits);
}

void addTraceFlag(FlagSet& flags, std::string& path) {
  flags.text("--trace", path, "a file to record the run in, for replay and export");
}

void addSamplingFlags(FlagSet& flags, SamplingFlags& sampling) {
  SamplingParams& params = sampling.params;
  flags.number("--temperature", params.temperature, "0 to 2 (0: the likeliest token)");
  flags.whole("--top-k", params.topK, 0, kMaxTopK, "0: off");
  flags.number("--top-p", params.topP, "0 to 1");
  flags.number("--min-p", params.minP, "0 to 1");
  flags.number("--typical-p", params.typicalP, "0 to 1");
  flags.positive("--repetition-penalty", params.repetitionPenalty, "values above 0 up to 10");
  flags.number("--presence-penalty", params.presencePenalty, "-2 to 2");
  flags.number("--frequency-penalty", params.frequencyPenalty, "-2 to 2");
  flags.custom(
      "--logit-bias", fmt::format("ID=B, a token id and a number from {} to {}", std::numeric_limits<float>::lowest(),
                                  std::numeric_limits<float>::max()),
      [&params](const std::string& value) { return parseBias(value, params.logitBias); },
      /*collects=*/true);
  flags.texts("--stop", params.stop, "text that ends the answer");
  flags.toggle("--ignore-eos", params.ignoreEos, "go on past end tokens");
  flags.whole("--seed", params.seed, 0, std::numeric_limits<std::uint64_t>::max());
  flags.whole("--max-tokens", params.maxTokens, 1, kMostOfAny);
  flags.custom("--n", wholeNumbers(1, kMaxChoices), [&sampling](const std::string& value) {
    sampling.namesN = true;
    return parseWhole(value, sampling.params.n, 1, kMaxChoices);
  });
  flags.whole("--best-of", params.bestOf, 1, kMaxChoices, "at least --n");
  flags.whole("--beam-width", params.beamWidth, 0, kMaxBeamWidth, "0: no beam search");
  flags.number("--length-penalty", params.lengthPenalty,
               fmt::format("{} to {}", std::numeric_limits<float>::lowest(),
                           std::numeric_limits<float>::max()));
  flags.onOff("--early-stopping", params.earlyStopping, "end beam search at beam-width answers");
  flags.whole("--priority", sampling.priority, std::numeric_limits<int>::min(),
              std::numeric_limits<int>::max(), "lower goes first");
}

std::optional<std::string> engineFlagsError(const EngineConfig& config) {
  if (const auto checked = checkEngineConfig(config); !checked) return asFlag(checked.error());
  if (!config.load.draftModelPath.empty() && config.limits.speculation != SpeculationKind::Draft) {
    return "--draft-model needs --speculate draft: without it nothing drafts";
  }
  if (const auto wrong = environmentError(config)) return wrong;
  return notBuiltYet(config);
}

std::optional<std::string> samplingFlagsError(const SamplingParams& params,
                                              std::int64_t vocabSize) {
  if (const auto checked = checkSamplingParams(params, vocabSize); !checked) {
    return asFlag(checked.error());
  }
  return std::nullopt;
}

}  // namespace app::cli
