// Rewriting text while every byte keeps its origin; shared by filters and string methods.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/text/jinja_value.h"

namespace engine::text::jinja {

enum class Case { Upper, Lower, Capitalised, Title, Swapped };

String withCase(const String& text, Case wanted, Budget& budget);
// Occurrences left to right, at most `limit` of them (negative: all). An empty `from` matches
// between characters.
String replaced(const String& text, const String& from, const String& to, std::int64_t limit, Budget& budget);
// Without leading/trailing characters that are white space, or in `characters` when not null.
String stripped(const String& text, bool left, bool right, const String* characters, Budget& budget);
// Around the whole text or before it alone; fill is a space unless given.
enum class Align { Left, Right, Center };
String padded(const String& text, std::int64_t width, Align align, const String& fill, Budget& budget);
// At a separator, at most `limit` cuts (negative: all), counted from the right when `fromRight`.
std::vector<Value> splitAt(const String& text, const String& separator, std::int64_t limit, bool fromRight,
                           Budget& budget);
// At runs of white space; no empty parts.
std::vector<Value> splitWords(const String& text, std::int64_t limit, bool fromRight, Budget& budget);
// As str.splitlines without ends.
std::vector<Value> splitLines(const String& text, Budget& budget);
// As str() of the items, with the separator between.
String joined(const std::vector<Value>& items, const String& separator, Budget& budget);

}  // namespace engine::text::jinja
