#include "app/cli/scheduler_bench.h"

#include <time.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "app/cli/median.h"
#include "engine/base/check.h"
#include "engine/sched/scheduler.h"

namespace app::cli {

using namespace engine;

namespace {

constexpr int kLookups = 51;

// Of this thread only: other programs take time, too.
double threadMicroseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

// No two begin alike.
std::vector<TokenId> makeTokens(std::int64_t count, std::int64_t first) {
  std::vector<TokenId> tokens(static_cast<std::size_t>(count));
  std::iota(tokens.begin(), tokens.end(), static_cast<TokenId>(first));
  return tokens;
}

// Takes one token for every row that samples.
class StepLoop {
 public:
  StepLoop(const EngineConfig& config, const BenchCase& benchCase)
      : m_cache(cacheConfig(config, benchCase), [this](const BlockRecord&) { ++m_numRecords; }),
        m_scheduler(m_cache, m_cache.config().maxContext, config.limits) {}

  Result<void> submitAll(const BenchCase& benchCase, const SchedulerLimits& limits) {
    for (std::int64_t user = 0; user < benchCase.batch; ++user) {
      sched::SequenceSpec spec;
      spec.id = RequestId(static_cast<std::uint64_t>(user));
      spec.promptIds =
          makeTokens(promptTokens(benchCase) + user % m_cache.config().blockSize, user);
      spec.maxTokens = benchCase.maxTokens(limits);
      if (const auto refusal = m_scheduler.submit(std::move(spec))) {
        return Error{ErrorCode::InvalidArgument,
                     reasonText(refusal->reason, refusal->a, refusal->b)};
      }
    }
    return {};
  }

  bool hasWork() const { return m_scheduler.hasWork(); }

  std::uint64_t numPreempted() const { return m_scheduler.counters().preemptions; }

  // Microseconds of planning and committing.
  double step() {
    const double begin = threadMicroseconds();
    const sched::StepPlan& plan = m_scheduler.plan(0);
    const double planned = threadMicroseconds();
    m_numDecodes = plan.prefillTokens == 0 ? plan.decodeTokens : 0;
    m_results.assign(plan.rows.size(), {});
    for (std::size_t i = 0; i < m_results.size(); ++i) {
      if (plan.rows[i].samples) m_results[i].tokens = std::span(&m_token, 1);
    }
    const double committing = threadMicroseconds();
    m_scheduler.commitStep(m_results);
    return planned - begin + threadMicroseconds() - committing;
  }

  // Of the last step; 0 when it had prompts in it.
  std::int64_t numDecodes() const { return m_numDecodes; }

 private:
  static std::int64_t promptTokens(const BenchCase& benchCase) {
    return benchCase.depth + benchCase.promptTokens;
  }

  static kv::KvCacheConfig cacheConfig(const EngineConfig& config, const BenchCase& benchCase) {
    kv::KvCacheConfig out;
    out.allocator = config.load.allocator;
    out.blockSize = config.load.blockSize;
    out.numBlocks = config.load.kvBlocks;
    out.maxContext =
        promptTokens(benchCase) + benchCase.maxTokens(config.limits) + config.load.blockSize;
    return out;
  }

  std::int64_t m_numRecords = 0;
  kv::KvCache m_cache;
  sched::Scheduler m_scheduler;
  std::vector<sched::RowResult> m_results;
  TokenId m_token = 7;
  std::int64_t m_numDecodes = 0;
};

}  // namespace

Result<std::vector<double>> measureSchedulerSteps(const EngineConfig& config,
                                                  const BenchCase& benchCase,
                                                  const CancelToken& cancel) {
  StepLoop loop(config, benchCase);
  TRY_VOID(loop.submitAll(benchCase, config.limits));
  std::vector<double> times;
  while (loop.hasWork() && std::ssize(times) < benchCase.genTokens) {
    if (cancel.isCancelled()) return Error{ErrorCode::Cancelled, "cancelled"};
    const double time = loop.step();
    if (loop.numDecodes() == benchCase.batch) times.push_back(time);
  }
  if (loop.numPreempted() == 0 && !times.empty()) return times;
  return Error{
      ErrorCode::OutOfMemory,
      fmt::format("the KV pool is too small for {} users of {} tokens: {} were set back",
                  benchCase.batch, benchCase.depth + benchCase.promptTokens, loop.numPreempted())};
}

double measurePrefixLookup(int blockSize, std::int64_t tokens) {
  kv::KvCacheConfig config;
  config.blockSize = blockSize;
  config.numBlocks = tokens / blockSize + 2;
  config.maxContext = tokens + 2 * blockSize;
  kv::KvCache cache(config);
  const std::int64_t full = tokens / blockSize * blockSize;
  const std::vector<TokenId> prompt = makeTokens(full + 1, 0);
  kv::BlockTable table(RequestId(1), blockSize);
  kv::HashChain chain = cache.makeChain("");
  std::vector<kv::BlockCopy> copies;
  const auto reservation = cache.openReservation();
  CHECK(reservation->tryGrow(table, 0, full, copies));
  reservation->commit();
  cache.markWritten(table, 0, full);
  cache.publish(table, {&chain, prompt}, 0, full);
  std::vector<double> times;
  for (int i = 0; i < kLookups; ++i) {
    kv::HashChain fresh = cache.makeChain("");  // its hashes are part of the work
    const double begin = threadMicroseconds();
    const kv::PrefixMatch match = cache.findPrefix({&fresh, prompt});
    times.push_back(threadMicroseconds() - begin);
    CHECK(match.numTokens == full);
  }
  cache.release(table);
  return medianOf(std::move(times)).value_or(0);
}

}  // namespace app::cli
