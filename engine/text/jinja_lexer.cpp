#include "engine/text/jinja_lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "engine/text/jinja_failure.h"
#include "engine/text/jinja_unicode.h"

namespace engine::text::jinja {

namespace {

constexpr std::array<std::string_view, 28> kOperators = {
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]",
    "(",  ")",  "{",  "}",  ">",  "<",  "=", ".", ":", "|", ",", ";", "!", "&"};

bool isNameByte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalnum(byte) != 0 || c == '_' || byte >= 0x80;
}

bool isDecimal(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  explicit Lexer(std::string_view source) : m_source(normalised(source)) {}

  std::vector<Token> run() {
    while (m_position < m_source.size()) lexTopLevel();
    m_tokens.push_back({TokenKind::End, "", m_line});
    return std::move(m_tokens);
  }

 private:
  // One newline kind, and the one at the very end dropped (keep_trailing_newline is off).
  static std::string normalised(std::string_view source) {
    std::string out;
    out.reserve(source.size());
    for (std::size_t i = 0; i < source.size(); ++i) {
      if (source[i] != '\r') {
        out += source[i];
      } else if (i + 1 >= source.size() || source[i + 1] != '\n') {
        out += '\n';
      }
    }
    if (!out.empty() && out.back() == '\n') out.pop_back();
    return out;
  }

  bool startsWith(std::string_view what) const {
    return std::string_view(m_source).substr(m_position, what.size()) == what;
  }

  void advance(std::size_t count) {
    const auto from = m_source.begin() + static_cast<std::ptrdiff_t>(m_position);
    m_line += static_cast<int>(std::count(from, from + static_cast<std::ptrdiff_t>(count), '\n'));
    m_position += count;
    m_isLineStart = m_source[m_position - 1] == '\n';
  }

  [[noreturn]] void failHere(const std::string& what) const {
    fail(fmt::format("line {}: {}", m_line, what));
  }

  void push(TokenKind kind, std::string text) { m_tokens.push_back({kind, std::move(text), m_line}); }

  void lexTopLevel() {
    std::size_t begin = m_position;
    for (;; ++begin) {
      begin = m_source.find('{', begin);
      if (begin == std::string::npos || begin + 1 >= m_source.size()) {
        pushData(m_source.size(), m_source.size());
        return;
      }
      const char next = m_source[begin + 1];
      if (next == '{' || next == '%' || next == '#') break;
    }
    const char kind = m_source[begin + 1];
    const char sign = begin + 2 < m_source.size() ? m_source[begin + 2] : '\0';
    const bool hasSign = sign == '-' || sign == '+';
    pushData(dataEnd(begin, sign, kind == '{'), begin);
    if (kind == '#') return lexComment();
    if (kind == '%' && lexRaw(hasSign)) return;
    push(kind == '{' ? TokenKind::VariableBegin : TokenKind::BlockBegin, "");
    advance(hasSign ? 3 : 2);
    lexCode(kind == '{');
  }

  // Where the text before a tag at `begin` ends once its white space is stripped.
  std::size_t dataEnd(std::size_t begin, char sign, bool isVariable) const {
    const std::string_view text = std::string_view(m_source).substr(m_position, begin - m_position);
    if (sign == '-') return m_position + trimmedRange(text, false, true).end;
    if (sign == '+' || isVariable) return begin;
    const std::size_t newline = text.rfind('\n');
    const std::size_t lineStart = newline == std::string_view::npos ? 0 : newline + 1;
    if (lineStart == 0 && !m_isLineStart) return begin;
    const std::string_view line = text.substr(lineStart);
    const bool isBlank = trimmedRange(line, true, false).begin == line.size();
    return isBlank ? m_position + lineStart : begin;
  }

  void pushData(std::size_t end, std::size_t next) {
    if (end > m_position) push(TokenKind::Data, m_source.substr(m_position, end - m_position));
    if (next > m_position) advance(next - m_position);
  }

  // After a tag's end at `position`: "-" eats all white space, "+" nothing, else one newline when
  // trim_blocks applies. Returns how many bytes the end takes.
  std::size_t closingLength(std::size_t position, char sign, std::size_t tagBytes, bool isBlock) const {
    std::size_t end = position + tagBytes + (sign ? 1 : 0);
    if (sign == '-') {
      end += trimmedRange(std::string_view(m_source).substr(end), true, false).begin;
    } else if (sign == 0 && isBlock && end < m_source.size() && m_source[end] == '\n') {
      ++end;
    }
    return end - position;
  }

  void lexComment() {
    const std::size_t close = m_source.find("#}", m_position + 2);
    if (close == std::string::npos) failHere("a comment is not closed");
    const char before = close > m_position + 2 ? m_source[close - 1] : '\0';
    const char sign = before == '-' || before == '+' ? before : '\0';
    const std::size_t start = sign ? close - 1 : close;
    advance(start + closingLength(start, sign, 2, true) - m_position);
  }

  std::size_t skipSpaces(std::size_t position) const {
    return position + trimmedRange(std::string_view(m_source).substr(position), true, false).begin;
  }

  // At "{%": true when it was a raw block, which is then read to its end.
  bool lexRaw(bool hasSign) {
    std::size_t position = skipSpaces(m_position + (hasSign ? 3 : 2));
    if (m_source.compare(position, 3, "raw") != 0) return false;
    position = skipSpaces(position + 3);
    const bool strips = m_source.compare(position, 3, "-%}") == 0;
    if (!strips && m_source.compare(position, 2, "%}") != 0) return false;
    position += strips ? 3 : 2;
    if (strips) position = skipSpaces(position);
    advance(position - m_position);
    for (std::size_t tag = m_source.find("{%", m_position); tag != std::string::npos;
         tag = m_source.find("{%", tag + 1)) {
      if (closeRaw(tag)) return true;
    }
    failHere("a raw block is not closed");
  }

  bool closeRaw(std::size_t tag) {
    const char sign = tag + 2 < m_source.size() ? m_source[tag + 2] : '\0';
    std::size_t position = skipSpaces(tag + (sign == '-' || sign == '+' ? 3 : 2));
    if (m_source.compare(position, 6, "endraw") != 0) return false;
    position = skipSpaces(position + 6);
    const char closing = position < m_source.size() ? m_source[position] : '\0';
    const char closeSign = closing == '-' || closing == '+' ? closing : '\0';
    if (m_source.compare(position + (closeSign ? 1 : 0), 2, "%}") != 0) return false;
    const std::size_t end = position + closingLength(position, closeSign, 2, true);
    pushData(dataEnd(tag, sign, false), end);
    return true;
  }

  void lexCode(bool isVariable) {
    const std::string_view tag = isVariable ? "}}" : "%}";
    std::vector<char> open;  // brackets: inside them the tag's end is an operator
    for (;;) {
      advance(skipSpaces(m_position) - m_position);
      if (m_position >= m_source.size()) failHere("a tag is not closed");
      if (open.empty() && lexClose(tag, isVariable)) return;
      lexToken(open);
    }
  }

  bool lexClose(std::string_view tag, bool isVariable) {
    const char c = m_source[m_position];
    const char sign = c == '-' || (c == '+' && !isVariable) ? c : '\0';
    if (std::string_view(m_source).substr(m_position + (sign ? 1 : 0), 2) != tag) return false;
    push(isVariable ? TokenKind::VariableEnd : TokenKind::BlockEnd, "");
    advance(closingLength(m_position, sign, 2, !isVariable));
    return true;
  }

  void lexToken(std::vector<char>& open) {
    const char c = m_source[m_position];
    if (isDecimal(c)) return lexNumber();
    if (isNameByte(c)) return lexName();
    if (c == '"' || c == '\'') return lexString(c);
    for (const std::string_view op : kOperators) {
      if (!startsWith(op)) continue;
      if (op == "!" || op == "&") break;
      trackBrackets(op[0], open);
      push(TokenKind::Operator, std::string(op));
      return advance(op.size());
    }
    const std::size_t length = codePointAt(m_source, m_position).length;
    failHere(fmt::format("unexpected character '{}'", m_source.substr(m_position, length)));
  }

  void trackBrackets(char c, std::vector<char>& open) const {
    if (c == '(') open.push_back(')');
    if (c == '[') open.push_back(']');
    if (c == '{') open.push_back('}');
    if (c != ')' && c != ']' && c != '}') return;
    if (open.empty()) failHere(fmt::format("unexpected '{}'", c));
    if (open.back() != c) failHere(fmt::format("unexpected '{}', expected '{}'", c, open.back()));
    open.pop_back();
  }

  void lexName() {
    std::size_t end = m_position;
    while (end < m_source.size() && isNameByte(m_source[end])) ++end;
    push(TokenKind::Name, m_source.substr(m_position, end - m_position));
    advance(end - m_position);
  }

  // Digits from `position`, single underscores between them dropped.
  std::size_t takeDigits(std::size_t position, std::string& digits, int base) const {
    const auto isDigitOf = [&](std::size_t i) {
      if (i >= m_source.size()) return false;
      const auto c = static_cast<unsigned char>(m_source[i]);
      return base == 16 ? std::isxdigit(c) != 0 : c >= '0' && c < '0' + base;
    };
    while (isDigitOf(position) || (position < m_source.size() && m_source[position] == '_' &&
                                   isDigitOf(position + 1) && !digits.empty())) {
      if (m_source[position] != '_') digits += m_source[position];
      ++position;
    }
    return position;
  }

  void lexNumber() {
    const char second = m_position + 1 < m_source.size()
                            ? static_cast<char>(std::tolower(m_source[m_position + 1]))
                            : '\0';
    const int base = second == 'x' ? 16 : second == 'o' ? 8 : second == 'b' ? 2 : 10;
    std::string digits;
    if (m_source[m_position] == '0' && base != 10) {
      const std::size_t end = takeDigits(m_position + 2, digits, base);
      if (digits.empty()) failHere("a number has no digits");
      push(TokenKind::Integer, fmt::format("0{}{}", second, digits));
      return advance(end - m_position);
    }
    std::size_t end = takeDigits(m_position, digits, 10);
    const bool isFloat = takeFraction(end, digits);
    push(isFloat ? TokenKind::Float : TokenKind::Integer, digits);
    advance(end - m_position);
  }

  // A fraction needs digits after its point ("1.foo" is an attribute), an exponent digits too.
  bool takeFraction(std::size_t& end, std::string& digits) const {
    const auto at = [&](std::size_t i) { return i < m_source.size() ? m_source[i] : '\0'; };
    const bool followsDot = m_position > 0 && m_source[m_position - 1] == '.';
    if (followsDot) return false;
    bool isFloat = false;
    if (at(end) == '.' && isDecimal(at(end + 1))) {
      digits += '.';
      end = takeDigits(end + 1, digits, 10);
      isFloat = true;
    }
    if (at(end) != 'e' && at(end) != 'E') return isFloat;
    const bool hasSign = at(end + 1) == '+' || at(end + 1) == '-';
    if (!isDecimal(at(end + 1 + (hasSign ? 1 : 0)))) return isFloat;
    digits += 'e';
    if (hasSign) digits += at(end + 1);
    end = takeDigits(end + 1 + (hasSign ? 1 : 0), digits, 10);
    return true;
  }

  void lexString(char quote) {
    std::string text;
    std::size_t i = m_position + 1;
    while (i < m_source.size() && m_source[i] != quote) {
      if (m_source[i] != '\\') {
        text += m_source[i++];
      } else {
        i = takeEscape(i + 1, text);
      }
    }
    if (i >= m_source.size()) failHere("a string is not closed");
    push(TokenKind::String, std::move(text));
    advance(i + 1 - m_position);
  }

  // What follows a backslash; Python keeps the backslash of an escape that it does not know.
  std::size_t takeEscape(std::size_t i, std::string& text) const {
    if (i >= m_source.size()) failHere("a string is not closed");
    const char c = m_source[i];
    switch (c) {
      case '\n': return i + 1;
      case 'n': text += '\n'; return i + 1;
      case 't': text += '\t'; return i + 1;
      case 'r': text += '\r'; return i + 1;
      case 'a': text += '\a'; return i + 1;
      case 'b': text += '\b'; return i + 1;
      case 'f': text += '\f'; return i + 1;
      case 'v': text += '\v'; return i + 1;
      case '\\':
      case '\'':
      case '"': text += c; return i + 1;
      case 'x': return takeCodePoint(i + 1, 2, 16, text);
      case 'u': return takeCodePoint(i + 1, 4, 16, text);
      case 'U': return takeCodePoint(i + 1, 8, 16, text);
      default: break;
    }
    if (c >= '0' && c <= '7') {
      std::size_t end = i;
      while (end < m_source.size() && end < i + 3 && m_source[end] >= '0' && m_source[end] <= '7') ++end;
      return takeCodePoint(i, end - i, 8, text);
    }
    text += '\\';
    return i;
  }

  std::size_t takeCodePoint(std::size_t begin, std::size_t length, int base, std::string& text) const {
    char32_t value = 0;
    for (std::size_t i = begin; i < begin + length; ++i) {
      const char c = i < m_source.size() ? m_source[i] : '\0';
      if (std::isxdigit(static_cast<unsigned char>(c)) == 0) failHere("a string escape is cut short");
      const int digit = isDecimal(c) ? c - '0' : std::tolower(c) - 'a' + 10;
      value = value * static_cast<char32_t>(base) + static_cast<char32_t>(digit);
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
      failHere("a string escape names no character");
    }
    text += encodeUtf8(value);
    return begin + length;
  }

  std::string m_source;
  std::size_t m_position = 0;
  int m_line = 1;
  bool m_isLineStart = true;  // what was read last ended with a newline
  std::vector<Token> m_tokens;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) { return Lexer(source).run(); }

}  // namespace engine::text::jinja
