#include "app/cli/flag_set.h"

#include <charconv>
#include <limits>
#include <string_view>

#include <fmt/format.h>

namespace app::cli {

namespace {

bool parseBytes(const std::string& text, std::int64_t& target) {
  std::int64_t count = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, count);
  if (failure != std::errc() || end - stop > 1) return false;
  int shift = 0;
  if (stop != end) {
    const std::string_view units = "KMG";
    const std::size_t unit = units.find(*stop);
    if (unit == std::string_view::npos) return false;
    shift = 10 * (static_cast<int>(unit) + 1);
  }
  if (count < 0 || count > std::numeric_limits<std::int64_t>::max() >> shift) return false;
  target = count << shift;
  return true;
}

// The digits of a number that are not 0 make it another one than 0.
bool isZero(std::string_view number) {
  return number.substr(0, number.find_first_of("eE")).find_first_of("123456789") ==
         std::string_view::npos;
}

template <typename T>
bool parsePositive(const std::string& flag, const std::string& takes, std::string_view text, T& target) {
  if (!parseNumber(text, target)) return false;
  if (target != T{} || isZero(text)) return true;
  throw CLI::ParseError(
      fmt::format("{} is {}, which is 0 in {}-bit floating point; it takes {}", flag, text,
                  8 * sizeof(T), takes),
      CLI::ExitCodes::ValidationError);
}

}  // namespace

void FlagSet::custom(const std::string& flag,
                     const std::string& takes,
                     std::function<bool(const std::string&)> parse,
                     bool collects) {
  const auto read = [flag, takes, parse = std::move(parse)](const CLI::results_t& values) {
    for (const std::string& value : values) {
      if (parse(value)) continue;
      throw CLI::ParseError(
          fmt::format("{} is {}; it takes {}", flag, value.empty() ? "empty" : value, takes),
          CLI::ExitCodes::ValidationError);
    }
    return true;
  };
  CLI::Option* option = m_app.add_option(flag, read, takes);
  option->type_size(1)->expected(1)->allow_extra_args(false);
  option->multi_option_policy(collects ? CLI::MultiOptionPolicy::TakeAll
                                       : CLI::MultiOptionPolicy::TakeLast);
}

void FlagSet::text(const std::string& flag, std::string& target, const std::string& help) {
  custom(flag, help, [&target](const std::string& value) {
    target = value;
    return !value.empty();  // as a script with an unset variable gives it: not the default
  });
}

void FlagSet::texts(const std::string& flag,
                    std::vector<std::string>& target,
                    const std::string& help) {
  const auto collect = [&target](const std::string& value) {
    target.push_back(value);
    return true;
  };
  custom(flag, help, collect, /*collects=*/true);
}

void FlagSet::toggle(const std::string& flag, bool& target, const std::string& help) {
  m_app.add_flag_callback(
      flag, [&target] { target = true; }, help);
}

void FlagSet::onOff(const std::string& flag, bool& target, const std::string& help) {
  custom(flag, "on or off: " + help, [&target](const std::string& value) {
    if (value != "on" && value != "off") return false;
    target = value == "on";
    return true;
  });
}

void FlagSet::number(const std::string& flag, float& target, const std::string& takes) {
  custom(flag, takes, [&target](const std::string& value) { return parseNumber(value, target); });
}

void FlagSet::number(const std::string& flag, double& target, const std::string& takes) {
  custom(flag, takes, [&target](const std::string& value) { return parseNumber(value, target); });
}

void FlagSet::positive(const std::string& flag, float& target, const std::string& takes) {
  custom(flag, takes, [&target, flag, takes](const std::string& value) {
    return parsePositive(flag, takes, value, target);
  });
}

void FlagSet::positive(const std::string& flag, double& target, const std::string& takes) {
  custom(flag, takes, [&target, flag, takes](const std::string& value) {
    return parsePositive(flag, takes, value, target);
  });
}

void FlagSet::positive(const std::string& flag,
                       std::optional<double>& target,
                       const std::string& takes) {
  custom(flag, takes, [&target, flag, takes](const std::string& value) {
    return parsePositive(flag, takes, value, target.emplace());
  });
}

void FlagSet::bytes(const std::string& flag, std::int64_t& target, const std::string& help) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  custom(flag, fmt::format("0 to {} bytes, or with K, M (to {}) or G (to {}): {}", kMost, kMost >> 20, kMost >> 30, help),
         [&target](const std::string& value) { return parseBytes(value, target); });
}

void FlagSet::positional(const std::string& name, std::string& target, const std::string& help) {
  const auto read = [&target](const CLI::results_t& values) {
    target = values.front();
    return true;
  };
  m_app.add_option(name, read, help)->type_size(1)->expected(1)->required();
}

void FlagSet::positionals(const std::string& name,
                          std::vector<std::string>& target,
                          const std::string& help) {
  const auto read = [&target](const CLI::results_t& values) {
    target = values;
    return true;
  };
  m_app.add_option(name, read, help)
      ->type_size(1)
      ->expected(1, 1 << 20)
      ->allow_extra_args(true)
      ->required();
}

}  // namespace app::cli
