// Adds flags to a command that fill plain values, each with the sentence for a value it cannot
// take.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/cli/number_text.h"

namespace app::cli {

// The upper end of a count that has none of its own.
inline constexpr std::int64_t kMostOfAny = std::numeric_limits<std::int64_t>::max();

// Flag names are given with their dashes ("--top-k"). A value that does not parse stops parsing
// with
// "--top-k is x; it takes <takes>" (exit code 2); so does a whole number outside its range, other
// ranges are for the engine's own checks. Targets must outlive parsing. A flag given twice takes the last value, except those that collect.
class FlagSet {
 public:
  explicit FlagSet(CLI::App& app) : m_app(app) {}

  CLI::App& app() { return m_app; }

  void text(const std::string& flag, std::string& target, const std::string& help);
  // Collects: one value each time.
  void texts(const std::string& flag, std::vector<std::string>& target, const std::string& help);
  // No value: present or not.
  void toggle(const std::string& flag, bool& target, const std::string& help);
  void onOff(const std::string& flag, bool& target, const std::string& help);

  // `takes` names the values: "0 to 2". What is too small for the type is taken as 0.
  void number(const std::string& flag, float& target, const std::string& takes);
  void number(const std::string& flag, double& target, const std::string& takes);
  // Where 0 is no value, such a number is refused for what it is.
  void positive(const std::string& flag, float& target, const std::string& takes);
  void positive(const std::string& flag, double& target, const std::string& takes);
  // Empty without the flag, so that a value that is given is never taken for none.
  void positive(const std::string& flag, std::optional<double>& target, const std::string& takes);

  // Takes `least` to `most`, which it says with the note in brackets: "a whole number from 0 to 1024
  // (0: one a physical core)".
  template <std::integral T>
  void whole(const std::string& flag,
             T& target,
             std::type_identity_t<T> least,
             std::type_identity_t<T> most,
             const std::string& note = {}) {
    custom(flag, wholeNumbers(least, most, note), [&target, least, most](const std::string& value) {
      return parseWhole(value, target, least, most);
    });
  }
  template <std::integral T>
  void whole(const std::string& flag,
             std::optional<T>& target,
             std::type_identity_t<T> least,
             std::type_identity_t<T> most,
             const std::string& note = {}) {
    custom(flag, wholeNumbers(least, most, note), [&target, least, most](const std::string& value) {
      return parseWhole(value, target.emplace(), least, most);
    });
  }
  // Bytes; K, M and G mean 2^10, 2^20 and 2^30.
  void bytes(const std::string& flag, std::int64_t& target, const std::string& help);

  template <typename Enum>
  void choice(const std::string& flag,
              Enum& target,
              const std::vector<std::pair<std::string, Enum>>& names) {
    std::string takes;
    for (const auto& [name, value] : names) takes += (takes.empty() ? "" : ", ") + name;
    custom(flag, takes, [&target, names](const std::string& given) {
      for (const auto& [name, value] : names) {
        if (name != given) continue;
        target = value;
        return true;
      }
      return false;
    });
  }

  // The base of the others: `parse` returns false for a value that does not parse.
  void custom(const std::string& flag,
              const std::string& takes,
              std::function<bool(const std::string&)> parse,
              bool collects = false);

  // An argument without a flag.
  void positional(const std::string& name, std::string& target, const std::string& help);
  void positionals(const std::string& name,
                   std::vector<std::string>& target,
                   const std::string& help);

 private:
  CLI::App& m_app;
};

}  // namespace app::cli
