#include "engine/sim/device_card.h"

#include <nlohmann/json.hpp>

#include "engine/sim/card_data.h"
#include "engine/sim/card_search.h"

namespace engine::sim {

const std::vector<DeviceCard>& deviceCards() {
  static const std::vector<DeviceCard> cards = [] {
    std::vector<DeviceCard> read;
    // part of the program: a mistake in it throws at the first use, in any test
    const auto document = nlohmann::json::parse(kDeviceCardsJson);
    for (const auto& entry : document.at("devices")) {
      DeviceCard& card = read.emplace_back();
      card.name = entry.at("name").get<std::string>();
      card.title = entry.at("title").get<std::string>();
      card.source = entry.at("source").get<std::string>();
      card.memoryBytes = entry.at("memory_gb").get<double>() * 1e9;
      card.readBytesPerSecond = entry.at("bandwidth_gbps").get<double>() * 1e9;
      card.ops16PerSecond = entry.at("tflops_16bit").get<double>() * 1e12;
      card.ops8PerSecond = entry.at("tflops_8bit").get<double>() * 1e12;
      card.linkBytesPerSecond = entry.at("link_gbps").get<double>() * 1e9;
      card.stepOverheadSeconds = entry.at("step_overhead_us").get<double>() * 1e-6;
    }
    return read;
  }();
  return cards;
}

Result<DeviceCard> findDeviceCard(std::string_view name) {
  return findCard(deviceCards(), name, "device card");
}

}  // namespace engine::sim
