// The values a template works with: Python's, as far as chat templates can see them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/text/jinja_budget.h"
#include "engine/text/jinja_string.h"

namespace engine::text::jinja {

struct Sequence;
class Dict;
struct Namespace;
struct Callable;
struct LoopState;

// What a shared value costs while it lives. A null budget (constants, the conversation) costs nothing.
class Object {
 public:
  Object(Budget* budget, std::size_t numBytes);
  virtual ~Object();
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

 private:
  Budget* m_budget;
  std::size_t m_numBytes;
};

enum class Kind : std::uint8_t {
  Undefined, None, Bool, Int, Float, String, Sequence, Dict, Namespace, Callable, Loop
};

// A small handle; copies share the object behind. Values are immutable except namespaces, generators
// and loop state, which belong to one render.
class Value {
 public:
  Value() = default;  // None
  static Value undefined(std::string message);  // prints as ""; using it fails with `message`
  static Value boolean(bool value);
  static Value integer(std::int64_t value);
  static Value floating(double value);
  static Value string(String value, Budget* budget = nullptr);
  static Value literal(std::string_view bytes) { return string({std::string(bytes), Origin::Template}); }
  static Value list(std::vector<Value> items, Budget* budget = nullptr);
  static Value tuple(std::vector<Value> items, Budget* budget = nullptr);
  static Value sequence(std::shared_ptr<Sequence> object);
  static Value dict(std::shared_ptr<Dict> object);
  static Value nameSpace(std::shared_ptr<Namespace> object);
  static Value callable(std::shared_ptr<Callable> object);
  static Value loop(std::shared_ptr<LoopState> object);

  Kind kind() const { return m_kind; }
  bool is(Kind kind) const { return m_kind == kind; }
  bool isNumber() const { return is(Kind::Bool) || is(Kind::Int) || is(Kind::Float); }
  bool isIntegral() const { return is(Kind::Bool) || is(Kind::Int); }
  bool isString() const { return is(Kind::String); }

  bool asBool() const { return m_integer != 0; }
  std::int64_t asInt() const { return m_integer; }  // Bool and Int
  double asDouble() const { return is(Kind::Float) ? m_double : static_cast<double>(m_integer); }
  const String& asString() const;
  Sequence& asSequence() const;
  Dict& asDict() const;
  Namespace& asNamespace() const;
  const Callable& asCallable() const;
  LoopState& asLoop() const;
  const std::string& undefinedMessage() const;

  bool isSameObject(const Value& other) const;  // Python's `is`
  bool isTrue() const;                          // Python's bool()
  int depth() const;                            // of nested lists and dicts; 0 for scalars

 private:
  Kind m_kind = Kind::None;
  union {
    std::int64_t m_integer = 0;
    double m_double;
  };
  std::shared_ptr<Object> m_object;
};

enum class SequenceKind : std::uint8_t { List, Tuple, Range, Keys, Values, Items, Generator };

struct Sequence : Object {
  Sequence(SequenceKind sequenceKind, std::vector<Value> values, Budget* budget);

  SequenceKind kind;
  std::vector<Value> items;
  std::size_t numConsumed = 0;  // Generator: what an earlier loop already took
  int depth = 1;
};

// Insertion ordered. Keys are scalars; equal numbers are one key whatever their type.
class Dict : public Object {
 public:
  using Entry = std::pair<Value, Value>;

  Dict(std::vector<Entry> entries, Budget* budget);  // of equal keys the first place, the last value
  ~Dict() override;

  const std::vector<Entry>& entries() const { return m_entries; }
  const Value* find(const Value& key) const;  // null when absent; fails for an unhashable key
  const Value* find(std::string_view key) const;
  int depth() const { return m_depth; }

 private:
  struct Index;
  const Value* findKey(const std::string& key) const;

  std::vector<Entry> m_entries;
  std::unique_ptr<Index> m_index;
  int m_depth = 1;
};

// Scalars by value, as a dict sees them; fails for lists and dicts ("unhashable type: 'list'").
std::string hashKey(const Value& key);

struct Namespace : Object {
  explicit Namespace(Budget* budget) : Object(budget, 96) {}
  std::vector<std::pair<String, Value>> attributes;
};

class Interpreter;

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<String, Value>> named;
};

using Function = std::function<Value(Interpreter&, const Arguments&)>;

struct Callable : Object {
  Callable(std::string callableName, Function call, Budget* budget)
      : Object(budget, 160), name(std::move(callableName)), function(std::move(call)) {}
  int depth = 0;  // of what it is bound to, plus one
  std::string name;
  Function function;
};

// What `loop` shows inside a for.
struct LoopState : Object {
  LoopState(std::vector<Value> values, int nesting, Budget* budget);
  std::vector<Value> items;
  std::size_t index = 0;
  int depth0 = 0;
  int depth = 1;  // of its items, plus one
  std::vector<Value> lastChanged;
  bool hasChanged = false;
  Function recurse;  // empty unless the loop is recursive
};

const char* typeName(const Value& value);  // Python's: "str", "int", "dict", "NoneType"

}  // namespace engine::text::jinja
