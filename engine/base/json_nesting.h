// How deep a JSON text nests, before anything that recurses looks at it.
#pragma once

#include <algorithm>
#include <string_view>

namespace engine {

// No document of ours needs more; code that walks a document by recursion stays far from its stack's end.
inline constexpr int kMaxJsonNesting = 100;

// Lists and objects open at once, at most; text inside strings does not count. The text need not be JSON.
inline int jsonNesting(std::string_view text) {
  int depth = 0, deepest = 0;
  bool isInString = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (isInString) {
      if (c == '\\') ++i;
      isInString = c != '"';
    } else if (c == '"') {
      isInString = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

}  // namespace engine
