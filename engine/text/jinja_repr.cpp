#include "engine/text/jinja_repr.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "engine/text/jinja_failure.h"
#include "engine/text/jinja_unicode.h"

namespace engine::text::jinja {

namespace {

std::string escapedCodePoint(char32_t c, char quote) {
  if (c == static_cast<char32_t>(quote)) return {'\\', quote};
  switch (c) {
    case '\\': return "\\\\";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: break;
  }
  if (isPrintable(c)) return {};
  const auto code = static_cast<std::uint32_t>(c);
  if (c < 0x100) return fmt::format("\\x{:02x}", code);
  return c < 0x10000 ? fmt::format("\\u{:04x}", code) : fmt::format("\\U{:08x}", code);
}

class Printer {
 public:
  explicit Printer(Budget& budget) : m_budget(budget) {}

  void write(const Value& value) {
    const DepthGuard guard(m_budget);
    m_budget.step();
    switch (value.kind()) {
      case Kind::Undefined: return add("Undefined");
      case Kind::None: return add("None");
      case Kind::Bool: return add(value.asBool() ? "True" : "False");
      case Kind::Int: return add(fmt::format("{}", value.asInt()));
      case Kind::Float: return add(floatText(value.asDouble()));
      case Kind::String: return writeString(value.asString());
      case Kind::Sequence: return writeSequence(value.asSequence());
      case Kind::Dict: return writeDict(value.asDict());
      case Kind::Namespace: return writeNamespace(value.asNamespace());
      case Kind::Callable: return add(fmt::format("<Macro '{}'>", value.asCallable().name));
      case Kind::Loop:
        return add(fmt::format("<LoopContext {}/{}>", value.asLoop().index + 1,
                               value.asLoop().items.size()));
    }
  }

  String take() { return std::move(m_out); }

 private:
  void add(std::string_view text) {
    m_budget.checkStringSize(m_out.size() + text.size());
    m_out.append(text, Origin::Template);
  }

  void writeString(const String& text) {
    m_budget.read(text.size());
    m_budget.checkStringSize(m_out.size() + text.size());
    const std::string_view bytes = text.view();
    const bool hasSingle = bytes.find('\'') != std::string_view::npos;
    const char quote = hasSingle && bytes.find('"') == std::string_view::npos ? '"' : '\'';
    add(std::string_view(&quote, 1));
    std::size_t plain = 0;  // first byte not written yet
    for (std::size_t i = 0; i < bytes.size();) {
      const CodePoint c = codePointAt(bytes, i);
      if (const std::string escaped = escapedCodePoint(c.value, quote); !escaped.empty()) {
        m_out.appendSlice(text, plain, i);
        m_out.append(escaped, text.originOf(i, i + c.length));
        plain = i + c.length;
      }
      i += c.length;
    }
    m_out.appendSlice(text, plain, bytes.size());
    add(std::string_view(&quote, 1));
  }

  void writeItems(const std::vector<Value>& items, std::string_view open, std::string_view close) {
    add(open);
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) add(", ");
      write(items[i]);
    }
    add(close);
  }

  void writeSequence(const Sequence& sequence) {
    switch (sequence.kind) {
      case SequenceKind::List: return writeItems(sequence.items, "[", "]");
      case SequenceKind::Tuple: return writeItems(sequence.items, "(", sequence.items.size() == 1 ? ",)" : ")");
      case SequenceKind::Range: return writeRange(sequence.items);
      case SequenceKind::Keys: return writeItems(sequence.items, "dict_keys([", "])");
      case SequenceKind::Values: return writeItems(sequence.items, "dict_values([", "])");
      case SequenceKind::Items: return writeItems(sequence.items, "dict_items([", "])");
      case SequenceKind::Generator: fail("a generator is printed; it needs the filter 'list' or 'join' first");
    }
  }

  void writeRange(const std::vector<Value>& items) {
    const std::int64_t first = items.empty() ? 0 : items.front().asInt();
    const std::int64_t step = items.size() > 1 ? items[1].asInt() - first : 1;
    const std::int64_t end = items.empty() ? 0 : items.back().asInt() + (step > 0 ? 1 : -1);
    add(step == 1 ? fmt::format("range({}, {})", first, end)
                  : fmt::format("range({}, {}, {})", first, end, step));
  }

  void writeDict(const Dict& dict) {
    add("{");
    bool isFirst = true;
    for (const auto& [key, value] : dict.entries()) {
      if (!isFirst) add(", ");
      isFirst = false;
      write(key);
      add(": ");
      write(value);
    }
    add("}");
  }

  void writeNamespace(const Namespace& space) {
    add("<Namespace {");
    bool isFirst = true;
    for (const auto& [key, value] : space.attributes) {
      if (!isFirst) add(", ");
      isFirst = false;
      writeString(key);
      add(": ");
      write(value);
    }
    add("}>");
  }

  Budget& m_budget;
  String m_out;
};

}  // namespace

String toText(const Value& value, Budget& budget) {
  if (value.isString()) return value.asString();
  if (value.is(Kind::Undefined)) return {};
  return toRepr(value, budget);
}

String toRepr(const Value& value, Budget& budget) {
  Printer printer(budget);
  printer.write(value);
  return printer.take();
}

std::string floatText(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[64];
  const double magnitude = std::fabs(value);
  const bool isFixed = value == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  const auto format = isFixed ? std::chars_format::fixed : std::chars_format::scientific;
  const auto result = std::to_chars(buffer, buffer + sizeof(buffer), value, format);
  std::string text(buffer, result.ptr);
  if (isFixed && text.find('.') == std::string::npos) text += ".0";
  return text;
}

}  // namespace engine::text::jinja
