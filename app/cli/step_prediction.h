// Measured steps beside what a cost model says of them.
#pragma once

#include <string>
#include <vector>

#include "app/cli/cli_io.h"
#include "engine/base/result.h"
#include "engine/sim/cost_fit.h"

namespace app::cli {

struct StepPrediction {
  std::vector<engine::sim::MeasuredStep> steps;
  std::vector<double> predictedSeconds;  // of each step
  std::vector<double> errors;            // predicted / measured - 1
};

// The steps of a bench document. NotFound and InvalidArgument name the file.
engine::Result<StepPrediction> predictSteps(CliIo& io,
                                            const std::string& path,
                                            const engine::sim::CostModel& cost);

// {steps[{rows, tokens, context, measured_ms, predicted_ms, error}], largest_error, median_error}
Json predictionJson(const StepPrediction& prediction);
// A line for each step, then the largest and the median error.
std::string predictionText(const StepPrediction& prediction);

}  // namespace app::cli
