// Reads back what `tessera-cli bench --json` wrote, as steps to fit a cost model to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/sim/cost_fit.h"

namespace app::cli {

// A decode step of each row, at the middle of its generated tokens, and the prompt of each row of one
// user as the steps it took. InvalidArgument naming the file, and the row that lacks something.
engine::Result<std::vector<engine::sim::MeasuredStep>> readMeasuredSteps(std::string_view text,
                                                                         const std::string& path);

}  // namespace app::cli
