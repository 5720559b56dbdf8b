#include "engine/text/jinja_methods.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "engine/text/jinja_arguments.h"
#include "engine/text/jinja_failure.h"
#include "engine/text/jinja_operators.h"
#include "engine/text/jinja_string_methods.h"

namespace engine::text::jinja {

namespace {

constexpr std::string_view kChangingListMethods[] = {"append", "clear",  "pop",  "reverse",
                                                     "insert", "remove", "sort", "extend"};
constexpr std::string_view kChangingDictMethods[] = {"clear", "pop", "popitem", "setdefault", "update"};

template <std::size_t kCount>
bool isAmong(const std::string_view (&names)[kCount], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

Value bindTo(const Value& object, const std::string& name, Function function, Budget& budget) {
  auto bound = std::make_shared<Callable>(name, std::move(function), &budget);
  bound->depth = object.depth() + 1;
  return Value::callable(std::move(bound));
}

Value view(SequenceKind kind, const Dict& dict, Budget& budget) {
  std::vector<Value> items;
  budget.step(dict.entries().size());
  for (const auto& [key, value] : dict.entries()) {
    items.push_back(kind == SequenceKind::Keys     ? key
                    : kind == SequenceKind::Values ? value
                                                   : Value::tuple({key, value}, &budget));
  }
  return Value::sequence(std::make_shared<Sequence>(kind, std::move(items), &budget));
}

Value getFromDict(const Dict& dict, const Arguments& arguments) {
  const BoundArguments bound("get", arguments, {"key", "default"});
  const Value* found = dict.find(bound.require(0));
  return found ? *found : bound.get(1);
}

std::optional<Value> dictMethod(const Value& object, const std::string& name, Budget& budget) {
  if (isAmong(kChangingDictMethods, name)) return unsafeAttribute(object, name);
  if (name == "get") {
    return bindTo(object, name, [object](Interpreter&, const Arguments& a) { return getFromDict(object.asDict(), a); }, budget);
  }
  const auto bindView = [&](SequenceKind kind) {
    Budget* shared = &budget;
    return bindTo(object, name, [object, kind, shared](Interpreter&, const Arguments& arguments) {
      BoundArguments("dict view", arguments, {});
      return view(kind, object.asDict(), *shared);
    }, budget);
  };
  if (name == "items") return bindView(SequenceKind::Items);
  if (name == "keys") return bindView(SequenceKind::Keys);
  if (name == "values") return bindView(SequenceKind::Values);
  if (name == "copy") return bindTo(object, name, [object](Interpreter&, const Arguments&) { return object; }, budget);
  return std::nullopt;
}

Value countIn(const Value& list, const Arguments& arguments, bool wantsIndex, Budget& budget) {
  const BoundArguments bound(wantsIndex ? "index" : "count", arguments, {"value"});
  const Value& wanted = bound.require(0);
  const std::vector<Value>& items = list.asSequence().items;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!equals(items[i], wanted, budget)) continue;
    if (wantsIndex) return Value::integer(static_cast<std::int64_t>(i));
    ++count;
  }
  if (wantsIndex) fail("the value is not in the list");
  return Value::integer(count);
}

std::optional<Value> listMethod(const Value& object, const std::string& name, Budget& budget) {
  const bool isList = object.asSequence().kind == SequenceKind::List;
  if (isList && isAmong(kChangingListMethods, name)) return unsafeAttribute(object, name);
  if (isList && name == "copy") {
    return bindTo(object, name, [object](Interpreter&, const Arguments&) { return object; }, budget);
  }
  if (name != "index" && name != "count") return std::nullopt;
  Budget* shared = &budget;
  return bindTo(object, name, [object, name, shared](Interpreter&, const Arguments& arguments) {
    return countIn(object, arguments, name == "index", *shared);
  }, budget);
}

// A loop that remembered itself (or a macro that knows it) would never be freed.
bool isPlainData(const Value& value, Budget& budget) {
  const DepthGuard guard(budget);
  budget.step();
  const auto isPlain = [&](const Value& item) { return isPlainData(item, budget); };
  if (value.is(Kind::Sequence)) {
    const std::vector<Value>& items = value.asSequence().items;
    return std::all_of(items.begin(), items.end(), isPlain);
  }
  if (value.is(Kind::Dict)) {
    const auto& entries = value.asDict().entries();
    return std::all_of(entries.begin(), entries.end(), [&](const auto& e) { return isPlain(e.second); });
  }
  return !value.is(Kind::Loop) && !value.is(Kind::Callable) && !value.is(Kind::Namespace);
}

Value hasChanged(LoopState& loop, const Arguments& arguments, Budget& budget) {
  const std::vector<Value>& now = arguments.positional;
  for (const Value& value : now) {
    if (!isPlainData(value, budget)) fail("loop.changed() compares plain values only");
  }
  bool isSame = loop.hasChanged && now.size() == loop.lastChanged.size();
  for (std::size_t i = 0; isSame && i < now.size(); ++i) {
    isSame = equals(now[i], loop.lastChanged[i], budget);
  }
  loop.hasChanged = true;
  if (!isSame) loop.lastChanged = now;
  return Value::boolean(!isSame);
}

}  // namespace

Value unsafeAttribute(const Value& object, const std::string& name) {
  return Value::undefined(
      fmt::format("access to attribute '{}' of '{}' object is unsafe.", name, typeName(object)));
}

std::optional<Value> methodOf(const Value& object, const std::string& name, Budget& budget) {
  if (object.is(Kind::Dict)) return dictMethod(object, name, budget);
  if (object.is(Kind::Sequence)) return listMethod(object, name, budget);
  if (!object.isString()) return std::nullopt;
  const StringMethod method = stringMethod(name);
  if (!method) return std::nullopt;
  Budget* shared = &budget;
  return bindTo(object, name, [object, method, shared](Interpreter&, const Arguments& arguments) {
    return method(object.asString(), arguments, *shared);
  }, budget);
}

Value loopMethod(const Value& loop, const std::string& name, Budget& budget) {
  Budget* shared = &budget;
  if (name == "changed") {
    return bindTo(loop, name, [loop, shared](Interpreter&, const Arguments& arguments) {
      return hasChanged(loop.asLoop(), arguments, *shared);
    }, budget);
  }
  return bindTo(loop, name, [loop](Interpreter&, const Arguments& arguments) {
    if (arguments.positional.empty()) fail("no items for cycling given");
    return arguments.positional[loop.asLoop().index % arguments.positional.size()];
  }, budget);
}

}  // namespace engine::text::jinja
