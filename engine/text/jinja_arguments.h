// Binds the arguments of a built-in function, filter or method to its parameters.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/jinja_value.h"

namespace engine::text::jinja {

// Reads arguments by parameter name. Fails, naming the function, for too many or unknown ones.
class BoundArguments {
 public:
  BoundArguments(std::string_view function, const Arguments& arguments,
                 std::initializer_list<std::string_view> parameters);

  bool has(std::size_t index) const { return m_values[index].has_value(); }
  Value get(std::size_t index) const { return m_values[index].value_or(Value()); }
  // Fails when the argument is absent.
  const Value& require(std::size_t index) const;
  // The argument as that type, `fallback` when absent; fails for another type.
  std::int64_t integer(std::size_t index, std::int64_t fallback) const;
  bool boolean(std::size_t index, bool fallback) const;  // any value's truth
  String string(std::size_t index, std::string_view fallback) const;

 private:
  std::string m_function;
  std::vector<std::string_view> m_names;
  std::vector<std::optional<Value>> m_values;
};

}  // namespace engine::text::jinja
