// JSON to values and back, as Python's json module writes it.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/result.h"
#include "engine/text/jinja_value.h"

namespace engine::text::jinja {

struct JsonStyle {
  String indent;  // one level
  bool isIndented = false;  // false = one line
  String itemSeparator{", ", Origin::Template};
  String keySeparator{": ", Origin::Template};
  bool escapesNonAscii = false;
  bool sortsKeys = false;
};

// Throws Failure for values JSON has no form for.
String toJson(const Value& value, const JsonStyle& style, Budget& budget);

// Objects keep their key order; whole and real numbers stay apart; all text gets `origin`.
// InvalidArgument, with the byte offset, for text that is not JSON or nests too deep.
Result<Value> parseJson(std::string_view text, Origin origin, Budget* budget);

}  // namespace engine::text::jinja
