// Values as Python prints them: str() and repr().
#pragma once

#include "engine/text/jinja_value.h"

namespace engine::text::jinja {

// What {{ value }} writes. Text keeps its origin; what the printing adds belongs to the template.
String toText(const Value& value, Budget& budget);
// As inside a printed list: strings quoted and escaped.
String toRepr(const Value& value, Budget& budget);
// Shortest digits that read back as the same number, always with a point or exponent.
std::string floatText(double value);

}  // namespace engine::text::jinja
