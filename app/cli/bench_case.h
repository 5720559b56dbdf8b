// Measures one row of `bench`: a number of users at a depth, through the engine's own scheduler
// and sampler.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "app/cli/engine_session.h"
#include "engine/api/trace_event.h"
#include "engine/base/result.h"
#include "engine/sim/workload.h"

namespace app::cli {

struct BenchCase {
  std::int64_t batch = 1;
  std::int64_t depth = 0;         // tokens of each user in the cache before the clock starts
  std::int64_t promptTokens = 1;  // of each user, after the depth
  std::int64_t genTokens = 1;     // steps in which all users decode

  // So many that users whose prompts came first still decode when the last ones have caught up.
  std::int64_t maxTokens(const engine::SchedulerLimits& limits) const;
};

// Empty where nothing was measured.
struct BenchSample {
  std::optional<double> prefillTps;  // prompt tokens of all users until the last is prefilled
  std::optional<double> linearOpsPerSecond;  // of the linear layers while there are prompts
  std::optional<double> decodeTps;           // of all users together, in steps of decoding alone
  std::optional<double> stepMs;              // such a step, from end to end: the median
  std::optional<double> bytesPerStep;        // weights and KV that it reads
  std::optional<double> bytesPerSecond;      // over such steps
};

// What the iterations of one run say about it. Pure.
//   iterations  in order, from the first step of the run on
BenchSample sampleOf(const std::vector<engine::IterationRecord>& iterations,
                     const BenchCase& benchCase);

class BenchRunner {
 public:
  // Both must outlive it. Prompts are drawn from `alphabet`.
  BenchRunner(EngineSession& engine,
              const engine::sim::PromptAlphabet& alphabet,
              const engine::EngineConfig& config)
      : m_engine(engine), m_alphabet(alphabet), m_config(config) {}

  // Cancelled when Ctrl-C came; an error too when requests were refused, set back or found more or
  // less in the cache than they should: such figures would be false.
  engine::Result<BenchSample> measure(const BenchCase& benchCase);

 private:
  std::vector<engine::TokenId> prefixOf(const BenchCase& benchCase, std::int64_t user) const;
  std::vector<engine::RequestId> submitAll(const BenchCase& benchCase, bool isWarming);
  engine::Result<void> fillDepth(const BenchCase& benchCase);
  std::vector<engine::IterationRecord> follow(const BenchCase& benchCase);
  engine::Result<void> check(const BenchCase& benchCase,
                             const std::vector<engine::RequestId>& ids) const;

  EngineSession& m_engine;
  const engine::sim::PromptAlphabet& m_alphabet;
  const engine::EngineConfig& m_config;
  std::uint64_t m_numPrompts = 0;  // drawn so far: no two prompts are alike
};

}  // namespace app::cli
