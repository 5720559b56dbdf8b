#include "engine/text/jinja_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/text/jinja_failure.h"
#include "engine/text/jinja_operators.h"
#include "engine/text/jinja_repr.h"
#include "engine/text/jinja_unicode.h"

namespace engine::text::jinja {

namespace {

std::string escapedForJson(char32_t c, bool escapesNonAscii) {
  switch (c) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    case '\f': return "\\f";
    case '\b': return "\\b";
    default: break;
  }
  const auto code = static_cast<std::uint32_t>(c);
  if (code >= 0x20 && (!escapesNonAscii || code < 0x7F)) return {};
  if (code < 0x10000) return fmt::format("\\u{:04x}", code);
  const std::uint32_t rest = code - 0x10000;
  return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
}

class Writer {
 public:
  Writer(const JsonStyle& style, Budget& budget) : m_style(style), m_budget(budget) {}

  void write(const Value& value, int level) {
    const DepthGuard guard(m_budget);
    m_budget.step();
    switch (value.kind()) {
      case Kind::None: return add("null");
      case Kind::Bool: return add(value.asBool() ? "true" : "false");
      case Kind::Int: return add(fmt::format("{}", value.asInt()));
      case Kind::Float: return add(number(value.asDouble()));
      case Kind::String: return writeString(value.asString());
      case Kind::Dict: return writeDict(value.asDict(), level);
      case Kind::Sequence: {
        const SequenceKind kind = value.asSequence().kind;
        if (kind == SequenceKind::List || kind == SequenceKind::Tuple) {
          return writeList(value.asSequence().items, level);
        }
        break;
      }
      default: break;
    }
    fail(fmt::format("Object of type {} is not JSON serializable", typeName(value)));
  }

  String take() { return std::move(m_out); }

 private:
  void add(std::string_view text) {
    m_budget.checkStringSize(m_out.size() + text.size());
    m_out.append(text, Origin::Template);
  }

  void add(const String& text) {
    m_budget.checkStringSize(m_out.size() + text.size());
    m_out.append(text);
  }

  static std::string number(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
    return floatText(value);
  }

  void writeString(const String& text) {
    m_budget.read(2 * text.size());
    m_budget.checkStringSize(m_out.size() + text.size());
    add("\"");
    std::size_t plain = 0;  // first byte not written yet
    for (std::size_t i = 0; i < text.size();) {
      const CodePoint c = codePointAt(text.view(), i);
      const std::size_t end = i + c.length;
      if (const std::string escaped = escapedForJson(c.value, m_style.escapesNonAscii); !escaped.empty()) {
        m_out.appendSlice(text, plain, i);
        m_out.append(escaped, text.originOf(i, end));
        plain = end;
      }
      i = end;
    }
    m_out.appendSlice(text, plain, text.size());
    add("\"");
  }

  void newLine(int level) {
    if (!m_style.isIndented) return;
    add("\n");
    for (int i = 0; i < level; ++i) add(m_style.indent);
  }

  void writeList(const std::vector<Value>& items, int level) {
    if (items.empty()) return add("[]");
    add("[");
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) add(m_style.itemSeparator);
      newLine(level + 1);
      write(items[i], level + 1);
    }
    newLine(level);
    add("]");
  }

  void writeDict(const Dict& dict, int level) {
    std::vector<const Dict::Entry*> entries;
    for (const Dict::Entry& entry : dict.entries()) entries.push_back(&entry);
    if (m_style.sortsKeys) {
      std::stable_sort(entries.begin(), entries.end(), [&](const auto* a, const auto* b) {
        return isLess(a->first, b->first, m_budget);
      });
    }
    if (entries.empty()) return add("{}");
    add("{");
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) add(m_style.itemSeparator);
      newLine(level + 1);
      writeKey(entries[i]->first);
      add(m_style.keySeparator);
      write(entries[i]->second, level + 1);
    }
    newLine(level);
    add("}");
  }

  // JSON keys are strings: Python turns scalars into them.
  void writeKey(const Value& key) {
    if (key.isString()) return writeString(key.asString());
    add("\"");
    write(key, 0);
    add("\"");
  }

  const JsonStyle& m_style;
  Budget& m_budget;
  String m_out;
};

// Receives the JSON reader's events; an open array or object waits on the stack for its items.
class Reader : public nlohmann::json_sax<nlohmann::json> {
 public:
  Reader(Origin origin, Budget* budget) : m_origin(origin), m_budget(budget) {}

  bool null() override { return add(Value()); }
  bool boolean(bool value) override { return add(Value::boolean(value)); }
  bool number_integer(number_integer_t value) override { return add(Value::integer(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    // Whole numbers above 2^63-1 have no exact form here; a rounded one would be silently wrong.
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) {
      return refuse(fmt::format("the whole number {} is above {}", value,
                                std::numeric_limits<std::int64_t>::max()));
    }
    return add(Value::integer(static_cast<std::int64_t>(value)));
  }
  bool number_float(number_float_t value, const string_t&) override { return add(Value::floating(value)); }
  bool string(string_t& value) override {
    return add(Value::string({std::move(value), m_origin}, m_budget));
  }
  bool binary(binary_t&) override { return refuse("binary data"); }
  bool key(string_t& value) override {
    m_open.back().keys.push_back(Value::string({std::move(value), m_origin}, m_budget));
    return true;
  }
  bool start_object(std::size_t) override { return open(true); }
  bool start_array(std::size_t) override { return open(false); }
  bool end_object() override {
    Level level = std::move(m_open.back());
    m_open.pop_back();
    std::vector<Dict::Entry> entries;
    for (std::size_t i = 0; i < level.items.size(); ++i) {
      entries.emplace_back(std::move(level.keys[i]), std::move(level.items[i]));
    }
    return add(Value::dict(std::make_shared<Dict>(std::move(entries), m_budget)));
  }
  bool end_array() override {
    Level level = std::move(m_open.back());
    m_open.pop_back();
    return add(Value::list(std::move(level.items), m_budget));
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return refuse(fmt::format("it is not valid JSON at byte {}", position));
  }

  Value take() { return std::move(m_result); }
  const std::string& error() const { return m_error; }

 private:
  struct Level {
    bool isObject = false;
    std::vector<Value> keys;
    std::vector<Value> items;
  };
  static constexpr std::size_t kMaxDepth = 90;  // below Limits::valueDepth

  bool add(Value value) {
    if (m_open.empty()) {
      m_result = std::move(value);
    } else {
      m_open.back().items.push_back(std::move(value));
    }
    return true;
  }

  bool open(bool isObject) {
    if (m_open.size() >= kMaxDepth) return refuse(fmt::format("it nests more than {} levels deep", kMaxDepth));
    m_open.push_back({isObject, {}, {}});
    return true;
  }

  bool refuse(std::string message) {
    if (m_error.empty()) m_error = std::move(message);
    return false;
  }

  Origin m_origin;
  Budget* m_budget;
  std::vector<Level> m_open;
  Value m_result;
  std::string m_error;
};

}  // namespace

String toJson(const Value& value, const JsonStyle& style, Budget& budget) {
  Writer writer(style, budget);
  writer.write(value, 0);
  return writer.take();
}

Result<Value> parseJson(std::string_view text, Origin origin, Budget* budget) {
  Reader reader(origin, budget);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &reader)) {
    return Error{ErrorCode::InvalidArgument, reader.error()};
  }
  return reader.take();
}

}  // namespace engine::text::jinja
