// The functions a chat template can call by name.
#pragma once

#include "engine/text/jinja_value.h"

namespace engine::text::jinja {

// range, dict, namespace, raise_exception, strftime_now; null-like (nothing set) for other names.
// Returns false when there is no such function.
bool findGlobal(const std::string& name, Budget& budget, Value& out);

}  // namespace engine::text::jinja
