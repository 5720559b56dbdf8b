#include "engine/text/jinja_unicode.h"

#include <clocale>
#include <cwctype>

#include <locale.h>

#include "engine/text/utf8.h"

namespace engine::text::jinja {

namespace {

// Character classes beyond ASCII come from the C library's own UTF-8 locale, never from the user's.
locale_t unicodeLocale() {
  static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return locale;
}

bool isContinuation(std::string_view text, std::size_t position) {
  return position < text.size() && (static_cast<unsigned char>(text[position]) & 0xC0) == 0x80;
}

bool isIn(char32_t c, char32_t first, char32_t last) { return c >= first && c <= last; }

}  // namespace

CodePoint codePointAt(std::string_view text, std::size_t position) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const char32_t lead = byte(position);
  if (lead < 0x80) return {lead, 1};
  const char32_t b1 = byte(position + 1) & 0x3F;
  if (lead < 0xE0) return {((lead & 0x1F) << 6) | b1, 2};
  const char32_t b2 = byte(position + 2) & 0x3F;
  if (lead < 0xF0) return {((lead & 0x0F) << 12) | (b1 << 6) | b2, 3};
  return {((lead & 0x07) << 18) | (b1 << 12) | (b2 << 6) | (byte(position + 3) & 0x3F), 4};
}

std::size_t countCodePoints(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

std::size_t byteOffset(std::string_view text, std::size_t index) {
  std::size_t position = 0;
  while (index > 0 && position < text.size()) {
    position += codePointAt(text, position).length;
    --index;
  }
  return position < text.size() ? position : text.size();
}

std::string encodeUtf8(char32_t codePoint) {
  std::string out;
  appendUtf8(out, codePoint);
  return out;
}

bool isSpace(char32_t c) {
  return isIn(c, 0x09, 0x0D) || isIn(c, 0x1C, 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         isIn(c, 0x2000, 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool isPrintable(char32_t c) {
  if (c < 0x80) return isIn(c, 0x20, 0x7E);
  if (c < 0xA1 || c == 0xAD || isSpace(c)) return false;
  const bool isFormat = isIn(c, 0x600, 0x605) || c == 0x61C || c == 0x6DD || c == 0x70F ||
                        isIn(c, 0x890, 0x891) || c == 0x8E2 || c == 0x180E ||
                        isIn(c, 0x200B, 0x200F) || isIn(c, 0x202A, 0x202E) ||
                        isIn(c, 0x2060, 0x206F) || c == 0xFEFF || isIn(c, 0xFFF9, 0xFFFB) ||
                        isIn(c, 0xE0000, 0xE0FFF);
  const bool isPrivate = isIn(c, 0xD800, 0xF8FF) || c >= 0xF0000;
  if (isFormat) return isIn(c, 0xE0100, 0xE01EF);  // variation selectors are marks
  if (isPrivate) return false;
  return unicodeLocale() == nullptr || iswprint_l(static_cast<wint_t>(c), unicodeLocale()) != 0;
}

bool isAlpha(char32_t c) {
  if (c < 0x80) return isIn(c | 0x20, 'a', 'z');
  return unicodeLocale() != nullptr && iswalpha_l(static_cast<wint_t>(c), unicodeLocale()) != 0;
}

bool isDigit(char32_t c) { return isIn(c, '0', '9'); }

bool isUpper(char32_t c) { return toLower(c) != c; }

bool isLower(char32_t c) { return toUpper(c) != c; }

char32_t toUpper(char32_t c) {
  if (c < 0x80) return isIn(c, 'a', 'z') ? c - 32 : c;
  if (unicodeLocale() == nullptr) return c;
  return static_cast<char32_t>(towupper_l(static_cast<wint_t>(c), unicodeLocale()));
}

char32_t toLower(char32_t c) {
  if (c < 0x80) return isIn(c, 'A', 'Z') ? c + 32 : c;
  if (unicodeLocale() == nullptr) return c;
  return static_cast<char32_t>(towlower_l(static_cast<wint_t>(c), unicodeLocale()));
}

ByteRange trimmedRange(std::string_view text, bool left, bool right) {
  ByteRange range{0, text.size()};
  while (left && range.begin < range.end) {
    const CodePoint c = codePointAt(text, range.begin);
    if (!isSpace(c.value)) break;
    range.begin += c.length;
  }
  while (right && range.end > range.begin) {
    std::size_t start = range.end - 1;
    while (start > range.begin && isContinuation(text, start)) --start;
    if (!isSpace(codePointAt(text, start).value)) break;
    range.end = start;
  }
  return range;
}

}  // namespace engine::text::jinja
