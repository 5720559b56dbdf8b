#include "engine/model/architecture_keys.h"

#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "engine/model/safe_text.h"

namespace engine::model {

namespace {

constexpr double kLargestNumber = 1e12;

}  // namespace

Error ArchitectureKeys::corrupt(std::string_view what) const {
  return fileError(ErrorCode::CorruptFile, m_file.path(), what);
}

Error ArchitectureKeys::unsupported(std::string_view what) const {
  return fileError(ErrorCode::Unsupported, m_file.path(), what);
}

bool ArchitectureKeys::has(std::string_view key) const {
  return m_file.metadata().find(fullKey(key)) != nullptr;
}

Result<std::optional<std::int64_t>> ArchitectureKeys::find(std::string_view key,
                                                           IntegerRange range) const {
  const std::string full = fullKey(key);
  const GgufEntry* entry = m_file.metadata().find(full);
  if (entry == nullptr) return std::optional<std::int64_t>();
  const auto value = entry->type == GgufType::Array ? TRY(uniformElement(full))
                                                    : TRY(m_file.metadata().integer(full));
  if (*value < range.lowest || *value > range.highest) {
    return corrupt(fmt::format("{} is {}, must be {} to {}", safeText(full), *value, range.lowest,
                               range.highest));
  }
  return value;
}

Result<std::optional<std::int64_t>> ArchitectureKeys::uniformElement(std::string_view full) const {
  const auto values = TRY(m_file.metadata().integers(full)).value_or(std::vector<std::int64_t>());
  if (values.empty()) return corrupt(fmt::format("{} is an empty array", safeText(full)));
  for (const std::int64_t value : values) {
    if (value != values.front()) {
      return unsupported(fmt::format("{} differs by layer, which is not run", safeText(full)));
    }
  }
  return std::optional<std::int64_t>(values.front());
}

Result<std::int64_t> ArchitectureKeys::integer(std::string_view key, IntegerRange range) const {
  const auto value = TRY(find(key, range));
  if (!value) return corrupt(fmt::format("has no {}", safeText(fullKey(key))));
  return *value;
}

Result<std::int64_t> ArchitectureKeys::integerOr(std::string_view key,
                                                 IntegerRange range,
                                                 std::int64_t absent) const {
  return TRY(find(key, range)).value_or(absent);
}

Result<double> ArchitectureKeys::positiveOr(std::string_view key, double absent) const {
  const auto value = TRY(m_file.metadata().number(fullKey(key)));
  if (!value) return absent;
  if (!std::isfinite(*value) || *value <= 0.0 || *value > kLargestNumber) {
    return corrupt(fmt::format("{} is {}, must be above 0 and at most {}", safeText(fullKey(key)),
                               *value, kLargestNumber));
  }
  return *value;
}

Result<double> ArchitectureKeys::numberOr(std::string_view key, double absent) const {
  const auto value = TRY(m_file.metadata().number(fullKey(key)));
  if (!value) return absent;
  if (!std::isfinite(*value) || std::fabs(*value) > kLargestNumber) {
    return corrupt(fmt::format("{} is {}, must be a number of at most {}", safeText(fullKey(key)),
                               *value, kLargestNumber));
  }
  return *value;
}

Result<std::string> ArchitectureKeys::textOr(std::string_view key, std::string_view absent) const {
  return TRY(m_file.metadata().text(fullKey(key))).value_or(std::string(absent));
}

Result<bool> ArchitectureKeys::booleanOr(std::string_view key, bool absent) const {
  return TRY(m_file.metadata().boolean(fullKey(key))).value_or(absent);
}

}  // namespace engine::model
