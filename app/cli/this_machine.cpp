#include "app/cli/this_machine.h"

#include <unistd.h>

#include <optional>

#include <fmt/format.h>

#include "kernels/cpu/cpu_topology.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/machine_probe.h"

namespace app::cli {

using namespace engine;

namespace {

// A float32 multiply-add register holds a quarter of the int8 products.
constexpr double kInt8PerFloat = 4.0;

}  // namespace

Result<sim::DeviceCard> thisMachineCard() {
  const int threads = kernels::cpu::readCpuTopology().usefulThreads();
  sim::DeviceCard card;
  card.name = "cpu";
  card.title = fmt::format("this machine, {} threads", threads);
  card.source = "measured now";
  card.memoryBytes = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                     static_cast<double>(sysconf(_SC_PAGESIZE));
  const auto bandwidth = kernels::cpu::measureReadBandwidth(threads);
  std::optional<double> peak;
  for (const kernels::cpu::Isa isa : kernels::cpu::isasOf(kernels::cpu::readCpuFeatures())) {
    if (!peak) peak = kernels::cpu::measureInt8Peak(isa, threads);
  }
  if (!bandwidth || !peak) {
    return Error{ErrorCode::DeviceFailed,
                 "this machine's memory bandwidth and int8 rate could not be measured"};
  }
  card.readBytesPerSecond = *bandwidth;
  card.ops8PerSecond = *peak;
  card.ops16PerSecond = *peak / kInt8PerFloat;
  return card;
}

sim::CostCoefficients uncalibratedCpu() {
  sim::CostCoefficients usual;
  usual.fewRowsCompute = 0.2;
  usual.manyRowsCompute = 0.3;
  usual.attentionCompute = 0.2;
  usual.serial = 0.5;
  return usual;
}

}  // namespace app::cli
