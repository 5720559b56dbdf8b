// What a device can do at most, as data.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"

namespace engine::sim {

// Rates of one device. Bytes and operations a second; a multiplication and an addition are two.
struct DeviceCard {
  std::string name;   // "h100"
  std::string title;  // "NVIDIA H100 SXM 80 GB"
  std::string source;
  double memoryBytes = 0;
  double readBytesPerSecond = 0;
  double ops16PerSecond = 0;  // 16-bit matrix products, dense
  double ops8PerSecond = 0;   // 8-bit ones
  double linkBytesPerSecond = 0;  // to the devices that share a model, one way
  double stepOverheadSeconds = 0;  // launching, sampling and scheduling that nothing hides
};

// All cards of the program, in the order of the file.
const std::vector<DeviceCard>& deviceCards();
// NotFound, with the names there are.
Result<DeviceCard> findDeviceCard(std::string_view name);

}  // namespace engine::sim
