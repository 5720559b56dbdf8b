// Numbers as flags give them.
#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

namespace app::cli {

// All of `text` as a number, locale-free; "nan" and "inf" are numbers, range checks refuse them.
// False, `target` untouched, when it is none or does not fit.
template <typename T>
bool parseNumber(std::string_view text, T& target) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc() || stop != end) return false;
  target = value;
  return true;
}

}  // namespace app::cli
