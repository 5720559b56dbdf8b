#include "engine/text/jinja_filters.h"

namespace engine::text::jinja {

Filter findFilter(std::string_view name) {
  if (const Filter found = findTextFilter(name)) return found;
  return findListFilter(name);
}

}  // namespace engine::text::jinja
