#include "engine/text/jinja_string_methods.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/text/jinja_arguments.h"
#include "engine/text/jinja_failure.h"
#include "engine/text/jinja_format.h"
#include "engine/text/jinja_operators.h"
#include "engine/text/jinja_text_operations.h"
#include "engine/text/jinja_unicode.h"

namespace engine::text::jinja {

namespace {

constexpr std::size_t kNone = std::string_view::npos;

template <Case kCase>
Value changeCase(const String& self, const Arguments& arguments, Budget& budget) {
  BoundArguments("str method", arguments, {});
  return Value::string(withCase(self, kCase, budget), &budget);
}

template <bool kLeft, bool kRight>
Value strip(const String& self, const Arguments& arguments, Budget& budget) {
  const BoundArguments bound("strip", arguments, {"chars"});
  if (!bound.has(0) || bound.get(0).is(Kind::None)) {
    return Value::string(stripped(self, kLeft, kRight, nullptr, budget), &budget);
  }
  const String characters = bound.string(0, "");
  return Value::string(stripped(self, kLeft, kRight, &characters, budget), &budget);
}

template <bool kFromRight>
Value split(const String& self, const Arguments& arguments, Budget& budget) {
  const BoundArguments bound("split", arguments, {"sep", "maxsplit"});
  const std::int64_t limit = bound.integer(1, -1);
  if (!bound.has(0) || bound.get(0).is(Kind::None)) {
    return Value::list(splitWords(self, limit, kFromRight, budget), &budget);
  }
  return Value::list(splitAt(self, bound.string(0, ""), limit, kFromRight, budget), &budget);
}

Value splitlines(const String& self, const Arguments& arguments, Budget& budget) {
  const BoundArguments bound("splitlines", arguments, {"keepends"});
  if (bound.boolean(0, false)) failUnsupported("splitlines(keepends=true) is not supported");
  return Value::list(splitLines(self, budget), &budget);
}

template <bool kFromRight>
Value partition(const String& self, const Arguments& arguments, Budget& budget) {
  const BoundArguments bound("partition", arguments, {"sep"});
  bound.require(0);
  const String separator = bound.string(0, "");
  const std::vector<Value> parts = splitAt(self, separator, 1, kFromRight, budget);
  const Value empty = Value::literal("");
  if (parts.size() == 2) {
    return Value::tuple({parts[0], Value::string(separator, &budget), parts[1]}, &budget);
  }
  if (kFromRight) return Value::tuple({empty, empty, parts[0]}, &budget);
  return Value::tuple({parts[0], empty, empty}, &budget);
}

template <bool kAtStart>
Value hasAffix(const String& self, const Arguments& arguments, Budget& budget) {
  const BoundArguments bound(kAtStart ? "startswith" : "endswith", arguments, {"prefix"});
  const Value& affix = requireDefined(bound.require(0));
  const auto matches = [&](const Value& value) {
    if (!value.isString()) fail("startswith and endswith need a string or a tuple of strings");
    budget.copy(value.asString().size());
    const std::string_view text = value.asString().view();
    return kAtStart ? self.view().starts_with(text) : self.view().ends_with(text);
  };
  if (!affix.is(Kind::Sequence)) return Value::boolean(matches(affix));
  const std::vector<Value>& items = affix.asSequence().items;
  return Value::boolean(std::any_of(items.begin(), items.end(), matches));
}

template <bool kAtStart>
Value removeAffix(const String& self, const Arguments& arguments, Budget& budget) {
  const BoundArguments bound(kAtStart ? "removeprefix" : "removesuffix", arguments, {"affix"});
  bound.require(0);
  const String affix = bound.string(0, "");
  const bool matches = kAtStart ? self.view().starts_with(affix.view()) : self.view().ends_with(affix.view());
  budget.copy(self.size());
  if (!matches) return Value::string(self, &budget);
  if (kAtStart) return Value::string(self.slice(affix.size(), self.size()), &budget);
  return Value::string(self.slice(0, self.size() - affix.size()), &budget);
}

Value replace(const String& self, const Arguments& arguments, Budget& budget) {
  const BoundArguments bound("replace", arguments, {"old", "new", "count"});
  bound.require(1);
  return Value::string(
      replaced(self, bound.string(0, ""), bound.string(1, ""), bound.integer(2, -1), budget), &budget);
}

// Character index of the first or last occurrence, -1 when there is none.
std::int64_t place(const String& self, const Arguments& arguments, bool last, Budget& budget) {
  const BoundArguments bound("find", arguments, {"sub", "start"});
  bound.require(0);
  const String needle = bound.string(0, "");
  budget.read(self.size() + needle.size());
  std::int64_t start = bound.integer(1, 0);
  if (start < 0) start += static_cast<std::int64_t>(countCodePoints(self.view()));
  const std::size_t from = byteOffset(self.view(), static_cast<std::size_t>(std::max<std::int64_t>(0, start)));
  std::size_t found = last ? self.view().rfind(needle.view()) : findBytes(self.view(), needle.view(), from);
  if (found == kNone || found < from) return -1;
  return static_cast<std::int64_t>(countCodePoints(self.view().substr(0, found)));
}

template <bool kLast>
Value find(const String& self, const Arguments& arguments, Budget& budget) {
  return Value::integer(place(self, arguments, kLast, budget));
}

template <bool kLast>
Value index(const String& self, const Arguments& arguments, Budget& budget) {
  const std::int64_t found = place(self, arguments, kLast, budget);
  if (found < 0) fail("substring not found");
  return Value::integer(found);
}

Value count(const String& self, const Arguments& arguments, Budget& budget) {
  const BoundArguments bound("count", arguments, {"sub"});
  bound.require(0);
  const String needle = bound.string(0, "");
  budget.read(self.size() + needle.size());
  if (needle.isEmpty()) {
    return Value::integer(static_cast<std::int64_t>(countCodePoints(self.view())) + 1);
  }
  std::int64_t total = 0;
  for (std::size_t at = findBytes(self.view(), needle.view(), 0); at != kNone;
       at = findBytes(self.view(), needle.view(), at + needle.size())) {
    ++total;
  }
  return Value::integer(total);
}

Value join(const String& self, const Arguments& arguments, Budget& budget) {
  const BoundArguments bound("join", arguments, {"iterable"});
  const std::vector<Value> items = iterate(requireDefined(bound.require(0)), budget);
  for (const Value& item : items) {
    if (!item.isString()) fail(std::string("str.join expects strings, found ") + typeName(item));
  }
  return Value::string(joined(items, self, budget), &budget);
}

Value format(const String& self, const Arguments& arguments, Budget& budget) {
  return Value::string(formatBraces(self, arguments, budget), &budget);
}

template <Align kAlign>
Value pad(const String& self, const Arguments& arguments, Budget& budget) {
  const BoundArguments bound("pad", arguments, {"width", "fillchar"});
  bound.require(0);
  const String fill = bound.string(1, " ");
  if (countCodePoints(fill.view()) != 1) fail("the fill character must be exactly one character long");
  return Value::string(padded(self, bound.integer(0, 0), kAlign, fill, budget), &budget);
}

Value zfill(const String& self, const Arguments& arguments, Budget& budget) {
  const BoundArguments bound("zfill", arguments, {"width"});
  bound.require(0);
  const bool hasSign = self.view().starts_with('-') || self.view().starts_with('+');
  const std::size_t signBytes = hasSign ? 1 : 0;
  const std::int64_t width = std::max<std::int64_t>(0, bound.integer(0, 0)) - (hasSign ? 1 : 0);
  String out = self.slice(0, signBytes);
  out.append(padded(self.slice(signBytes, self.size()), width, Align::Right, {"0", Origin::Template}, budget));
  return Value::string(std::move(out), &budget);
}

template <bool (*kPredicate)(char32_t)>
Value isAll(const String& self, const Arguments& arguments, Budget& budget) {
  BoundArguments("str method", arguments, {});
  budget.read(self.size());
  for (std::size_t i = 0; i < self.size();) {
    const CodePoint c = codePointAt(self.view(), i);
    if (!kPredicate(c.value)) return Value::boolean(false);
    i += c.length;
  }
  return Value::boolean(!self.isEmpty());
}

bool isAlphanumeric(char32_t c) { return isAlpha(c) || isDigit(c); }

// At least one cased character, and none of the other case.
template <bool (*kWanted)(char32_t), bool (*kOther)(char32_t)>
Value isCased(const String& self, const Arguments& arguments, Budget& budget) {
  BoundArguments("str method", arguments, {});
  budget.read(self.size());
  bool hasWanted = false;
  for (std::size_t i = 0; i < self.size();) {
    const CodePoint c = codePointAt(self.view(), i);
    if (kOther(c.value)) return Value::boolean(false);
    hasWanted = hasWanted || kWanted(c.value);
    i += c.length;
  }
  return Value::boolean(hasWanted);
}

constexpr std::pair<std::string_view, StringMethod> kMethods[] = {
    {"upper", changeCase<Case::Upper>},
    {"lower", changeCase<Case::Lower>},
    {"casefold", changeCase<Case::Lower>},
    {"capitalize", changeCase<Case::Capitalised>},
    {"title", changeCase<Case::Title>},
    {"swapcase", changeCase<Case::Swapped>},
    {"strip", strip<true, true>},
    {"lstrip", strip<true, false>},
    {"rstrip", strip<false, true>},
    {"split", split<false>},
    {"rsplit", split<true>},
    {"splitlines", splitlines},
    {"partition", partition<false>},
    {"rpartition", partition<true>},
    {"startswith", hasAffix<true>},
    {"endswith", hasAffix<false>},
    {"removeprefix", removeAffix<true>},
    {"removesuffix", removeAffix<false>},
    {"replace", replace},
    {"find", find<false>},
    {"rfind", find<true>},
    {"index", index<false>},
    {"rindex", index<true>},
    {"count", count},
    {"join", join},
    {"format", format},
    {"ljust", pad<Align::Left>},
    {"rjust", pad<Align::Right>},
    {"center", pad<Align::Center>},
    {"zfill", zfill},
    {"isspace", isAll<isSpace>},
    {"isalpha", isAll<isAlpha>},
    {"isdigit", isAll<isDigit>},
    {"isdecimal", isAll<isDigit>},
    {"isnumeric", isAll<isDigit>},
    {"isalnum", isAll<isAlphanumeric>},
    {"isupper", isCased<isUpper, isLower>},
    {"islower", isCased<isLower, isUpper>},
};

}  // namespace

StringMethod stringMethod(std::string_view name) {
  const auto* found = std::find_if(std::begin(kMethods), std::end(kMethods),
                                   [&](const auto& entry) { return entry.first == name; });
  return found == std::end(kMethods) ? nullptr : found->second;
}

}  // namespace engine::text::jinja
