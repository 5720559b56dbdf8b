// Finds the coefficients of a cost model from steps that were measured.
#pragma once

#include <span>
#include <vector>

#include "engine/api/accounting.h"
#include "engine/base/result.h"
#include "engine/sim/cost_model.h"

namespace engine::sim {

struct MeasuredStep {
  std::vector<accounting::RowCost> rows;
  double seconds = 0;
};

// The coefficients with the least squared error of the logarithm of time, so that short and long
// steps count alike; a pattern search from the spec's own, the same in every run. What the steps do
// not tell (nothing with many rows, nothing with a context) keeps its value. InvalidArgument without
// steps, or with one that took no time.
Result<CostCoefficients> fitCoefficients(const CostModelSpec& spec,
                                         std::span<const MeasuredStep> steps);

// predicted / measured - 1 of each step.
std::vector<double> relativeErrors(const CostModel& model, std::span<const MeasuredStep> steps);

}  // namespace engine::sim
