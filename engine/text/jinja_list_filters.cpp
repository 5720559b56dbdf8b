// Filters that take or make lists.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "engine/text/jinja_access.h"
#include "engine/text/jinja_arguments.h"
#include "engine/text/jinja_failure.h"
#include "engine/text/jinja_filters.h"
#include "engine/text/jinja_interpreter.h"
#include "engine/text/jinja_methods.h"
#include "engine/text/jinja_operators.h"
#include "engine/text/jinja_repr.h"
#include "engine/text/jinja_text_operations.h"
#include "engine/text/jinja_unicode.h"

namespace engine::text::jinja {

namespace {

// "a.b.0" as attribute filters take it: items, one after the other.
Value attributePath(const Value& object, const Value& path, Budget& budget) {
  if (!path.isString()) return itemOf(object, path, budget);
  Value current = object;
  const std::string_view text = path.asString().view();
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('.', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    const bool isIndex = !part.empty() && part.size() < 10 &&
                         part.find_first_not_of("0123456789") == std::string_view::npos;
    const Value key = isIndex ? Value::integer(std::stoll(std::string(part))) : Value::literal(part);
    current = itemOf(current, key, budget);
    begin = end + 1;
  }
  return current;
}

// What lists are ordered and compared by: strings without regard to case unless told.
Value foldedKey(const Value& value, bool isCaseSensitive, Budget& budget) {
  if (isCaseSensitive || !value.isString()) return value;
  return Value::string(withCase(value.asString(), Case::Lower, budget), &budget);
}

std::vector<Value> itemsOf(Interpreter& interpreter, const Value& input) {
  return iterate(input, interpreter.budget());
}

Value length(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  BoundArguments("length", arguments, {});
  if (input.isString()) interpreter.budget().read(input.asString().size());
  return Value::integer(static_cast<std::int64_t>(lengthOf(input)));
}

Value first(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  BoundArguments("first", arguments, {});
  const std::vector<Value> items = itemsOf(interpreter, input);
  return items.empty() ? Value::undefined("No first item, sequence was empty.") : items.front();
}

Value last(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  BoundArguments("last", arguments, {});
  const std::vector<Value> items = itemsOf(interpreter, input);
  return items.empty() ? Value::undefined("No last item, sequence was empty.") : items.back();
}

Value toList(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  BoundArguments("list", arguments, {});
  return interpreter.list(itemsOf(interpreter, input));
}

Value reverse(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  BoundArguments("reverse", arguments, {});
  std::vector<Value> items = itemsOf(interpreter, input);
  std::reverse(items.begin(), items.end());
  if (!input.isString()) return interpreter.generator(std::move(items));
  return interpreter.string(joined(items, {}, interpreter.budget()));
}

Value join(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const BoundArguments bound("join", arguments, {"d", "attribute"});
  Budget& budget = interpreter.budget();
  std::vector<Value> items = itemsOf(interpreter, input);
  if (bound.has(1) && !bound.get(1).is(Kind::None)) {
    for (Value& item : items) item = attributePath(item, bound.get(1), budget);
  }
  const String separator = bound.has(0) ? toText(bound.get(0), budget) : String();
  return interpreter.string(joined(items, separator, budget));
}

Value fallback(Interpreter&, const Value& input, const Arguments& arguments) {
  const BoundArguments bound("default", arguments, {"default_value", "boolean"});
  const bool isMissing = input.is(Kind::Undefined) || (bound.boolean(1, false) && !input.isTrue());
  if (!isMissing) return input;
  return bound.has(0) ? bound.get(0) : Value::literal("");
}

Value items(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  BoundArguments("items", arguments, {});
  if (input.is(Kind::Undefined)) return interpreter.generator({});
  if (!input.is(Kind::Dict)) fail("Can only get item pairs from a mapping.");
  std::vector<Value> pairs;
  for (const auto& [key, value] : input.asDict().entries()) {
    pairs.push_back(Value::tuple({key, value}, &interpreter.budget()));
  }
  return interpreter.generator(std::move(pairs));
}

Value attr(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const BoundArguments bound("attr", arguments, {"name"});
  bound.require(0);
  const String name = bound.string(0, "");
  if (input.is(Kind::Dict)) {  // attributes only, never keys
    const std::optional<Value> method = methodOf(input, std::string(name.view()), interpreter.budget());
    if (method) return *method;
    return Value::undefined(fmt::format("'dict object' has no attribute '{}'", name.view().substr(0, 200)));
  }
  return attributeOf(input, std::string(name.view()), interpreter.budget());
}

// Sorts `values` by keys; equal keys keep their order.
std::vector<Value> sortedBy(std::vector<Value> values, const std::vector<Value>& keys, bool isReversed,
                            Budget& budget) {
  std::vector<std::size_t> order(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return isReversed ? isLess(keys[b], keys[a], budget) : isLess(keys[a], keys[b], budget);
  });
  std::vector<Value> out;
  for (const std::size_t i : order) out.push_back(std::move(values[i]));
  return out;
}

Value sort(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const BoundArguments bound("sort", arguments, {"reverse", "case_sensitive", "attribute"});
  Budget& budget = interpreter.budget();
  std::vector<Value> values = itemsOf(interpreter, input);
  std::vector<Value> keys;
  const bool hasAttribute = bound.has(2) && !bound.get(2).is(Kind::None);
  for (const Value& value : values) {
    const Value key = hasAttribute ? attributePath(value, bound.get(2), budget) : value;
    keys.push_back(foldedKey(key, bound.boolean(1, false), budget));
  }
  return interpreter.list(sortedBy(std::move(values), keys, bound.boolean(0, false), budget));
}

Value dictsort(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const BoundArguments bound("dictsort", arguments, {"case_sensitive", "by", "reverse"});
  Budget& budget = interpreter.budget();
  if (!requireDefined(input).is(Kind::Dict)) fail(fmt::format("dictsort() needs a dict, not {}", typeName(input)));
  const String by = bound.string(1, "key");
  if (by.view() != "key" && by.view() != "value") fail("dictsort() sorts by 'key' or 'value'");
  std::vector<Value> pairs;
  std::vector<Value> keys;
  for (const auto& [key, value] : input.asDict().entries()) {
    pairs.push_back(Value::tuple({key, value}, &budget));
    keys.push_back(foldedKey(by.view() == "key" ? key : value, bound.boolean(0, false), budget));
  }
  return interpreter.list(sortedBy(std::move(pairs), keys, bound.boolean(2, false), budget));
}

Value unique(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const BoundArguments bound("unique", arguments, {"case_sensitive", "attribute"});
  Budget& budget = interpreter.budget();
  const bool hasAttribute = bound.has(1) && !bound.get(1).is(Kind::None);
  std::unordered_set<std::string> seen;
  std::vector<Value> out;
  for (const Value& value : itemsOf(interpreter, input)) {
    const Value key = hasAttribute ? attributePath(value, bound.get(1), budget) : value;
    if (key.isString()) budget.read(key.asString().size());
    if (seen.insert(hashKey(foldedKey(key, bound.boolean(0, false), budget))).second) out.push_back(value);
  }
  return interpreter.generator(std::move(out));
}

Value groupby(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const BoundArguments bound("groupby", arguments, {"attribute", "default", "case_sensitive"});
  Budget& budget = interpreter.budget();
  std::vector<Value> values = itemsOf(interpreter, input);
  std::vector<Value> pairs;
  std::vector<Value> keys;
  for (const Value& value : values) {
    Value key = attributePath(value, bound.require(0), budget);
    if (key.is(Kind::Undefined) && bound.has(1)) key = bound.get(1);
    keys.push_back(foldedKey(key, bound.boolean(2, false), budget));
    pairs.push_back(Value::tuple({key, value}, &budget));
  }
  std::vector<Value> groups;
  std::vector<Value> members;
  Value keyOfGroup;
  const std::vector<Value> sorted = sortedBy(pairs, keys, false, budget);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const std::vector<Value>& pair = sorted[i].asSequence().items;
    members.push_back(pair[1]);
    keyOfGroup = members.size() == 1 ? pair[0] : keyOfGroup;
    const bool isLast =
        i + 1 == sorted.size() ||
        !equals(foldedKey(pair[0], bound.boolean(2, false), budget),
                foldedKey(sorted[i + 1].asSequence().items[0], bound.boolean(2, false), budget), budget);
    if (!isLast) continue;
    groups.push_back(Value::tuple({keyOfGroup, interpreter.list(std::exchange(members, {}))}, &budget));
  }
  return interpreter.list(std::move(groups));
}

template <bool kWantsLargest>
Value extreme(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const BoundArguments bound(kWantsLargest ? "max" : "min", arguments, {"case_sensitive", "attribute"});
  Budget& budget = interpreter.budget();
  std::optional<Value> best;
  Value bestKey;
  const bool hasAttribute = bound.has(1) && !bound.get(1).is(Kind::None);
  for (const Value& value : itemsOf(interpreter, input)) {
    const Value key = foldedKey(hasAttribute ? attributePath(value, bound.get(1), budget) : value,
                                bound.boolean(0, false), budget);
    if (best && !(kWantsLargest ? isLess(bestKey, key, budget) : isLess(key, bestKey, budget))) continue;
    best = value;
    bestKey = key;
  }
  return best ? *best : Value::undefined("No aggregated item, sequence was empty.");
}

Value sum(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const BoundArguments bound("sum", arguments, {"attribute", "start"});
  Budget& budget = interpreter.budget();
  Value total = bound.has(1) ? bound.get(1) : Value::integer(0);
  for (const Value& value : itemsOf(interpreter, input)) {
    const bool hasAttribute = bound.has(0) && !bound.get(0).is(Kind::None);
    total = binary(ExpressionKind::Add, total,
                   hasAttribute ? attributePath(value, bound.get(0), budget) : value, budget);
  }
  return total;
}

Value batch(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const BoundArguments bound("batch", arguments, {"linecount", "fill_with"});
  bound.require(0);
  const std::int64_t size = bound.integer(0, 1);
  if (size < 1 || size > 100'000) fail("batch() needs a size from 1 to 100000");
  std::vector<Value> rows;
  std::vector<Value> row;
  for (const Value& value : itemsOf(interpreter, input)) {
    row.push_back(value);
    if (static_cast<std::int64_t>(row.size()) == size) rows.push_back(interpreter.list(std::exchange(row, {})));
  }
  if (!row.empty()) {
    if (bound.has(1) && !bound.get(1).is(Kind::None)) row.resize(static_cast<std::size_t>(size), bound.get(1));
    rows.push_back(interpreter.list(std::move(row)));
  }
  return interpreter.generator(std::move(rows));
}

// The arguments behind the first `count`, for the filter or test that select and map call.
Arguments rest(const Arguments& arguments, std::size_t count) {
  Arguments out = arguments;
  const auto end = static_cast<std::ptrdiff_t>(std::min(count, out.positional.size()));
  out.positional.erase(out.positional.begin(), out.positional.begin() + end);
  return out;
}

std::string nameArgument(const Arguments& arguments, std::size_t index, const char* what) {
  if (index >= arguments.positional.size()) fail(fmt::format("{} needs another argument", what));
  const Value& name = requireDefined(arguments.positional[index]);
  if (!name.isString()) fail(fmt::format("{} needs the name of a filter or test", what));
  return std::string(name.asString().view());
}

template <bool kKeepsTrue, bool kHasAttribute>
Value choose(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  constexpr const char* kName = kHasAttribute ? "selectattr()/rejectattr()" : "select()/reject()";
  constexpr std::size_t kNameIndex = kHasAttribute ? 1 : 0;
  if (kHasAttribute && arguments.positional.empty()) fail(fmt::format("{} needs an attribute", kName));
  const bool hasTest = arguments.positional.size() > kNameIndex;
  const std::string name = hasTest ? nameArgument(arguments, kNameIndex, kName) : "";
  const Arguments more = rest(arguments, kNameIndex + 1);
  std::vector<Value> out;
  for (const Value& item : itemsOf(interpreter, input)) {
    const Value value =
        kHasAttribute ? attributePath(item, arguments.positional[0], interpreter.budget()) : item;
    const bool isChosen = hasTest ? interpreter.test(name, value, more) : value.isTrue();
    if (isChosen == kKeepsTrue) out.push_back(item);
  }
  return interpreter.generator(std::move(out));
}

Value map(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  std::vector<Value> out;
  if (arguments.positional.empty()) {
    const BoundArguments bound("map", arguments, {"attribute", "default"});
    const Value& attribute = bound.require(0);
    for (const Value& item : itemsOf(interpreter, input)) {
      const Value value = attributePath(item, attribute, interpreter.budget());
      out.push_back(value.is(Kind::Undefined) && bound.has(1) ? bound.get(1) : value);
    }
    return interpreter.generator(std::move(out));
  }
  const std::string name = nameArgument(arguments, 0, "map()");
  const Arguments more = rest(arguments, 1);
  for (const Value& item : itemsOf(interpreter, input)) out.push_back(interpreter.filter(name, item, more));
  return interpreter.generator(std::move(out));
}

constexpr std::pair<std::string_view, Filter> kFilters[] = {
    {"length", length},
    {"count", length},
    {"first", first},
    {"last", last},
    {"list", toList},
    {"reverse", reverse},
    {"join", join},
    {"default", fallback},
    {"d", fallback},
    {"items", items},
    {"attr", attr},
    {"sort", sort},
    {"dictsort", dictsort},
    {"unique", unique},
    {"groupby", groupby},
    {"min", extreme<false>},
    {"max", extreme<true>},
    {"sum", sum},
    {"batch", batch},
    {"select", choose<true, false>},
    {"reject", choose<false, false>},
    {"selectattr", choose<true, true>},
    {"rejectattr", choose<false, true>},
    {"map", map},
};

}  // namespace

Filter findListFilter(std::string_view name) {
  const auto* found = std::find_if(std::begin(kFilters), std::end(kFilters),
                                   [&](const auto& entry) { return entry.first == name; });
  return found == std::end(kFilters) ? nullptr : found->second;
}

}  // namespace engine::text::jinja
