#include "app/cli/deployment_flags.h"

#include <utility>

#include <fmt/format.h>

#include "app/cli/bench_document.h"
#include "app/cli/engine_flags.h"
#include "app/cli/this_machine.h"
#include "engine/sim/cost_fit.h"

namespace app::cli {

using namespace engine;

namespace {

constexpr const char* kThisMachine = "cpu";

Result<sim::CostCoefficients> calibrate(CliIo& io,
                                        const std::string& path,
                                        const sim::DeploymentSpec& spec) {
  sim::DeploymentSpec roomy = spec;
  roomy.tensorParallel = 1;
  const sim::Deployment deployment = TRY(sim::deploy(roomy));
  const std::string text = TRY(readFileArgument(io, path));
  const auto steps = TRY(readMeasuredSteps(text, path));
  return sim::fitCoefficients(deployment.cost.spec(), steps);
}

}  // namespace

void addDeploymentFlags(FlagSet& flags, DeploymentFlags& deployment) {
  flags.text("--device", deployment.device, "a device card: h100, a100-80, ... or cpu, this machine");
  flags.text("--model-card", deployment.modelCard, "a model card: llama-3.1-8b, qwen2.5-7b, ...");
  flags.text("--weight-dtype", deployment.weights, "f32, bf16, fp8, int8, int4, q4_1 or q8_0");
  flags.positive("--memory-fraction", deployment.memoryFraction,
                 "numbers above 0 to 1, a share of the memory");
  flags.text("--calibration", deployment.calibrationPath,
             "what `bench --json` wrote here, to fit --device cpu to");
  addCacheFlags(flags, deployment.cache);
}

std::optional<std::string> deploymentFlagsError(const DeploymentFlags& flags) {
  if (flags.device.empty()) return "--device is missing: a device card, or cpu for this machine";
  if (flags.modelCard.empty()) return "--model-card is missing";
  if (flags.device != kThisMachine) {
    if (const auto card = sim::findDeviceCard(flags.device); !card) {
      return "--device: " + card.error().message;
    }
  }
  if (const auto card = sim::findModelCard(flags.modelCard); !card) {
    return "--model-card: " + card.error().message;
  }
  if (const auto format = sim::parseWeightFormat(flags.weights); !format) {
    return fmt::format("--weight-dtype: {}", format.error().message);
  }
  if (!(flags.memoryFraction > 0.0 && flags.memoryFraction <= 1.0)) {
    return fmt::format("--memory-fraction is {}; it takes numbers above 0 to 1",
                       flags.memoryFraction);
  }
  if (!flags.calibrationPath.empty() && flags.device != kThisMachine) {
    return "--calibration is for --device cpu: it holds steps measured on this machine";
  }
  if (const auto checked = checkLoadConfig(flags.cache); !checked) {
    return "--" + checked.error().message;
  }
  return std::nullopt;
}

Result<sim::DeploymentSpec> readDeployment(CliIo& io, const DeploymentFlags& flags) {
  sim::DeploymentSpec spec;
  spec.model = TRY(sim::findModelCard(flags.modelCard));
  spec.weights = TRY(sim::parseWeightFormat(flags.weights));
  spec.kv = flags.cache.kvDtype == KvDType::Default ? KvDType::BF16 : flags.cache.kvDtype;
  spec.usableFraction = flags.memoryFraction;
  if (flags.device == kThisMachine) {
    spec.device = TRY(thisMachineCard());
    spec.coefficients = uncalibratedCpu();
  } else {
    spec.device = TRY(sim::findDeviceCard(flags.device));
  }
  if (flags.cache.maxContext > spec.model.maxContext) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("max-context is {}; {} was trained for {}", flags.cache.maxContext,
                             flags.modelCard, spec.model.maxContext)};
  }
  if (flags.cache.maxContext > 0) spec.model.maxContext = flags.cache.maxContext;
  if (!flags.calibrationPath.empty()) {
    spec.coefficients = TRY(calibrate(io, flags.calibrationPath, spec));
  }
  return spec;
}

}  // namespace app::cli
