// Numbers as flags give them.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace app::cli {

// Whether what a number type cannot hold is too close to 0 for it, rather than too far from it.
bool isTooSmall(std::string_view number);

// All of `text` as a number, locale-free; "nan" and "inf" are numbers, range checks refuse them. What
// lies closer to 0 than any other value of a floating type is 0. False, `target` untouched, when it is
// none or does not fit.
template <typename T>
bool parseNumber(std::string_view text, T& target) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (stop != end) return false;
  if constexpr (std::is_floating_point_v<T>) {
    if (failure == std::errc::result_out_of_range && isTooSmall(text)) {
      target = text.front() == '-' ? -T{} : T{};
      return true;
    }
  }
  if (failure != std::errc()) return false;
  target = value;
  return true;
}

// As above; false too outside the range, both of whose ends belong to it.
template <std::integral T>
bool parseWhole(std::string_view text, T& target, T least, T most) {
  T value{};
  if (!parseNumber(text, value) || value < least || value > most) return false;
  target = value;
  return true;
}

// "a whole number from 1 to 1024", with the note in brackets where there is one.
template <std::integral T>
std::string wholeNumbers(T least, T most, const std::string& note = {}) {
  return "a whole number from " + std::to_string(least) + " to " + std::to_string(most) +
         (note.empty() ? "" : " (" + note + ")");
}

}  // namespace app::cli
