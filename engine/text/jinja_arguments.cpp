#include "engine/text/jinja_arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/text/jinja_failure.h"
#include "engine/text/jinja_operators.h"

namespace engine::text::jinja {

BoundArguments::BoundArguments(std::string_view function, const Arguments& arguments,
                               std::initializer_list<std::string_view> parameters)
    : m_function(function), m_names(parameters), m_values(parameters.size()) {
  if (arguments.positional.size() > m_names.size()) {
    fail(fmt::format("{}() takes at most {} arguments, {} given", function, m_names.size(),
                     arguments.positional.size()));
  }
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) m_values[i] = arguments.positional[i];
  for (const auto& [key, value] : arguments.named) {
    const std::string_view name = key.view();
    const auto found = std::find(m_names.begin(), m_names.end(), name);
    if (found == m_names.end()) fail(fmt::format("{}() has no parameter '{}'", function, name));
    const auto index = static_cast<std::size_t>(found - m_names.begin());
    if (m_values[index]) fail(fmt::format("{}() got two values for '{}'", function, name));
    m_values[index] = value;
  }
}

const Value& BoundArguments::require(std::size_t index) const {
  if (!m_values[index]) fail(fmt::format("{}() needs the argument '{}'", m_function, m_names[index]));
  return *m_values[index];
}

std::int64_t BoundArguments::integer(std::size_t index, std::int64_t fallback) const {
  if (!has(index)) return fallback;
  const Value& value = requireDefined(*m_values[index]);
  if (!value.isIntegral()) {
    fail(fmt::format("{}() needs a whole number for '{}', not {}", m_function, m_names[index],
                     typeName(value)));
  }
  return value.asInt();
}

bool BoundArguments::boolean(std::size_t index, bool fallback) const {
  return has(index) ? m_values[index]->isTrue() : fallback;
}

String BoundArguments::string(std::size_t index, std::string_view fallback) const {
  if (!has(index)) return {std::string(fallback), Origin::Template};
  const Value& value = requireDefined(*m_values[index]);
  if (!value.isString()) {
    fail(fmt::format("{}() needs a string for '{}', not {}", m_function, m_names[index], typeName(value)));
  }
  return value.asString();
}

}  // namespace engine::text::jinja
