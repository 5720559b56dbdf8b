// A whole template to its statements.
#pragma once

#include <string_view>

#include "engine/text/jinja_ast.h"

namespace engine::text::jinja {

// Throws Failure, naming the line, for source that does not parse. Unsupported for tags that need
// other templates (include, extends, import, block).
Block parseTemplate(std::string_view source);

}  // namespace engine::text::jinja
