// Methods that Python's strings, lists and dicts have, and the loop's two.
#pragma once

#include <optional>
#include <string>

#include "engine/text/jinja_value.h"

namespace engine::text::jinja {

// A bound method to call, an undefined value for one that would change its object, or nothing.
std::optional<Value> methodOf(const Value& object, const std::string& name, Budget& budget);
// loop.cycle and loop.changed.
Value loopMethod(const Value& loop, const std::string& name, Budget& budget);
// What the sandbox forbids: using the value fails, saying so.
Value unsafeAttribute(const Value& object, const std::string& name);

}  // namespace engine::text::jinja
