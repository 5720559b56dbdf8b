// The cards of resources/cards as they are in the program: JSON text, put in by CMake.
#pragma once

#include <string_view>

namespace engine::sim {

extern const std::string_view kDeviceCardsJson;
extern const std::string_view kModelCardsJson;

}  // namespace engine::sim
