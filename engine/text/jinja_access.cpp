#include "engine/text/jinja_access.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "engine/text/jinja_failure.h"
#include "engine/text/jinja_methods.h"
#include "engine/text/jinja_operators.h"
#include "engine/text/jinja_repr.h"
#include "engine/text/jinja_unicode.h"

namespace engine::text::jinja {

namespace {

// How Jinja's messages call an object: "dict object", "None".
std::string describe(const Value& object) {
  return object.is(Kind::None) ? "None" : fmt::format("{} object", typeName(object));
}

Value missingAttribute(const Value& object, const std::string& name) {
  return Value::undefined(fmt::format("'{}' has no attribute '{}'", describe(object), name));
}

Value missingItem(const Value& object, const Value& key, Budget& budget) {
  return Value::undefined(fmt::format("{} has no element {}", describe(object),
                                      toRepr(key, budget).view().substr(0, 200)));
}

Value loopAttribute(const Value& object, const std::string& name, Budget& budget) {
  const LoopState& loop = object.asLoop();
  const auto count = static_cast<std::int64_t>(loop.items.size());
  const auto index = static_cast<std::int64_t>(loop.index);
  if (name == "index") return Value::integer(index + 1);
  if (name == "index0") return Value::integer(index);
  if (name == "revindex") return Value::integer(count - index);
  if (name == "revindex0") return Value::integer(count - index - 1);
  if (name == "first") return Value::boolean(index == 0);
  if (name == "last") return Value::boolean(index + 1 == count);
  if (name == "length") return Value::integer(count);
  if (name == "depth") return Value::integer(loop.depth0 + 1);
  if (name == "depth0") return Value::integer(loop.depth0);
  if (name == "previtem") {
    return index > 0 ? loop.items[loop.index - 1] : Value::undefined("there is no previous item");
  }
  if (name == "nextitem") {
    return index + 1 < count ? loop.items[loop.index + 1] : Value::undefined("there is no next item");
  }
  if (name == "cycle" || name == "changed") return loopMethod(object, name, budget);
  return missingAttribute(object, name);
}

std::optional<Value> characterAt(const String& text, std::int64_t index, Budget& budget) {
  budget.read(text.size());
  const auto count = static_cast<std::int64_t>(countCodePoints(text.view()));
  if (index < 0) index += count;
  if (index < 0 || index >= count) return std::nullopt;
  const std::size_t begin = byteOffset(text.view(), static_cast<std::size_t>(index));
  const std::size_t end = begin + codePointAt(text.view(), begin).length;
  return Value::string(text.slice(begin, end), &budget);
}

std::optional<Value> elementAt(const Sequence& sequence, std::int64_t index) {
  const bool isIndexable = sequence.kind == SequenceKind::List || sequence.kind == SequenceKind::Tuple ||
                           sequence.kind == SequenceKind::Range;
  const auto count = static_cast<std::int64_t>(sequence.items.size());
  if (index < 0) index += count;
  if (!isIndexable || index < 0 || index >= count) return std::nullopt;
  return sequence.items[static_cast<std::size_t>(index)];
}

std::optional<std::int64_t> boundOf(const Value& bound) {
  if (bound.is(Kind::None)) return std::nullopt;
  requireDefined(bound);
  if (!bound.isIntegral()) fail("slice indices must be integers or None");
  return bound.asInt();
}

// The positions that start:stop:step names in a sequence of `count`.
std::vector<std::size_t> slicePositions(std::int64_t count, const Value& start, const Value& stop,
                                        const Value& step, Budget& budget) {
  const std::int64_t stride = boundOf(step).value_or(1);
  if (stride == 0) fail("slice step cannot be zero");
  const std::int64_t lowest = stride > 0 ? 0 : -1;
  const std::int64_t highest = stride > 0 ? count : count - 1;
  const auto place = [&](const Value& bound, std::int64_t fallback) {
    const auto value = boundOf(bound);
    if (!value) return fallback;
    const std::int64_t absolute = *value < 0 ? std::max(*value, -count - 1) + count : *value;
    return std::clamp(absolute, lowest, highest);
  };
  const std::int64_t first = place(start, stride > 0 ? lowest : highest);
  const std::int64_t last = place(stop, stride > 0 ? highest : lowest);
  const std::int64_t move = std::clamp<std::int64_t>(stride, -count - 1, count + 1);
  std::vector<std::size_t> out;
  for (std::int64_t i = first; move > 0 ? i < last : i > last; i += move) {
    out.push_back(static_cast<std::size_t>(i));
  }
  budget.step(1 + out.size() / 8);
  return out;
}

Value sliceString(const String& text, const std::vector<std::size_t>& positions,
                  const std::vector<std::size_t>& offsets, Budget& budget) {
  String out;
  for (std::size_t i = 0; i < positions.size();) {
    std::size_t j = i + 1;  // neighbours are copied in one piece
    while (j < positions.size() && positions[j] == positions[j - 1] + 1) ++j;
    out.appendSlice(text, offsets[positions[i]], offsets[positions[j - 1] + 1]);
    i = j;
  }
  return Value::string(std::move(out), &budget);
}

}  // namespace

Value attributeOf(const Value& object, const std::string& name, Budget& budget) {
  budget.step();
  requireDefined(object);
  if (object.is(Kind::Loop)) return loopAttribute(object, name, budget);
  if (object.is(Kind::Namespace)) {
    for (const auto& [key, value] : object.asNamespace().attributes) {
      if (key.view() == name) return value;
    }
    return missingAttribute(object, name);
  }
  if (object.is(Kind::Callable) && name == "name") return Value::literal(object.asCallable().name);
  if (std::optional<Value> method = methodOf(object, name, budget)) return *method;
  if (object.is(Kind::Dict)) {
    if (const Value* found = object.asDict().find(std::string_view(name))) return *found;
  }
  const bool isInternal = name.size() > 4 && name.starts_with("__") && name.ends_with("__");
  if (isInternal) return unsafeAttribute(object, name);
  return missingAttribute(object, name);
}

Value itemOf(const Value& object, const Value& key, Budget& budget) {
  budget.step();
  requireDefined(object);
  std::optional<Value> found;
  if (object.isString() && key.isIntegral()) {
    found = characterAt(object.asString(), key.asInt(), budget);
  } else if (object.is(Kind::Sequence) && key.isIntegral()) {
    found = elementAt(object.asSequence(), key.asInt());
  } else if (object.is(Kind::Dict) && !key.is(Kind::Sequence) && !key.is(Kind::Dict)) {
    if (const Value* value = object.asDict().find(requireDefined(key))) found = *value;
  }
  if (found) return *found;
  if (key.isString()) {
    return attributeOf(object, std::string(key.asString().view()), budget);
  }
  return missingItem(object, key, budget);
}

Value sliceOf(const Value& object, const Value& start, const Value& stop, const Value& step, Budget& budget) {
  requireDefined(object);
  if (object.isString()) {
    const String& text = object.asString();
    budget.read(text.size());
    std::vector<std::size_t> offsets;  // of every character, and the end
    for (std::size_t i = 0; i < text.size(); i += codePointAt(text.view(), i).length) offsets.push_back(i);
    const auto count = static_cast<std::int64_t>(offsets.size());
    offsets.push_back(text.size());
    return sliceString(text, slicePositions(count, start, stop, step, budget), offsets, budget);
  }
  const bool isSliceable = object.is(Kind::Sequence) && (object.asSequence().kind == SequenceKind::List ||
                                                         object.asSequence().kind == SequenceKind::Tuple ||
                                                         object.asSequence().kind == SequenceKind::Range);
  if (!isSliceable) return Value::undefined(fmt::format("{} cannot be sliced", describe(object)));
  const Sequence& sequence = object.asSequence();
  std::vector<Value> items;
  const auto count = static_cast<std::int64_t>(sequence.items.size());
  for (const std::size_t i : slicePositions(count, start, stop, step, budget)) {
    items.push_back(sequence.items[i]);
  }
  return Value::sequence(std::make_shared<Sequence>(sequence.kind, std::move(items), &budget));
}

}  // namespace engine::text::jinja
