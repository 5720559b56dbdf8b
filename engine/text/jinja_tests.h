// Jinja's tests ("x is name") by name.
#pragma once

#include <string_view>

#include "engine/text/jinja_value.h"

namespace engine::text::jinja {

using Test = bool (*)(Interpreter& interpreter, const Value& input, const Arguments& arguments);

// Null when there is no such test.
Test findTest(std::string_view name);

}  // namespace engine::text::jinja
