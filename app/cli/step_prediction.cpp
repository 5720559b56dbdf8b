#include "app/cli/step_prediction.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "app/cli/bench_document.h"
#include "app/cli/median.h"

namespace app::cli {

using namespace engine;

namespace {

std::int64_t tokensOf(const sim::MeasuredStep& step) {
  std::int64_t tokens = 0;
  for (const accounting::RowCost& row : step.rows) tokens += row.tokens;
  return tokens;
}

std::vector<double> sizesOf(const StepPrediction& prediction) {
  std::vector<double> sizes;
  for (const double error : prediction.errors) sizes.push_back(std::abs(error));
  return sizes;
}

double largestOf(const StepPrediction& prediction) {
  return std::ranges::max(sizesOf(prediction));
}

double medianError(const StepPrediction& prediction) {
  return medianOf(sizesOf(prediction)).value_or(0);
}

}  // namespace

Result<StepPrediction> predictSteps(CliIo& io,
                                    const std::string& path,
                                    const sim::CostModel& cost) {
  const std::string text = TRY(readFileArgument(io, path));
  StepPrediction prediction;
  prediction.steps = TRY(readMeasuredSteps(text, path));
  for (const sim::MeasuredStep& step : prediction.steps) {
    prediction.predictedSeconds.push_back(cost.stepSeconds(step.rows));
  }
  prediction.errors = sim::relativeErrors(cost, prediction.steps);
  return prediction;
}

Json predictionJson(const StepPrediction& prediction) {
  Json steps = Json::array();
  for (std::size_t i = 0; i < prediction.steps.size(); ++i) {
    const sim::MeasuredStep& step = prediction.steps[i];
    steps.push_back({{"rows", step.rows.size()},
                     {"tokens", tokensOf(step)},
                     {"context", step.rows.front().kvLength},
                     {"measured_ms", step.seconds * 1e3},
                     {"predicted_ms", prediction.predictedSeconds[i] * 1e3},
                     {"error", prediction.errors[i]}});
  }
  return {{"steps", std::move(steps)},
          {"largest_error", largestOf(prediction)},
          {"median_error", medianError(prediction)}};
}

std::string predictionText(const StepPrediction& prediction) {
  std::string text = fmt::format("{:>6} {:>7} {:>8} {:>12} {:>13} {:>8}\n", "rows", "tokens",
                                 "context", "measured ms", "predicted ms", "error");
  for (std::size_t i = 0; i < prediction.steps.size(); ++i) {
    const sim::MeasuredStep& step = prediction.steps[i];
    text += fmt::format("{:>6} {:>7} {:>8} {:>12.2f} {:>13.2f} {:>+7.1f}%\n", step.rows.size(),
                        tokensOf(step), step.rows.front().kvLength, step.seconds * 1e3,
                        prediction.predictedSeconds[i] * 1e3, prediction.errors[i] * 100);
  }
  return text + fmt::format("largest error {:.1f} %, median {:.1f} %\n",
                            largestOf(prediction) * 100, medianError(prediction) * 100);
}

}  // namespace app::cli
