// Strict UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace engine::text {

enum class Utf8Kind : std::uint8_t {
  Whole,       // one character
  Incomplete,  // everything that is left; more bytes could make it a character
  Broken,      // can never become a character; the longest such beginning, as Unicode 3.9 advises
};

struct Utf8Unit {
  Utf8Kind kind = Utf8Kind::Broken;
  std::size_t length = 0;  // bytes, at least 1
};

// The first unit of `bytes`, which must not be empty.
Utf8Unit firstUtf8Unit(std::string_view bytes);

// Byte offset of the first unit that is not a whole character; empty when `bytes` is UTF-8.
std::optional<std::size_t> findInvalidUtf8(std::string_view bytes);

// Each broken or incomplete unit becomes one U+FFFD.
std::string repairUtf8(std::string_view bytes);

// The character as UTF-8; `codePoint` must be one.
void appendUtf8(std::string& out, char32_t codePoint);

// The code point of a whole character, as firstUtf8Unit() found it.
char32_t codePointOf(std::string_view character);

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

}  // namespace engine::text
