#include "engine/text/jinja_text_operations.h"

#include <algorithm>

#include "engine/text/jinja_failure.h"
#include "engine/text/jinja_operators.h"
#include "engine/text/jinja_repr.h"
#include "engine/text/jinja_unicode.h"

namespace engine::text::jinja {

namespace {

constexpr std::size_t kNone = std::string_view::npos;

char32_t mapped(char32_t c, Case wanted, bool isWordStart, bool isTextStart) {
  switch (wanted) {
    case Case::Upper: return toUpper(c);
    case Case::Lower: return toLower(c);
    case Case::Capitalised: return isTextStart ? toUpper(c) : toLower(c);
    case Case::Title: return isWordStart ? toUpper(c) : toLower(c);
    case Case::Swapped: return isUpper(c) ? toLower(c) : toUpper(c);
  }
  return c;
}

bool isStripped(const String& text, std::size_t position, const String* characters) {
  const CodePoint c = codePointAt(text.view(), position);
  if (!characters) return isSpace(c.value);
  return characters->view().find(text.view().substr(position, c.length)) != kNone;
}

std::size_t previousStart(std::string_view text, std::size_t position) {
  do {
    --position;
  } while (position > 0 && (static_cast<unsigned char>(text[position]) & 0xC0) == 0x80);
  return position;
}

Value part(const String& text, std::size_t begin, std::size_t end, Budget& budget) {
  budget.step();
  return Value::string(text.slice(begin, end), &budget);
}

std::size_t findLast(std::string_view text, std::string_view needle, std::size_t end) {
  return text.substr(0, end).rfind(needle);
}

}  // namespace

String withCase(const String& text, Case wanted, Budget& budget) {
  budget.read(2 * text.size());
  String out;
  bool isWordStart = true;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = codePointAt(text.view(), i);
    const std::size_t end = i + c.length;
    if (wanted == Case::Upper && c.value == 0xDF) {
      out.append("SS", text.originOf(i, end));
    } else {
      out.append(encodeUtf8(mapped(c.value, wanted, isWordStart, i == 0)), text.originOf(i, end));
    }
    isWordStart = !isAlpha(c.value);
    i = end;
  }
  return out;
}

String replaced(const String& text, const String& from, const String& to, std::int64_t limit, Budget& budget) {
  budget.read(text.size() + from.size());
  String out;
  std::size_t position = 0;
  std::size_t searchFrom = 0;
  for (std::int64_t count = 0; limit < 0 || count < limit; ++count) {
    const std::size_t found = findBytes(text.view(), from.view(), searchFrom);
    if (found == kNone) break;
    budget.copy(to.size());
    out.appendSlice(text, position, found);
    out.append(to);
    budget.checkStringSize(out.size());
    position = found + from.size();
    searchFrom = position;
    if (!from.isEmpty()) continue;
    if (found >= text.size()) break;
    searchFrom = found + codePointAt(text.view(), found).length;
  }
  out.appendSlice(text, position, text.size());
  return out;
}

String stripped(const String& text, bool left, bool right, const String* characters, Budget& budget) {
  budget.step();
  std::size_t begin = 0;
  std::size_t end = text.size();
  const std::size_t cost = 1 + (characters ? characters->size() / 64 : 0);
  while (left && begin < end && isStripped(text, begin, characters)) {
    budget.step(cost);
    begin += codePointAt(text.view(), begin).length;
  }
  while (right && begin < end) {
    const std::size_t last = previousStart(text.view(), end);
    if (!isStripped(text, last, characters)) break;
    budget.step(cost);
    end = last;
  }
  budget.copy(end - begin);
  return text.slice(begin, end);
}

String padded(const String& text, std::int64_t width, Align align, const String& fill, Budget& budget) {
  const auto length = static_cast<std::int64_t>(countCodePoints(text.view()));
  const std::int64_t missing = std::max<std::int64_t>(0, width - length);
  budget.checkStringSize(static_cast<std::size_t>(missing));
  budget.read(static_cast<std::size_t>(missing) + text.size());
  // str.center puts the odd one to the left when the width is odd
  const std::int64_t left = align == Align::Right    ? missing
                            : align == Align::Center ? missing / 2 + (missing & width & 1)
                                                     : 0;
  String out;
  for (std::int64_t i = 0; i < left; ++i) out.append(fill);
  out.append(text);
  for (std::int64_t i = left; i < missing; ++i) out.append(fill);
  return out;
}

std::vector<Value> splitAt(const String& text, const String& separator, std::int64_t limit, bool fromRight,
                           Budget& budget) {
  if (separator.isEmpty()) fail("empty separator");
  budget.read(text.size() + separator.size());
  std::vector<Value> out;
  std::size_t begin = 0;
  std::size_t end = text.size();
  for (std::int64_t cuts = 0; limit < 0 || cuts < limit; ++cuts) {
    const std::size_t found = fromRight ? findLast(text.view(), separator.view(), end)
                                        : findBytes(text.view(), separator.view(), begin);
    if (found == kNone) break;
    if (fromRight) {
      out.push_back(part(text, found + separator.size(), end, budget));
      end = found;
    } else {
      out.push_back(part(text, begin, found, budget));
      begin = found + separator.size();
    }
  }
  out.push_back(part(text, begin, end, budget));
  if (fromRight) std::reverse(out.begin(), out.end());
  return out;
}

std::vector<Value> splitWords(const String& text, std::int64_t limit, bool fromRight, Budget& budget) {
  budget.read(text.size());
  const std::string_view bytes = text.view();
  std::vector<ByteRange> words;
  std::size_t begin = kNone;
  for (std::size_t i = 0; i < bytes.size();) {
    const CodePoint c = codePointAt(bytes, i);
    if (!isSpace(c.value) && begin == kNone) begin = i;
    if (isSpace(c.value) && begin != kNone) {
      words.push_back({begin, i});
      begin = kNone;
    }
    i += c.length;
  }
  if (begin != kNone) words.push_back({begin, bytes.size()});
  // What the limit leaves uncut is one part, up to (or from) the text's own stripped end.
  if (limit >= 0 && words.size() > static_cast<std::size_t>(limit) + 1) {
    const auto cuts = static_cast<std::ptrdiff_t>(limit);
    if (fromRight) {
      const std::size_t end = words[words.size() - static_cast<std::size_t>(cuts) - 1].end;
      const std::size_t start = 0;
      words.erase(words.begin(), words.end() - cuts);
      words.insert(words.begin(), ByteRange{start, end});
    } else {
      const std::size_t start = words[static_cast<std::size_t>(cuts)].begin;
      words.erase(words.begin() + cuts, words.end());
      words.push_back({start, bytes.size()});
    }
  }
  std::vector<Value> out;
  for (const ByteRange& word : words) out.push_back(part(text, word.begin, word.end, budget));
  return out;
}

std::vector<Value> splitLines(const String& text, Budget& budget) {
  budget.read(text.size());
  const auto isBreak = [](char32_t c) {
    return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
  };
  std::vector<Value> out;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = codePointAt(text.view(), i);
    std::size_t end = i + c.length;
    if (isBreak(c.value)) {
      out.push_back(part(text, begin, i, budget));
      if (c.value == '\r' && end < text.size() && text.view()[end] == '\n') ++end;
      begin = end;
    }
    i = end;
  }
  if (begin < text.size()) out.push_back(part(text, begin, text.size(), budget));
  return out;
}

String joined(const std::vector<Value>& items, const String& separator, Budget& budget) {
  String out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out.append(separator);
    const String text = toText(items[i], budget);
    budget.copy(text.size() + separator.size());
    out.append(text);
    budget.checkStringSize(out.size());
  }
  return out;
}

}  // namespace engine::text::jinja
