// Python's operators on template values.
#pragma once

#include <vector>

#include "engine/text/jinja_ast.h"
#include "engine/text/jinja_value.h"

namespace engine::text::jinja {

// Items of a list, characters of a string, keys of a dict. Fails for what Python cannot iterate;
// a generator is emptied by it.
std::vector<Value> iterate(const Value& value, Budget& budget);
// len(); fails where Python has none.
std::size_t lengthOf(const Value& value);

bool equals(const Value& left, const Value& right, Budget& budget);
// left < right; fails for kinds that Python does not order.
bool isLess(const Value& left, const Value& right, Budget& budget);
bool contains(const Value& container, const Value& item, Budget& budget);
bool compare(Comparison comparison, const Value& left, const Value& right, Budget& budget);

// Add ... Power.
Value binary(ExpressionKind kind, const Value& left, const Value& right, Budget& budget);
Value negate(const Value& value);

// First place of `needle` in `text` at or after `from`, npos when absent. Linear time.
std::size_t findBytes(std::string_view text, std::string_view needle, std::size_t from);

// Fails with the undefined value's own message when it is one.
const Value& requireDefined(const Value& value);

}  // namespace engine::text::jinja
