// Traffic for the window, drawn by the same functions as the command line's workloads.
#pragma once

#include "ui/models/traffic_run.h"

namespace app::window {

// A models::TrafficDraw. Prompts are made when they are asked for.
engine::Result<std::shared_ptr<const ui::models::TrafficPlan>> drawTraffic(const ui::models::TrafficSpec& spec,
                                                                           const std::vector<engine::TokenId>& alphabet);

}  // namespace app::window
