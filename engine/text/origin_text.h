// Text that remembers who wrote it. Control tokens match only inside Template runs, so nothing a
// user, a tool or a document says can close its own turn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace engine::text {

enum class Origin : std::uint8_t { Template, User };

struct OriginRun {
  std::string text;
  Origin origin = Origin::User;
};

// Concatenated in order. Runs are not token boundaries: pre-tokenisation and merges see one text.
using OriginText = std::vector<OriginRun>;

std::string plainText(const OriginText& text);

}  // namespace engine::text
