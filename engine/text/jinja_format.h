// Python's two ways of filling in a text: "%s" % x and "{}".format(x).
#pragma once

#include "engine/text/jinja_value.h"

namespace engine::text::jinja {

// `values`: a tuple of values, a dict for %(name)s, or one value.
String formatPercent(const String& pattern, const Value& values, Budget& budget);
// Fields {}, {0} and {name}, doubled braces; a format specification is Unsupported.
String formatBraces(const String& pattern, const Arguments& arguments, Budget& budget);

}  // namespace engine::text::jinja
