#include "engine/sim/cost_model.h"

#include <algorithm>
#include <cmath>

namespace engine::sim {

namespace {

constexpr double kFewRows = 32, kManyRows = 256;
constexpr double kActivationBytes = 2;    // what all-reduces exchange
constexpr double kAllReducesPerLayer = 2;  // after attention and after the feed-forward part

// The share of the operation rate at this many rows.
double computeShare(const CostCoefficients& c, double rows) {
  if (rows <= kFewRows) return c.fewRowsCompute;
  if (rows >= kManyRows) return c.manyRowsCompute;
  const double between = std::log(rows / kFewRows) / std::log(kManyRows / kFewRows);
  return std::exp((1 - between) * std::log(c.fewRowsCompute) +
                  between * std::log(c.manyRowsCompute));
}

}  // namespace

double CostModel::longerOf(double computing, double reading) const {
  return std::max(computing, reading) +
         m_spec.coefficients.serial * std::min(computing, reading);
}

double CostModel::linearSeconds(const accounting::StepCost& cost, double tokens) const {
  const DeviceCard& device = m_spec.device;
  const double rate = m_spec.is8BitCompute ? device.ops8PerSecond : device.ops16PerSecond;
  const double devices = m_spec.tensorParallel;
  return longerOf(cost.flops / (computeShare(m_spec.coefficients, tokens) * rate * devices),
                  cost.bytes / (m_spec.coefficients.weightRead * device.readBytesPerSecond *
                                devices));
}

// Heads are dealt to the devices; a key-value head is read by each device that has some of its
// queries, so that more devices than such heads read no less each.
double CostModel::attentionSeconds(const accounting::StepCost& cost) const {
  const DeviceCard& device = m_spec.device;
  const double readers = std::min<double>(m_spec.tensorParallel,
                                          static_cast<double>(m_spec.shape.numKvHeads));
  return longerOf(cost.flops / (m_spec.coefficients.attentionCompute * device.ops16PerSecond *
                                m_spec.tensorParallel),
                  cost.bytes / (m_spec.coefficients.kvRead * device.readBytesPerSecond * readers));
}

// A ring all-reduce sends 2 (n - 1) / n of the data over each link.
double CostModel::linkSeconds(double tokens) const {
  const double devices = m_spec.tensorParallel;
  if (devices <= 1) return 0;
  const double bytes = tokens * static_cast<double>(m_spec.shape.hidden) * kActivationBytes;
  const double once = bytes * 2 * (devices - 1) / devices / m_spec.device.linkBytesPerSecond +
                      m_spec.coefficients.linkLatencySeconds;
  return once * kAllReducesPerLayer * static_cast<double>(m_spec.shape.numLayers);
}

double CostModel::stepSeconds(std::span<const accounting::RowCost> rows) const {
  double tokens = 0;
  for (const accounting::RowCost& row : rows) tokens += static_cast<double>(row.tokens);
  if (tokens == 0) return 0;
  const accounting::StepParts parts = accounting::stepParts(m_spec.shape, rows);
  return linearSeconds(parts.linear, tokens) + attentionSeconds(parts.attention) +
         linkSeconds(tokens) + m_spec.device.stepOverheadSeconds;
}

}  // namespace engine::sim
