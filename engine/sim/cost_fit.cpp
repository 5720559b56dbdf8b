#include "engine/sim/cost_fit.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace engine::sim {

namespace {

// A coefficient to be searched, between its limits; moved by factors, or by differences when
// it may be 0.
struct Dial {
  double CostCoefficients::*member;
  double least, most;
  bool isAdded = false;
};

constexpr std::array<Dial, 6> kDials = {{
    {&CostCoefficients::fewRowsCompute, 1e-4, 1.0},
    {&CostCoefficients::manyRowsCompute, 1e-4, 1.0},
    {&CostCoefficients::weightRead, 1e-3, 2.0},  // caches may hold a part of the weights
    {&CostCoefficients::kvRead, 1e-3, 4.0},
    {&CostCoefficients::attentionCompute, 1e-4, 1.0},
    {&CostCoefficients::serial, 0.0, 1.0, true},
}};

double squaredError(CostModelSpec spec,
                    const CostCoefficients& coefficients,
                    std::span<const MeasuredStep> steps) {
  spec.coefficients = coefficients;
  const CostModel model(std::move(spec));
  double sum = 0;
  for (const MeasuredStep& step : steps) {
    const double off = std::log(model.stepSeconds(step.rows) / step.seconds);
    sum += off * off;
  }
  return sum;
}

double moved(const Dial& dial, double value, double step) {
  const double next = dial.isAdded ? value + step : value * std::exp(step);
  return std::clamp(next, dial.least, dial.most);
}

}  // namespace

Result<CostCoefficients> fitCoefficients(const CostModelSpec& spec,
                                         std::span<const MeasuredStep> steps) {
  if (steps.empty()) return Error{ErrorCode::InvalidArgument, "there are no measured steps to fit"};
  for (const MeasuredStep& step : steps) {
    if (step.seconds > 0 && std::isfinite(step.seconds) && !step.rows.empty()) continue;
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a measured step of {} s cannot be fitted", step.seconds)};
  }
  CostCoefficients best = spec.coefficients;
  double bestError = squaredError(spec, best, steps);
  constexpr double kFirstStep = 0.7, kLastStep = 1e-4;
  for (double step = kFirstStep; step > kLastStep;) {
    bool hasImproved = false;
    for (const Dial& dial : kDials) {
      for (const double sign : {1.0, -1.0}) {
        CostCoefficients tried = best;
        tried.*dial.member = moved(dial, best.*dial.member, sign * step);
        const double error = squaredError(spec, tried, steps);
        if (error >= bestError) continue;
        best = tried;
        bestError = error;
        hasImproved = true;
      }
    }
    if (!hasImproved) step /= 2;
  }
  return best;
}

std::vector<double> relativeErrors(const CostModel& model, std::span<const MeasuredStep> steps) {
  std::vector<double> errors;
  for (const MeasuredStep& step : steps) {
    errors.push_back(model.stepSeconds(step.rows) / step.seconds - 1.0);
  }
  return errors;
}

}  // namespace engine::sim
