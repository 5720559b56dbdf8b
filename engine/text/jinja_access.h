// Attributes, items and slices, as Jinja's immutable sandbox gives them.
#pragma once

#include <string>

#include "engine/text/jinja_value.h"

namespace engine::text::jinja {

// object.name: methods first, then dict keys. What is absent is an undefined value; methods that
// would change a list or dict are unsafe and fail when used.
Value attributeOf(const Value& object, const std::string& name, Budget& budget);
// object[key]: items first, then attributes.
Value itemOf(const Value& object, const Value& key, Budget& budget);
// object[start:stop:step]; none stands for an absent bound.
Value sliceOf(const Value& object, const Value& start, const Value& stop, const Value& step, Budget& budget);

}  // namespace engine::text::jinja
