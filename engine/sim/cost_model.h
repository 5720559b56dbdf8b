// How long a step takes on a device: the roofline with the shares of it that real kernels reach.
// A pure function, so that predicted and measured steps can be compared.
#pragma once

#include <span>
#include <utility>

#include "engine/api/accounting.h"
#include "engine/sim/device_card.h"

namespace engine::sim {

// What a device reaches of its rates. The defaults are usual figures of tuned GPU kernels; for this
// machine they are fitted to measured steps (cost_fit.h).
struct CostCoefficients {
  double fewRowsCompute = 0.6;   // share of the operation rate, matrix products of up to 32 rows
  double manyRowsCompute = 0.6;  // of 256 rows and more; between, in the logarithm of the rows
  double weightRead = 0.8;       // share of the read rate while reading weights
  double kvRead = 0.8;           // ... while reading keys and values
  double attentionCompute = 0.4;
  // Share of the shorter one of computing and reading that the longer one does not hide.
  double serial = 0.0;
  double linkLatencySeconds = 1e-5;  // of one all-reduce, beside its bytes

  // Everything at the device's full rates, all of it overlapped: the roofline itself.
  static CostCoefficients ideal() { return {1, 1, 1, 1, 1, 0, 0}; }
};

struct CostModelSpec {
  DeviceCard device;
  accounting::ModelShape shape;
  int tensorParallel = 1;     // devices that share every layer
  bool is8BitCompute = false;  // weights and activations of 8 bits: the device's 8-bit rate
  CostCoefficients coefficients;
};

class CostModel {
 public:
  explicit CostModel(CostModelSpec spec) : m_spec(std::move(spec)) {}

  const CostModelSpec& spec() const { return m_spec; }

  // One step with these rows. 0 for no rows.
  double stepSeconds(std::span<const accounting::RowCost> rows) const;

 private:
  double linearSeconds(const accounting::StepCost& cost, double tokens) const;
  double attentionSeconds(const accounting::StepCost& cost) const;
  double linkSeconds(double tokens) const;
  double longerOf(double computing, double reading) const;

  CostModelSpec m_spec;
};

}  // namespace engine::sim
