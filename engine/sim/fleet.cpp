#include "engine/sim/fleet.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace engine::sim {

namespace {

// Ids that prompts are drawn from: any number of different ones serves.
constexpr TokenId kPromptIds = 4096;

const Error kCancelled{ErrorCode::Cancelled, "cancelled"};

PromptAlphabet promptAlphabet() {
  PromptAlphabet alphabet(kPromptIds);
  std::iota(alphabet.begin(), alphabet.end(), 0);
  return alphabet;
}

// A request on its way to an engine.
struct Delivery {
  double atMs = 0;
  const WorkloadRequest* request = nullptr;
  std::size_t index = 0;  // in the workload
};

// Engines behind a router. Deliveries come in the order of their time.
class EnginePool {
 public:
  EnginePool(const FleetConfig& config, SimulatedEngineConfig engineConfig, int count) {
    for (int i = 0; i < count; ++i) {
      m_engines.push_back(std::make_unique<SimulatedEngine>(engineConfig, config.cost));
    }
  }

  // `takeFrom` is called with an engine's place and each of its answers.
  template <typename Take>
  void deliver(SimulatedRequest request, double atMs, Take take) {
    advanceTo(atMs, take);
    const auto leastBusy =
        std::ranges::min_element(m_engines, {}, [](const auto& one) { return one->outstandingTokens(); });
    (*leastBusy)->submit(std::move(request));
  }

  template <typename Take>
  void advanceTo(double ms, Take take) {
    forEach([ms](SimulatedEngine& engine) { engine.advanceTo(ms); }, take);
  }

  template <typename Take>
  void runToEnd(Take take) {
    forEach([](SimulatedEngine& engine) { engine.runToEnd(); }, take);
  }

  void addTo(FleetRun& run) const {
    for (const auto& engine : m_engines) {
      const EngineCounters counters = engine->counters();
      EngineCounters& sum = run.counters;
      sum.steps += counters.steps;
      sum.preemptions += counters.preemptions;
      sum.swaps += counters.swaps;
      sum.cowCopies += counters.cowCopies;
      sum.prefixQueries += counters.prefixQueries;
      sum.prefixHits += counters.prefixHits;
      sum.evictions += counters.evictions;
      sum.promptTokens += counters.promptTokens;
      sum.generatedTokens += counters.generatedTokens;
      sum.peakBlocks += counters.peakBlocks;
      sum.leakedBlocks += counters.leakedBlocks;
      sum.paddedTokens += counters.paddedTokens;
      sum.idleSlotSteps += counters.idleSlotSteps;
      sum.usedSlotSteps += counters.usedSlotSteps;
      sum.emptySlotSteps += counters.emptySlotSteps;
      sum.freeBlockSteps += counters.freeBlockSteps;
      sum.strandedBlockSteps += counters.strandedBlockSteps;
      addSpeculation(engine->speculation(), run.speculation);
      run.busyFraction += engine->busyMs();
    }
  }

 private:
  template <typename Run, typename Take>
  void forEach(Run runEngine, Take take) {
    for (std::size_t i = 0; i < m_engines.size(); ++i) {
      runEngine(*m_engines[i]);
      for (SimulatedAnswer& answer : m_engines[i]->takeAnswers()) take(i, std::move(answer));
    }
  }

  static void addSpeculation(const SpeculationSummary& one, SpeculationSummary& sum) {
    sum.passes += one.passes;
    sum.drafted += one.drafted;
    sum.accepted += one.accepted;
    sum.tokens += one.tokens;
    sum.acceptedByPosition.resize(
        std::max(sum.acceptedByPosition.size(), one.acceptedByPosition.size()));
    for (std::size_t i = 0; i < one.acceptedByPosition.size(); ++i) {
      sum.acceptedByPosition[i] += one.acceptedByPosition[i];
    }
  }

  std::vector<std::unique_ptr<SimulatedEngine>> m_engines;
};

class FleetSimulation {
 public:
  FleetSimulation(const FleetConfig& config, const Workload& workload)
      : m_config(config), m_workload(workload), m_alphabet(promptAlphabet()) {
    m_run.answers.resize(workload.requests.size());
  }

  Result<FleetRun> run() {
    if (m_config.hasPools()) {
      TRY_VOID(runPools());
    } else {
      TRY_VOID(runReplicas());
    }
    finish();
    return std::move(m_run);
  }

 private:
  bool isCancelled() const {
    return m_config.cancel != nullptr && m_config.cancel->isCancelled();
  }

  std::vector<TokenId> promptOf(const Delivery& delivery) const {
    if (const auto* given = std::get_if<TokenPrompt>(&delivery.request->prompt)) return given->ids;
    return synthesizePrompt(std::get<SyntheticPrompt>(delivery.request->prompt), m_alphabet,
                            m_config.engine.seed, delivery.index);
  }

  SimulatedRequest requestOf(const Delivery& delivery) const {
    SimulatedRequest request;
    request.index = delivery.index;
    request.arrivalMs = delivery.atMs;
    request.promptIds = promptOf(delivery);
    request.maxTokens = delivery.request->sampling.maxTokens;
    request.priority = delivery.request->priority;
    request.slo = delivery.request->slo;
    return request;
  }

  std::vector<Delivery> arrivals() const {
    std::vector<Delivery> all;
    for (std::size_t i = 0; i < m_workload.requests.size(); ++i) {
      all.push_back({m_workload.requests[i].atMs, &m_workload.requests[i], i});
    }
    return all;
  }

  Result<void> runReplicas() {
    EnginePool pool(m_config, m_config.engine, m_config.replicas);
    const auto take = [this](std::size_t, SimulatedAnswer answer) {
      m_run.answers[answer.index] = std::move(answer);
    };
    for (const Delivery& arrival : arrivals()) {
      if (isCancelled()) return kCancelled;
      pool.deliver(requestOf(arrival), arrival.atMs, take);
    }
    pool.runToEnd(take);
    pool.addTo(m_run);
    return {};
  }

  // Decoding does not act back on prefilling: one pool after the other.
  Result<void> runPools() {
    std::vector<Delivery> handovers;
    TRY_VOID(runPrefill(handovers));
    std::ranges::stable_sort(handovers, {}, &Delivery::atMs);
    return runDecode(handovers);
  }

  // Each request as far as its first token; then its keys and values take the link, one at a time.
  Result<void> runPrefill(std::vector<Delivery>& handovers) {
    EnginePool pool(m_config, m_config.engine, m_config.prefillEngines);
    std::vector<double> linkFreeMs(static_cast<std::size_t>(m_config.prefillEngines), 0.0);
    const auto take = [&](std::size_t engine, SimulatedAnswer answer) {
      const Delivery from = arrivalOf(answer.index);
      if (answer.finish == FinishReason::Length && from.request->sampling.maxTokens > 1) {
        const double bytes = m_config.kvBytesPerToken * static_cast<double>(promptTokens(from));
        double& freeMs = linkFreeMs[engine];
        freeMs = std::max(freeMs, answer.tokenMs.back()) + bytes / m_config.linkBytesPerSecond * 1e3;
        handovers.push_back({freeMs, from.request, from.index});
      }
      m_run.answers[answer.index] = std::move(answer);
    };
    for (const Delivery& arrival : arrivals()) {
      if (isCancelled()) return kCancelled;
      SimulatedRequest request = requestOf(arrival);
      request.maxTokens = 1;
      pool.deliver(std::move(request), arrival.atMs, take);
    }
    pool.runToEnd(take);
    pool.addTo(m_run);
    return {};
  }

  Result<void> runDecode(const std::vector<Delivery>& handovers) {
    SimulatedEngineConfig decoding = m_config.engine;
    decoding.hasComputedPrompts = true;
    // what came over the link is not computed, so that no budget cuts it into chunks
    decoding.limits.maxBatchedTokens = std::numeric_limits<int>::max();
    decoding.limits.prefillChunk = decoding.limits.longPrefillThreshold = 0;
    EnginePool pool(m_config, decoding, m_config.decodeEngines);
    const auto take = [this](std::size_t, SimulatedAnswer answer) { join(std::move(answer)); };
    for (const Delivery& handover : handovers) {
      if (isCancelled()) return kCancelled;
      SimulatedRequest request = requestOf(handover);
      request.promptIds.push_back(0);  // the first token
      --request.maxTokens;
      pool.deliver(std::move(request), handover.atMs, take);
    }
    pool.runToEnd(take);
    pool.addTo(m_run);
    return {};
  }

  // The decode pool's part behind the first token.
  void join(SimulatedAnswer rest) {
    SimulatedAnswer& whole = m_run.answers[rest.index];
    whole.finish = rest.finish;
    whole.explanation = rest.explanation;
    whole.tokenMs.insert(whole.tokenMs.end(), rest.tokenMs.begin(), rest.tokenMs.end());
    whole.outputTokens += rest.outputTokens;
    whole.preemptions += rest.preemptions;
  }

  Delivery arrivalOf(std::size_t index) const {
    const WorkloadRequest& request = m_workload.requests[index];
    return {request.atMs, &request, index};
  }

  std::int64_t promptTokens(const Delivery& delivery) const {
    if (const auto* given = std::get_if<TokenPrompt>(&delivery.request->prompt)) {
      return static_cast<std::int64_t>(given->ids.size());
    }
    return std::get<SyntheticPrompt>(delivery.request->prompt).tokens;
  }

  void finish() {
    for (std::size_t i = 0; i < m_run.answers.size(); ++i) {
      const SimulatedAnswer& answer = m_run.answers[i];
      const Delivery from = arrivalOf(i);
      RequestTrack& track = m_run.tracks.emplace_back();
      track.startMs = from.atMs;
      track.tokenMs = answer.tokenMs;
      track.inputTokens = promptTokens(from);
      track.outputTokens = answer.outputTokens;
      track.isSuccess =
          answer.finish == FinishReason::Length || answer.finish == FinishReason::Stop;
      track.slo = from.request->slo;
      if (!answer.tokenMs.empty()) {
        m_run.durationMs = std::max(m_run.durationMs, answer.tokenMs.back());
      }
    }
    if (m_run.durationMs > 0) m_run.busyFraction /= m_run.durationMs * m_config.numEngines();
  }

  const FleetConfig& m_config;
  const Workload& m_workload;
  const PromptAlphabet m_alphabet;
  FleetRun m_run;
};

}  // namespace

Result<FleetRun> simulateFleet(const FleetConfig& config, const Workload& workload) {
  for (const WorkloadRequest& request : workload.requests) {
    if (std::holds_alternative<SyntheticPrompt>(request.prompt) ||
        std::holds_alternative<TokenPrompt>(request.prompt)) {
      continue;
    }
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("request {} has a text, the simulator needs its length in tokens",
                             request.id)};
  }
  return FleetSimulation(config, workload).run();
}

}  // namespace engine::sim
