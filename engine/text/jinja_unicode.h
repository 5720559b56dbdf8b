// Code points of UTF-8 text, and what Python says about them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace engine::text::jinja {

struct CodePoint {
  char32_t value = 0;
  std::size_t length = 0;  // bytes
};

// `text` must be valid UTF-8 and `position` the start of a character.
CodePoint codePointAt(std::string_view text, std::size_t position);
std::size_t countCodePoints(std::string_view text);
// Byte offset of the index-th code point; text.size() past the end.
std::size_t byteOffset(std::string_view text, std::size_t index);

std::string encodeUtf8(char32_t codePoint);

// Python's str.isspace, isprintable, isalpha, isdigit, isupper, islower, and simple case mappings.
bool isSpace(char32_t c);
bool isPrintable(char32_t c);
bool isAlpha(char32_t c);
bool isDigit(char32_t c);
bool isUpper(char32_t c);
bool isLower(char32_t c);
char32_t toUpper(char32_t c);
char32_t toLower(char32_t c);

// Bytes [begin, end) of `text` without white space at its ends.
struct ByteRange {
  std::size_t begin = 0, end = 0;
};
ByteRange trimmedRange(std::string_view text, bool left, bool right);

}  // namespace engine::text::jinja
