#include "app/window/traffic_plan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/sim/arrivals.h"
#include "engine/sim/workload.h"

namespace app::window {

namespace {

using namespace engine;

class DrawnPlan : public ui::models::TrafficPlan {
 public:
  DrawnPlan(sim::Workload workload, sim::PromptAlphabet alphabet, std::uint64_t seed)
      : m_workload(std::move(workload)), m_alphabet(std::move(alphabet)), m_seed(seed) {}

  std::int64_t size() const override { return static_cast<std::int64_t>(m_workload.requests.size()); }
  double atMs(std::int64_t index) const override { return at(index).atMs; }
  RequestSpec request(std::int64_t index) const override {
    const sim::WorkloadRequest& drawn = at(index);
    RequestSpec spec;
    spec.prompt = TokenPrompt{sim::synthesizePrompt(std::get<sim::SyntheticPrompt>(drawn.prompt), m_alphabet, m_seed,
                                                    static_cast<std::uint64_t>(index))};
    spec.sampling = drawn.sampling;
    return spec;
  }

 private:
  const sim::WorkloadRequest& at(std::int64_t index) const { return m_workload.requests[static_cast<std::size_t>(index)]; }

  sim::Workload m_workload;
  sim::PromptAlphabet m_alphabet;
  std::uint64_t m_seed;
};

Error named(const char* field, const Error& error) { return {error.code, std::string(field) + ": " + error.message}; }

Result<sim::DrawnWorkloadSpec> parse(const ui::models::TrafficSpec& spec) {
  sim::DrawnWorkloadSpec drawn;
  drawn.arrivals.kind = TRY(sim::parseArrival(spec.arrival));
  drawn.arrivals.ratePerSecond = spec.ratePerSecond;
  drawn.arrivals.burstiness = spec.burstiness;
  const auto prompts = sim::parseLengths(spec.promptLengths), outputs = sim::parseLengths(spec.outputLengths);
  if (!prompts) return named("prompt-lengths", prompts.error());
  if (!outputs) return named("output-lengths", outputs.error());
  drawn.promptLengths = *prompts;
  drawn.outputLengths = *outputs;
  drawn.sharedPrefix = spec.sharedPrefix;
  drawn.seed = spec.seed;
  drawn.requests = spec.users;
  if (spec.isClosed() && (spec.rounds < 1 || spec.rounds > 100'000)) {
    return Error{ErrorCode::InvalidArgument, "rounds is " + std::to_string(spec.rounds) + "; it takes 1 to 100000"};
  }
  TRY_VOID(sim::checkDrawnWorkload(drawn));  // users alone first, so that their product cannot overflow
  if (spec.isClosed()) {
    drawn.requests = spec.users * spec.rounds;
    TRY_VOID(sim::checkDrawnWorkload(drawn));
  }
  return drawn;
}

}  // namespace

Result<std::shared_ptr<const ui::models::TrafficPlan>> drawTraffic(const ui::models::TrafficSpec& spec,
                                                                   const std::vector<TokenId>& alphabet) {
  const sim::DrawnWorkloadSpec drawn = TRY(parse(spec));
  if (alphabet.empty()) return Error{ErrorCode::InvalidArgument, "there are no words to make prompts of"};
  SamplingParams sampling;
  sampling.seed = spec.seed;
  return std::shared_ptr<const ui::models::TrafficPlan>(
      std::make_shared<DrawnPlan>(sim::drawWorkload(drawn, sampling), alphabet, spec.seed));
}

}  // namespace app::window
