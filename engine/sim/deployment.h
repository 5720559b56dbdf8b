// A model on devices: what a card of each, the number formats and the tensor-parallel degree come to.
#pragma once

#include <cstdint>

#include "engine/api/engine_config.h"
#include "engine/base/result.h"
#include "engine/sim/cost_model.h"
#include "engine/sim/device_card.h"
#include "engine/sim/model_card.h"

namespace engine::sim {

struct DeploymentSpec {
  DeviceCard device;
  ModelCard model;
  WeightFormat weights = WeightFormat::Bf16;
  KvDType kv = KvDType::BF16;
  int tensorParallel = 1;
  double usableFraction = 0.9;  // of the memory
  double otherBytes = 0;        // a draft model's weights beside it
  double otherKvBytesPerToken = 0;  // and its keys and values
  CostCoefficients coefficients;
};

// One copy of the model on its devices.
struct Deployment {
  CostModel cost;
  double weightBytes = 0;       // all devices together
  double kvBytesPerToken = 0;   // likewise, what sharding doubles included
  std::int64_t capacityTokens = 0;
};

// InvalidArgument when the heads cannot be dealt evenly to the devices, or when the weights (or not
// even one block of 16 tokens beside them) do not fit, with both sizes.
Result<Deployment> deploy(const DeploymentSpec& spec);

}  // namespace engine::sim
