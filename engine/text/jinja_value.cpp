#include "engine/text/jinja_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "engine/text/jinja_failure.h"

namespace engine::text::jinja {

namespace {

struct StringObject : Object {
  StringObject(String text, Budget* budget)
      : Object(budget, 96 + text.size()), value(std::move(text)) {}
  String value;
};

struct UndefinedObject : Object {
  explicit UndefinedObject(std::string text) : Object(nullptr, 0), message(std::move(text)) {}
  std::string message;
};

constexpr std::size_t kEntryBytes = 120;
constexpr std::size_t kIndexFrom = 12;  // entries; below, a scan is as quick

// Deep values would overflow the stack of whoever walks (or frees) them later.
void checkDepth(int depth, const Budget* budget) {
  static const Limits kDefaults;
  const int limit = budget ? budget->limits().valueDepth : kDefaults.valueDepth;
  if (depth > limit) fail(fmt::format("it nests values more than {} levels deep", limit));
}

}  // namespace

Object::Object(Budget* budget, std::size_t numBytes) : m_budget(budget), m_numBytes(numBytes) {
  if (m_budget) m_budget->take(m_numBytes);
}

Object::~Object() {
  if (m_budget) m_budget->give(m_numBytes);
}

Value Value::undefined(std::string message) {
  Value out;
  out.m_kind = Kind::Undefined;
  out.m_object = std::make_shared<UndefinedObject>(std::move(message));
  return out;
}

Value Value::boolean(bool value) {
  Value out;
  out.m_kind = Kind::Bool;
  out.m_integer = value ? 1 : 0;
  return out;
}

Value Value::integer(std::int64_t value) {
  Value out;
  out.m_kind = Kind::Int;
  out.m_integer = value;
  return out;
}

Value Value::floating(double value) {
  Value out;
  out.m_kind = Kind::Float;
  out.m_double = value;
  return out;
}

Value Value::string(String value, Budget* budget) {
  if (budget) budget->checkStringSize(value.size());
  Value out;
  out.m_kind = Kind::String;
  out.m_object = std::make_shared<StringObject>(std::move(value), budget);
  return out;
}

Value Value::list(std::vector<Value> items, Budget* budget) {
  return sequence(std::make_shared<Sequence>(SequenceKind::List, std::move(items), budget));
}

Value Value::tuple(std::vector<Value> items, Budget* budget) {
  return sequence(std::make_shared<Sequence>(SequenceKind::Tuple, std::move(items), budget));
}

Value Value::sequence(std::shared_ptr<Sequence> object) {
  Value out;
  out.m_kind = Kind::Sequence;
  out.m_object = std::move(object);
  return out;
}

Value Value::dict(std::shared_ptr<Dict> object) {
  Value out;
  out.m_kind = Kind::Dict;
  out.m_object = std::move(object);
  return out;
}

Value Value::nameSpace(std::shared_ptr<Namespace> object) {
  Value out;
  out.m_kind = Kind::Namespace;
  out.m_object = std::move(object);
  return out;
}

Value Value::callable(std::shared_ptr<Callable> object) {
  Value out;
  out.m_kind = Kind::Callable;
  out.m_object = std::move(object);
  return out;
}

Value Value::loop(std::shared_ptr<LoopState> object) {
  Value out;
  out.m_kind = Kind::Loop;
  out.m_object = std::move(object);
  return out;
}

const String& Value::asString() const { return static_cast<const StringObject&>(*m_object).value; }

Sequence& Value::asSequence() const { return static_cast<Sequence&>(*m_object); }

Dict& Value::asDict() const { return static_cast<Dict&>(*m_object); }

Namespace& Value::asNamespace() const { return static_cast<Namespace&>(*m_object); }

const Callable& Value::asCallable() const { return static_cast<const Callable&>(*m_object); }

LoopState& Value::asLoop() const { return static_cast<LoopState&>(*m_object); }

const std::string& Value::undefinedMessage() const {
  return static_cast<const UndefinedObject&>(*m_object).message;
}

bool Value::isSameObject(const Value& other) const {
  if (m_kind != other.m_kind) return false;
  if (is(Kind::None)) return true;
  if (is(Kind::Float)) return m_double == other.m_double;
  if (isNumber()) return m_integer == other.m_integer;
  if (isString()) return asString().view() == other.asString().view();
  return m_object == other.m_object;
}

bool Value::isTrue() const {
  switch (m_kind) {
    case Kind::Undefined:
    case Kind::None: return false;
    case Kind::Bool:
    case Kind::Int: return m_integer != 0;
    case Kind::Float: return m_double != 0;
    case Kind::String: return !asString().isEmpty();
    case Kind::Sequence:
      return asSequence().kind == SequenceKind::Generator || !asSequence().items.empty();
    case Kind::Dict: return !asDict().entries().empty();
    default: return true;
  }
}

int Value::depth() const {
  if (is(Kind::Sequence)) return asSequence().depth;
  if (is(Kind::Dict)) return asDict().depth();
  if (is(Kind::Callable)) return asCallable().depth;
  return is(Kind::Loop) ? asLoop().depth : 0;
}

Sequence::Sequence(SequenceKind sequenceKind, std::vector<Value> values, Budget* budget)
    : Object(budget, 96 + values.size() * sizeof(Value)), kind(sequenceKind) {
  for (const Value& value : values) depth = std::max(depth, value.depth() + 1);
  checkDepth(depth, budget);
  items = std::move(values);
}

struct Dict::Index {
  std::unordered_map<std::string, std::size_t> places;
};

Dict::Dict(std::vector<Entry> entries, Budget* budget)
    : Object(budget, 128 + entries.size() * kEntryBytes) {
  std::unordered_map<std::string, std::size_t> places;
  for (Entry& entry : entries) {
    m_depth = std::max({m_depth, entry.first.depth() + 1, entry.second.depth() + 1});
    checkDepth(m_depth, budget);
    const auto [place, isNew] = places.try_emplace(hashKey(entry.first), m_entries.size());
    if (isNew) {
      m_entries.push_back(std::move(entry));
    } else {
      m_entries[place->second].second = std::move(entry.second);
    }
  }
  if (m_entries.size() >= kIndexFrom) {
    m_index = std::make_unique<Index>();
    m_index->places = std::move(places);
  }
}

Dict::~Dict() = default;

const Value* Dict::find(const Value& key) const { return findKey(hashKey(key)); }

const Value* Dict::find(std::string_view key) const {
  if (m_index) return findKey("s" + std::string(key));
  for (const Entry& entry : m_entries) {
    if (entry.first.isString() && entry.first.asString().view() == key) return &entry.second;
  }
  return nullptr;
}

const Value* Dict::findKey(const std::string& key) const {
  if (m_index) {
    const auto found = m_index->places.find(key);
    return found == m_index->places.end() ? nullptr : &m_entries[found->second].second;
  }
  for (const Entry& entry : m_entries) {
    if (hashKey(entry.first) == key) return &entry.second;
  }
  return nullptr;
}

std::string hashKey(const Value& key) {
  switch (key.kind()) {
    case Kind::None: return "n";
    case Kind::Bool:
    case Kind::Int: return fmt::format("i{}", key.asInt());
    case Kind::Float: {
      const double value = key.asDouble();
      const bool isWhole = std::nearbyint(value) == value && std::fabs(value) < 9e15;
      return isWhole ? fmt::format("i{}", static_cast<std::int64_t>(value)) : fmt::format("f{}", value);
    }
    case Kind::String: return "s" + std::string(key.asString().view());
    case Kind::Undefined: fail(key.undefinedMessage());
    default: fail(fmt::format("unhashable type: '{}'", typeName(key)));
  }
}

LoopState::LoopState(std::vector<Value> values, int nesting, Budget* budget)
    : Object(budget, 160 + values.size() * sizeof(Value)), depth0(nesting) {
  for (const Value& value : values) depth = std::max(depth, value.depth() + 1);
  checkDepth(depth, budget);
  items = std::move(values);
}

const char* typeName(const Value& value) {
  switch (value.kind()) {
    case Kind::Undefined: return "Undefined";
    case Kind::None: return "NoneType";
    case Kind::Bool: return "bool";
    case Kind::Int: return "int";
    case Kind::Float: return "float";
    case Kind::String: return "str";
    case Kind::Dict: return "dict";
    case Kind::Namespace: return "Namespace";
    case Kind::Callable: return "function";
    case Kind::Loop: return "LoopContext";
    case Kind::Sequence: break;
  }
  switch (value.asSequence().kind) {
    case SequenceKind::List: return "list";
    case SequenceKind::Tuple: return "tuple";
    case SequenceKind::Range: return "range";
    case SequenceKind::Keys: return "dict_keys";
    case SequenceKind::Values: return "dict_values";
    case SequenceKind::Items: return "dict_items";
    case SequenceKind::Generator: return "generator";
  }
  return "object";
}

}  // namespace engine::text::jinja
