// Filters that make text or numbers.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "engine/text/jinja_arguments.h"
#include "engine/text/jinja_failure.h"
#include "engine/text/jinja_filters.h"
#include "engine/text/jinja_format.h"
#include "engine/text/jinja_interpreter.h"
#include "engine/text/jinja_json.h"
#include "engine/text/jinja_operators.h"
#include "engine/text/jinja_repr.h"
#include "engine/text/jinja_text_operations.h"
#include "engine/text/jinja_unicode.h"

namespace engine::text::jinja {

namespace {

template <Case kCase>
Value changeCase(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  BoundArguments("case filter", arguments, {});
  return interpreter.string(withCase(toText(input, interpreter.budget()), kCase, interpreter.budget()));
}

Value toString(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  BoundArguments("string", arguments, {});
  return interpreter.string(toText(input, interpreter.budget()));
}

Value trim(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const BoundArguments bound("trim", arguments, {"chars"});
  const String text = toText(input, interpreter.budget());
  if (!bound.has(0) || bound.get(0).is(Kind::None)) {
    return interpreter.string(stripped(text, true, true, nullptr, interpreter.budget()));
  }
  const String characters = bound.string(0, "");
  return interpreter.string(stripped(text, true, true, &characters, interpreter.budget()));
}

Value replace(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const BoundArguments bound("replace", arguments, {"old", "new", "count"});
  Budget& budget = interpreter.budget();
  const std::int64_t limit = bound.get(2).is(Kind::None) ? -1 : bound.integer(2, -1);
  return interpreter.string(replaced(toText(input, budget), toText(bound.require(0), budget),
                                     toText(bound.require(1), budget), limit, budget));
}

Value format(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  Budget& budget = interpreter.budget();
  if (!arguments.positional.empty() && !arguments.named.empty()) {
    fail("can't handle positional and keyword arguments at the same time");
  }
  Value values = Value::tuple(arguments.positional, &budget);
  if (!arguments.named.empty()) {
    std::vector<Dict::Entry> entries;
    for (const auto& [name, value] : arguments.named) entries.emplace_back(interpreter.string(name), value);
    values = Value::dict(std::make_shared<Dict>(std::move(entries), &budget));
  }
  return interpreter.string(formatPercent(toText(input, budget), values, budget));
}

Value escape(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  BoundArguments("escape", arguments, {});
  constexpr std::pair<char, std::string_view> kEntities[] = {
      {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'\'', "&#39;"}, {'"', "&#34;"}};
  const String text = toText(input, interpreter.budget());
  interpreter.budget().read(4 * text.size());
  String out;
  std::size_t plain = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto* found = std::find_if(std::begin(kEntities), std::end(kEntities),
                                     [&](const auto& entity) { return entity.first == text.view()[i]; });
    if (found == std::end(kEntities)) continue;
    out.appendSlice(text, plain, i);
    out.append(found->second, text.originOf(i, i + 1));
    plain = i + 1;
  }
  out.appendSlice(text, plain, text.size());
  return interpreter.string(std::move(out));
}

// A text (or that many spaces) before every line but the first, and but blank ones.
Value indent(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const BoundArguments bound("indent", arguments, {"width", "first", "blank"});
  Budget& budget = interpreter.budget();
  const String text = toText(input, budget);
  String prefix;
  if (bound.has(0) && bound.get(0).isString()) {
    prefix = bound.string(0, "");
  } else {
    prefix = padded({}, bound.integer(0, 4), Align::Left, {" ", Origin::Template}, budget);
  }
  const bool indentsBlank = bound.boolean(2, false);
  String out;
  if (bound.boolean(1, false)) out.append(prefix);
  budget.read(text.size());
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.view().find('\n', begin), text.size());
    if (begin > 0 && (indentsBlank || end > begin)) {
      budget.copy(prefix.size());
      out.append(prefix);
    }
    out.appendSlice(text, begin, std::min(end + 1, text.size()));
    budget.checkStringSize(out.size());
    begin = end + 1;
  }
  return interpreter.string(std::move(out));
}

Value center(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const BoundArguments bound("center", arguments, {"width"});
  Budget& budget = interpreter.budget();
  return interpreter.string(padded(toText(input, budget), bound.integer(0, 80), Align::Center,
                                   {" ", Origin::Template}, budget));
}

Value truncate(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const BoundArguments bound("truncate", arguments, {"length", "killwords", "end", "leeway"});
  Budget& budget = interpreter.budget();
  const String text = toText(input, budget);
  const std::int64_t length = bound.integer(0, 255);
  const String end = bound.string(2, "...");
  const auto endLength = static_cast<std::int64_t>(countCodePoints(end.view()));
  if (length < endLength) fail(fmt::format("expected length >= {}, got {}", endLength, length));
  budget.read(text.size());
  if (static_cast<std::int64_t>(countCodePoints(text.view())) <= length + bound.integer(3, 5)) {
    return interpreter.string(text);
  }
  std::size_t cut = byteOffset(text.view(), static_cast<std::size_t>(length - endLength));
  if (!bound.boolean(1, false)) {
    const std::size_t space = text.view().substr(0, cut).rfind(' ');
    if (space != std::string_view::npos) cut = space;
  }
  String out = text.slice(0, cut);
  out.append(end);
  return interpreter.string(std::move(out));
}

Value wordcount(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  BoundArguments("wordcount", arguments, {});
  Budget& budget = interpreter.budget();
  return Value::integer(static_cast<std::int64_t>(splitWords(toText(input, budget), -1, false, budget).size()));
}

Value tojson(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const BoundArguments bound("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  // Jinja's own filter takes the indent first; the chat flavour takes ensure_ascii first.
  JsonStyle style;
  style.escapesNonAscii = bound.boolean(0, false);
  style.sortsKeys = bound.boolean(3, false);
  if (bound.has(1) && !bound.get(1).is(Kind::None)) {
    style.isIndented = true;
    style.itemSeparator = String(",", Origin::Template);
    if (bound.get(1).isString()) {
      style.indent = bound.get(1).asString();
    } else {
      const std::int64_t width = std::max<std::int64_t>(0, bound.integer(1, 0));
      if (width > 100) fail(fmt::format("tojson() got the indent {}; the limit is 100", width));
      style.indent = String(std::string(static_cast<std::size_t>(width), ' '), Origin::Template);
    }
  }
  if (bound.has(2) && !bound.get(2).is(Kind::None)) {
    const std::vector<Value> parts = iterate(requireDefined(bound.get(2)), interpreter.budget());
    if (parts.size() != 2 || !parts[0].isString() || !parts[1].isString()) {
      fail("tojson() needs two strings as separators");
    }
    style.itemSeparator = parts[0].asString();
    style.keySeparator = parts[1].asString();
  }
  return interpreter.string(toJson(input, style, interpreter.budget()));
}

Value fromjson(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  BoundArguments("from_json", arguments, {});
  if (!requireDefined(input).isString()) fail(fmt::format("from_json() needs a string, not {}", typeName(input)));
  const String& text = input.asString();
  interpreter.budget().read(8 * text.size());
  Result<Value> parsed = parseJson(text.view(), text.originOf(0, text.size()), &interpreter.budget());
  if (!parsed) fail("from_json() got a text that " + parsed.error().message);
  return *parsed;
}

// Digits with one sign and single underscores, as int() takes them.
bool readInteger(std::string_view text, int base, std::int64_t& out) {
  const ByteRange range = trimmedRange(text, true, true);
  std::string digits(text.substr(range.begin, range.end - range.begin));
  if (!digits.empty() && digits[0] == '+') digits.erase(0, 1);
  const char prefix = base == 16 ? 'x' : base == 8 ? 'o' : base == 2 ? 'b' : '0';
  if (digits.size() > 2 && digits[0] == '0' && (digits[1] | 0x20) == prefix) digits.erase(0, 2);
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), out, base);
  return result.ec == std::errc() && result.ptr == digits.data() + digits.size();
}

bool readFloat(std::string_view text, double& out) {
  const ByteRange range = trimmedRange(text, true, true);
  std::string digits(text.substr(range.begin, range.end - range.begin));
  if (!digits.empty() && digits[0] == '+') digits.erase(0, 1);
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  return result.ec == std::errc() && result.ptr == digits.data() + digits.size();
}

Value toInteger(Interpreter&, const Value& input, const Arguments& arguments) {
  const BoundArguments bound("int", arguments, {"default", "base"});
  const Value fallback = bound.has(0) ? bound.get(0) : Value::integer(0);
  requireDefined(input);
  if (input.isIntegral()) return Value::integer(input.asInt());
  double real = 0;
  if (input.is(Kind::Float)) {
    real = input.asDouble();
  } else if (input.isString()) {
    const std::int64_t base = bound.integer(1, 10);
    if (base < 2 || base > 36) fail("int() needs a base from 2 to 36");
    std::int64_t number = 0;
    if (readInteger(input.asString().view(), static_cast<int>(base), number)) return Value::integer(number);
    if (!readFloat(input.asString().view(), real)) return fallback;
  } else {
    return fallback;
  }
  return std::fabs(real) < 9.2e18 ? Value::integer(static_cast<std::int64_t>(real)) : fallback;
}

Value toFloat(Interpreter&, const Value& input, const Arguments& arguments) {
  const BoundArguments bound("float", arguments, {"default"});
  requireDefined(input);
  double real = 0;
  if (input.isNumber()) return Value::floating(input.asDouble());
  if (input.isString() && readFloat(input.asString().view(), real)) return Value::floating(real);
  return bound.has(0) ? bound.get(0) : Value::floating(0.0);
}

Value absolute(Interpreter&, const Value& input, const Arguments& arguments) {
  BoundArguments("abs", arguments, {});
  requireDefined(input);
  if (!input.isNumber()) fail(fmt::format("bad operand type for abs(): '{}'", typeName(input)));
  if (input.is(Kind::Float)) return Value::floating(std::fabs(input.asDouble()));
  return input.asInt() < 0 ? negate(input) : Value::integer(input.asInt());
}

Value roundNumber(Interpreter&, const Value& input, const Arguments& arguments) {
  const BoundArguments bound("round", arguments, {"precision", "method"});
  if (!requireDefined(input).isNumber()) fail(fmt::format("round() needs a number, not {}", typeName(input)));
  const std::int64_t precision = std::clamp<std::int64_t>(bound.integer(0, 0), -300, 300);
  const double number = input.asDouble();
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const String method = bound.string(1, "common");
  if (method.view() == "ceil") return Value::floating(std::ceil(number * scale) / scale);
  if (method.view() == "floor") return Value::floating(std::floor(number * scale) / scale);
  if (method.view() != "common") fail("method must be common, ceil or floor");
  if (input.isIntegral() && precision >= 0) return Value::integer(input.asInt());
  if (!std::isfinite(number)) return input;
  // Through the decimal digits, as Python: 2.675 is a little less than it looks.
  if (precision >= 0) return Value::floating(std::strtod(fmt::format("{:.{}f}", number, precision).c_str(), nullptr));
  const double rounded = std::nearbyint(number * scale) / scale;
  return input.isIntegral() ? Value::integer(static_cast<std::int64_t>(rounded)) : Value::floating(rounded);
}

constexpr std::pair<std::string_view, Filter> kFilters[] = {
    {"upper", changeCase<Case::Upper>},
    {"lower", changeCase<Case::Lower>},
    {"capitalize", changeCase<Case::Capitalised>},
    {"title", changeCase<Case::Title>},
    {"string", toString},
    {"safe", toString},
    {"trim", trim},
    {"replace", replace},
    {"format", format},
    {"escape", escape},
    {"e", escape},
    {"forceescape", escape},
    {"indent", indent},
    {"center", center},
    {"truncate", truncate},
    {"wordcount", wordcount},
    {"tojson", tojson},
    {"from_json", fromjson},
    {"fromjson", fromjson},
    {"int", toInteger},
    {"float", toFloat},
    {"abs", absolute},
    {"round", roundNumber},
};

}  // namespace

Filter findTextFilter(std::string_view name) {
  const auto* found = std::find_if(std::begin(kFilters), std::end(kFilters),
                                   [&](const auto& entry) { return entry.first == name; });
  return found == std::end(kFilters) ? nullptr : found->second;
}

}  // namespace engine::text::jinja
