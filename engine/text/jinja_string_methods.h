// Methods of str.
#pragma once

#include <string_view>

#include "engine/text/jinja_value.h"

namespace engine::text::jinja {

using StringMethod = Value (*)(const String& self, const Arguments& arguments, Budget& budget);

// Null when str has no such method here.
StringMethod stringMethod(std::string_view name);

}  // namespace engine::text::jinja
