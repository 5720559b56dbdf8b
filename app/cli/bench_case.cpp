#include "app/cli/bench_case.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "app/cli/median.h"

namespace app::cli {

using namespace engine;

namespace {

// Seeds of what users have in the cache already, and of what is new each time.
constexpr std::uint64_t kDepthSeed = 1, kPromptSeed = 2;

bool hasPrompt(const IterationRecord& iteration) {
  return iteration.prefillTokens > 0;
}

bool isFullDecode(const IterationRecord& iteration, const BenchCase& benchCase) {
  return iteration.prefillTokens == 0 &&
         static_cast<std::int64_t>(iteration.decodeTokens) == benchCase.batch;
}

void addPrefill(const std::vector<IterationRecord>& iterations, BenchSample& sample) {
  double tokens = 0, ops = 0, linearNs = 0;
  std::int64_t endNs = 0;
  for (const IterationRecord& iteration : iterations) {
    if (!hasPrompt(iteration)) continue;
    tokens += iteration.prefillTokens;
    ops += iteration.linearOps;
    linearNs += iteration.linearNs;
    endNs = iteration.t1Ns;
  }
  if (tokens > 0) {
    sample.prefillTps = tokens * 1e9 / static_cast<double>(endNs - iterations.front().t0Ns);
  }
  if (linearNs > 0) sample.linearOpsPerSecond = ops * 1e9 / linearNs;
}

void addDecode(const std::vector<IterationRecord>& iterations,
               const BenchCase& benchCase,
               BenchSample& sample) {
  std::vector<double> periodsNs;
  double tokens = 0, bytes = 0, ns = 0;
  for (std::size_t i = 1; i < iterations.size(); ++i) {
    if (!isFullDecode(iterations[i], benchCase)) continue;
    // end to end: what lies between two steps is part of a token's time
    const auto period = static_cast<double>(iterations[i].t1Ns - iterations[i - 1].t1Ns);
    periodsNs.push_back(period);
    tokens += iterations[i].decodeTokens;
    bytes += iterations[i].bytes;
    ns += period;
    if (std::ssize(periodsNs) == benchCase.genTokens) break;
  }
  if (periodsNs.empty() || ns <= 0) return;
  sample.decodeTps = tokens * 1e9 / ns;
  sample.stepMs = medianOf(periodsNs).value() / 1e6;
  if (bytes <= 0) return;
  sample.bytesPerStep = bytes / static_cast<double>(periodsNs.size());
  sample.bytesPerSecond = bytes * 1e9 / ns;
}

}  // namespace

std::int64_t BenchCase::maxTokens(const SchedulerLimits& limits) const {
  std::int64_t chunk = limits.maxBatchedTokens;
  if (limits.prefillChunk > 0) chunk = std::min<std::int64_t>(chunk, limits.prefillChunk);
  const std::int64_t room = std::max<std::int64_t>(1, chunk - batch);
  const std::int64_t prefillSteps = batch == 1 ? 0 : batch * promptTokens / room + batch;
  return genTokens + 1 + prefillSteps;
}

BenchSample sampleOf(const std::vector<IterationRecord>& iterations, const BenchCase& benchCase) {
  BenchSample sample;
  addPrefill(iterations, sample);
  addDecode(iterations, benchCase, sample);
  return sample;
}

std::vector<TokenId> BenchRunner::prefixOf(const BenchCase& benchCase, std::int64_t user) const {
  return synthesizePrompt(sim::SyntheticPrompt{benchCase.depth, 0, {}}, m_alphabet, kDepthSeed,
                          static_cast<std::uint64_t>(user));
}

std::vector<RequestId> BenchRunner::submitAll(const BenchCase& benchCase, bool isWarming) {
  std::vector<RequestId> ids;
  m_engine.pause();
  for (std::int64_t user = 0; user < benchCase.batch; ++user) {
    TokenPrompt prompt{prefixOf(benchCase, user)};
    if (!isWarming) {
      const auto fresh = synthesizePrompt(sim::SyntheticPrompt{benchCase.promptTokens, 0, {}},
                                          m_alphabet, kPromptSeed, m_numPrompts++);
      prompt.ids.insert(prompt.ids.end(), fresh.begin(), fresh.end());
    }
    RequestSpec spec;
    spec.label = fmt::format("user {}", user + 1);
    spec.prompt = std::move(prompt);
    spec.sampling.ignoreEos = true;
    spec.sampling.maxTokens = isWarming ? 1 : benchCase.maxTokens(m_config.limits);
    ids.push_back(m_engine.submit(std::move(spec)));
  }
  m_engine.resume();
  return ids;
}

// Leaves the users' first tokens in the prefix cache.
Result<void> BenchRunner::fillDepth(const BenchCase& benchCase) {
  if (benchCase.depth == 0) return {};
  const std::vector<RequestId> ids = submitAll(benchCase, /*isWarming=*/true);
  m_engine.waitForAll();
  for (const RequestId id : ids) {
    const Answer& answer = m_engine.answer(id);
    if (answer.isRefusedOrFailed()) {
      return Error{answer.finished->errorCode, answer.finished->explanation};
    }
    m_engine.forget(id);
  }
  return {};
}

// Until all users have decoded long enough.
std::vector<IterationRecord> BenchRunner::follow(const BenchCase& benchCase) {
  std::vector<IterationRecord> iterations;
  std::int64_t numFull = 0;
  const auto takeEvents = [&] {
    for (const TraceEvent& event : m_engine.takeEvents()) {
      if (event.kind != TraceKind::Iteration) continue;
      iterations.push_back(event.iteration);
      numFull += isFullDecode(event.iteration, benchCase);
    }
    return numFull >= benchCase.genTokens;
  };
  m_engine.waitUntil(takeEvents);
  m_engine.cancelAll();
  m_engine.waitForAll();
  takeEvents();
  return iterations;
}

Result<void> BenchRunner::check(const BenchCase& benchCase,
                                const std::vector<RequestId>& ids) const {
  const std::int64_t blockSize = m_config.load.blockSize;
  const std::int64_t cached = benchCase.depth / blockSize * blockSize;
  for (const RequestId id : ids) {
    const RequestFinished& ended = *m_engine.answer(id).finished;
    if (m_engine.answer(id).isRefusedOrFailed()) return Error{ended.errorCode, ended.explanation};
    if (ended.preemptions > 0 || ended.usage.cachedTokens != cached) {
      return Error{
          ErrorCode::OutOfMemory,
          fmt::format("the KV pool is too small for {} users of {} tokens at depth {}: a "
                      "user was set back {} times and found {} of {} tokens in the cache",
                      benchCase.batch, benchCase.promptTokens + benchCase.genTokens,
                      benchCase.depth, ended.preemptions, ended.usage.cachedTokens, cached)};
    }
  }
  if (m_engine.hasLostEvents()) {
    return Error{ErrorCode::Internal, "the machine is too busy to follow the engine's steps"};
  }
  return {};
}

Result<BenchSample> BenchRunner::measure(const BenchCase& benchCase) {
  const Error cancelled{ErrorCode::Cancelled, "cancelled"};
  TRY_VOID(fillDepth(benchCase));
  if (m_engine.isCancelled()) return cancelled;
  m_engine.takeEvents();  // of what came before
  const std::vector<RequestId> ids = submitAll(benchCase, /*isWarming=*/false);
  const std::vector<IterationRecord> iterations = follow(benchCase);
  if (m_engine.isCancelled()) return cancelled;
  TRY_VOID(check(benchCase, ids));
  for (const RequestId id : ids) m_engine.forget(id);
  return sampleOf(iterations, benchCase);
}

}  // namespace app::cli
