#include "engine/text/vocabulary_match.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace engine::text {

namespace {

constexpr std::size_t kShownBytes = 40;

// Printable ASCII as it is, all else as bytes, cut: file content goes into a message.
std::string shown(const std::string& token) {
  std::string out;
  for (const char c : token.substr(0, kShownBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte >= 0x20 && byte < 0x7F ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return token.size() > kShownBytes ? out + "..." : out;
}

Error different(std::string what) {
  return {ErrorCode::Unsupported,
          fmt::format("the draft model has another vocabulary: {}", what)};
}

}  // namespace

Result<void> checkSameTokens(const Vocabulary& model, const Vocabulary& draft) {
  const std::size_t common = std::min(model.tokens.size(), draft.tokens.size());
  for (std::size_t id = 0; id < common; ++id) {
    if (model.tokens[id] == draft.tokens[id]) continue;
    return different(fmt::format("token {} is \"{}\" there and \"{}\" in the model", id,
                                 shown(draft.tokens[id]), shown(model.tokens[id])));
  }
  const bool isDraftLonger = draft.tokens.size() > common;
  const Vocabulary& longer = isDraftLonger ? draft : model;
  for (std::size_t id = common; id < longer.tokens.size(); ++id) {
    if (id < longer.types.size() && longer.types[id] == TokenType::Unused) continue;
    return different(fmt::format("token {} is \"{}\" in the {} alone, which has {} tokens to the "
                                 "other's {}",
                                 id, shown(longer.tokens[id]), isDraftLonger ? "draft" : "model",
                                 longer.tokens.size(), common));
  }
  return {};
}

}  // namespace engine::text
