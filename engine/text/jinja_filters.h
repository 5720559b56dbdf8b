// Jinja's filters by name.
#pragma once

#include <string_view>

#include "engine/text/jinja_value.h"

namespace engine::text::jinja {

using Filter = Value (*)(Interpreter& interpreter, const Value& input, const Arguments& arguments);

// Null when there is no such filter.
Filter findFilter(std::string_view name);

// The two halves of the table.
Filter findTextFilter(std::string_view name);
Filter findListFilter(std::string_view name);

}  // namespace engine::text::jinja
