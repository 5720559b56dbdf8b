#include "app/cli/number_text.h"

#include <algorithm>
#include <cstdint>

namespace app::cli {

// By the place of the first digit that is not 0: numbers out of range are far from 1.
bool isTooSmall(std::string_view number) {
  if (!number.empty() && number.front() == '-') number.remove_prefix(1);
  const std::size_t e = number.find_first_of("eE");
  const std::string_view digits = number.substr(0, e);
  std::int64_t exponent = 0;
  constexpr std::int64_t kFar = std::int64_t{1} << 40;  // from where nothing leads back
  if (e != std::string_view::npos) {
    std::string_view text = number.substr(e + 1);
    if (!text.empty() && text.front() == '+') text.remove_prefix(1);
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), exponent);
    if (parsed.ec == std::errc::result_out_of_range) return text.front() == '-';
    exponent = std::clamp(exponent, -kFar, kFar);
  }
  const std::size_t first = digits.find_first_not_of("0.");
  if (first == std::string_view::npos) return true;  // 0 itself
  const auto point = static_cast<std::int64_t>(std::min(digits.find('.'), digits.size()));
  return exponent + point - static_cast<std::int64_t>(first) < 0;
}

}  // namespace app::cli
