// Finds a card by name; says which there are when there is none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "engine/base/result.h"

namespace engine::sim {

template <typename Card>
Result<Card> findCard(const std::vector<Card>& cards, std::string_view name, const char* kind) {
  std::string names;
  for (const Card& card : cards) {
    if (card.name == name) return card;
    names += (names.empty() ? "" : ", ") + card.name;
  }
  return Error{ErrorCode::NotFound, fmt::format("there is no {} {}; there are {}", kind,
                                                name.substr(0, 100), names)};
}

}  // namespace engine::sim
