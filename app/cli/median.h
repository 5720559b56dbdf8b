// The middle of some measurements.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

namespace app::cli {

// The mean of the two middle ones for an even number; nothing for none.
inline std::optional<double> medianOf(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2.0;
}

}  // namespace app::cli
