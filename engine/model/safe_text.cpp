#include "engine/model/safe_text.h"

#include <cstdint>

namespace engine::model {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kEllipsis = "\xE2\x80\xA6";
constexpr std::size_t kMaxPathBytes = 110;
constexpr std::size_t kMaxReasonBytes = 180;

bool isContinuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

// Bytes of the well-formed character at the front of `text` (Unicode 15, table 3-7); 0 =
// ill-formed.
std::size_t characterBytes(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!isContinuation(text[i])) return 0;
  }
  const auto second = static_cast<unsigned char>(text[1]);
  if (lead == 0xE0 && second < 0xA0) return 0;  // overlong
  if (lead == 0xED && second > 0x9F) return 0;  // surrogate
  if (lead == 0xF0 && second < 0x90) return 0;  // overlong
  if (lead == 0xF4 && second > 0x8F) return 0;  // past U+10FFFF
  return length;
}

bool isLineBreaking(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  if (lead < 0x20 || lead == 0x7F) return true;
  if (lead == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0) return true;  // C1 controls
  return character == "\xE2\x80\xA8" || character == "\xE2\x80\xA9";  // line, paragraph separator
}

// The last bytes of a path, starting at a whole character.
std::string shownPath(std::string_view path) {
  if (path.size() <= kMaxPathBytes) return safeText(path, kMaxPathBytes);
  std::string_view end = path.substr(path.size() - kMaxPathBytes);
  while (!end.empty() && isContinuation(end[0])) end.remove_prefix(1);
  return std::string(kEllipsis) + safeText(end, kMaxPathBytes);
}

}  // namespace

std::string safeText(std::string_view text, std::size_t maxBytes) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = characterBytes(text);
    std::string_view shown = length == 0 ? kReplacement : text.substr(0, length);
    if (length != 0 && isLineBreaking(shown)) shown = " ";
    if (out.size() + shown.size() > maxBytes) return out.append(kEllipsis);
    out.append(shown);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string validUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = characterBytes(text);
    out.append(length == 0 ? kReplacement : text.substr(0, length));
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

Error fileError(ErrorCode code, std::string_view path, std::string_view what) {
  return Error{code, shownPath(path) + ": " + safeText(what, kMaxReasonBytes)};
}

}  // namespace engine::model
