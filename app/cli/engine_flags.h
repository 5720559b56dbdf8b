// The flags that say how the engine runs and how it samples: one set for every command that has
// them.
#pragma once

#include <optional>
#include <string>

#include "app/cli/flag_set.h"
#include "engine/api/engine_config.h"
#include "engine/api/sampling_params.h"

namespace app::cli {

// Use: add...Flags() in the command's set-up, and when it runs
//   if (auto wrong = engineFlagsError(config)) return failUsage(io, *wrong);
// `config` and `sampling` hold the defaults; --model is not among them (see model_choice.h).
void addEngineFlags(FlagSet& flags, engine::EngineConfig& config);
// Parts of them, for commands without a model: the cache's shape (--max-context, --allocator,
// --block-size, --kv-dtype), and everything that acts from the next step.
void addCacheFlags(FlagSet& flags, engine::LoadConfig& load);
void addSchedulingFlags(FlagSet& flags, engine::SchedulerLimits& limits);

// Where the run is to be recorded; empty = nowhere.
void addTraceFlag(FlagSet& flags, std::string& path);

struct SamplingFlags {
  engine::SamplingParams params;
  int priority = 0;
  bool namesN = false;  // --n was given, whatever its value

  // More than one sequence is asked for.
  bool isSeveral() const {
    return params.n > 1 || params.bestOf > 1 || params.beamWidth > 0;
  }

  // The document is to have its answers as a list.
  bool hasChoices() const { return namesN || isSeveral(); }
};

void addSamplingFlags(FlagSet& flags, SamplingFlags& sampling);

// One sentence with flag, value and limits, or naming what is not built yet; empty when all is
// well.
std::optional<std::string> engineFlagsError(const engine::EngineConfig& config);
// vocabSize bounds the bias ids; 0 when no model is open yet.
std::optional<std::string> samplingFlagsError(const engine::SamplingParams& params,
                                              std::int64_t vocabSize);

}  // namespace app::cli
