// This machine as a device card: what it can do, measured now.
#pragma once

#include "engine/base/result.h"
#include "engine/sim/cost_model.h"
#include "engine/sim/device_card.h"

namespace app::cli {

// Takes about a second. Threads: one a physical core. DeviceFailed when it cannot be measured.
engine::Result<engine::sim::DeviceCard> thisMachineCard();

// What the CPU backend usually reaches of it, for want of measured steps.
engine::sim::CostCoefficients uncalibratedCpu();

}  // namespace app::cli
