#include "engine/sim/deployment.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/api/capacity.h"

namespace engine::sim {

namespace {

constexpr std::int64_t kLeastTokens = 16;

// Weights of 8 bits that meet activations of 8 bits.
bool is8BitCompute(WeightFormat weights) {
  return weights == WeightFormat::Fp8 || weights == WeightFormat::Q4_1 ||
         weights == WeightFormat::Q8_0;
}

}  // namespace

Result<Deployment> deploy(const DeploymentSpec& spec) {
  const ModelCard& model = spec.model;
  const int devices = spec.tensorParallel;
  if (devices < 1 || model.numHeads % devices != 0) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{} has {} heads, which {} devices cannot share evenly", model.name,
                             model.numHeads, devices)};
  }
  accounting::ModelShape shape = shapeOf(model, spec.weights, spec.kv);
  // more devices than key-value heads: each such head is kept by several
  const double copies =
      std::max(1.0, static_cast<double>(devices) / static_cast<double>(model.numKvHeads));
  Deployment made{CostModel({spec.device, shape, devices, is8BitCompute(spec.weights),
                             spec.coefficients})};
  made.weightBytes = weightBytes(model, spec.weights);
  made.kvBytesPerToken = accounting::kvBytesPerToken(shape) * copies;
  accounting::MemoryBudget budget;
  budget.memoryBytes = spec.device.memoryBytes * devices;
  budget.usableFraction = spec.usableFraction;
  budget.weightBytes = made.weightBytes + spec.otherBytes;
  made.capacityTokens = accounting::capacityTokens(
      accounting::poolBytes(budget), made.kvBytesPerToken + spec.otherKvBytesPerToken);
  if (made.capacityTokens < kLeastTokens) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{} in {} takes {:.1f} GB; {} x {} at {:.0f} % hold {:.1f} GB",
                             model.name, weightFormatName(spec.weights), budget.weightBytes / 1e9,
                             devices, spec.device.name, spec.usableFraction * 100,
                             budget.memoryBytes * spec.usableFraction / 1e9)};
  }
  return made;
}

}  // namespace engine::sim
