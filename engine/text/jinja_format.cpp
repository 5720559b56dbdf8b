#include "engine/text/jinja_format.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/text/jinja_failure.h"
#include "engine/text/jinja_repr.h"
#include "engine/text/jinja_unicode.h"

namespace engine::text::jinja {

namespace {

constexpr int kMaxWidth = 1000;

struct Field {
  std::string name;  // of %(name)s
  bool isLeft = false, hasSign = false, hasZeros = false, isAlternate = false, hasSpace = false;
  int width = 0;
  int precision = -1;
  char conversion = 0;
};

class PercentFormatter {
 public:
  PercentFormatter(const String& pattern, const Value& values, Budget& budget)
      : m_pattern(pattern), m_values(values), m_budget(budget) {}

  String run() {
    const std::string_view text = m_pattern.view();
    m_budget.read(text.size());
    while (m_position < text.size()) {
      const std::size_t percent = std::min(text.find('%', m_position), text.size());
      m_out.appendSlice(m_pattern, m_position, percent);
      m_position = percent + 1;
      if (percent < text.size()) writeField();
      m_budget.checkStringSize(m_out.size());
    }
    checkAllUsed();
    return std::move(m_out);
  }

 private:
  char peek() const {
    return m_position < m_pattern.size() ? m_pattern.view()[m_position] : '\0';
  }

  int readNumber() {
    int number = 0;
    while (peek() >= '0' && peek() <= '9') {
      number = number * 10 + (peek() - '0');
      if (number > kMaxWidth) fail(fmt::format("a format width is above {}", kMaxWidth));
      ++m_position;
    }
    return number;
  }

  Field readField() {
    Field field;
    if (peek() == '(') {
      const std::size_t close = m_pattern.view().find(')', m_position);
      if (close == std::string_view::npos) fail("incomplete format key");
      field.name = std::string(m_pattern.view().substr(m_position + 1, close - m_position - 1));
      m_position = close + 1;
    }
    for (;; ++m_position) {
      if (peek() == '-') field.isLeft = true;
      else if (peek() == '+') field.hasSign = true;
      else if (peek() == '0') field.hasZeros = true;
      else if (peek() == '#') field.isAlternate = true;
      else if (peek() == ' ') field.hasSpace = true;
      else break;
    }
    field.width = readNumber();
    if (peek() == '.') {
      ++m_position;
      field.precision = readNumber();
    }
    if (m_position >= m_pattern.size()) fail("incomplete format");
    field.conversion = m_pattern.view()[m_position++];
    return field;
  }

  Value nextValue(const Field& field) {
    if (!field.name.empty()) {
      if (!m_values.is(Kind::Dict)) fail("format requires a mapping");
      const Value* found = m_values.asDict().find(std::string_view(field.name));
      if (!found) fail(fmt::format("a format names the missing key '{}'", field.name));
      m_hasNames = true;
      return *found;
    }
    const bool isTuple =
        m_values.is(Kind::Sequence) && m_values.asSequence().kind == SequenceKind::Tuple;
    const std::size_t count = isTuple ? m_values.asSequence().items.size() : 1;
    if (m_numUsed >= count) fail("not enough arguments for format string");
    ++m_numUsed;
    return isTuple ? m_values.asSequence().items[m_numUsed - 1] : m_values;
  }

  void checkAllUsed() const {
    const bool isTuple =
        m_values.is(Kind::Sequence) && m_values.asSequence().kind == SequenceKind::Tuple;
    const std::size_t count = isTuple ? m_values.asSequence().items.size() : 1;
    const bool mayIgnore = m_hasNames || (!isTuple && !m_values.isString() && !m_values.isNumber() &&
                                          !m_values.is(Kind::None));
    if (m_numUsed < count && !mayIgnore) {
      fail("not all arguments converted during string formatting");
    }
  }

  void writeField() {
    const Field field = readField();
    if (field.conversion == '%') return m_out.append("%", Origin::Template);
    const Value value = nextValue(field);
    switch (field.conversion) {
      case 's': return writePadded(field, toText(value, m_budget));
      case 'r': return writePadded(field, toRepr(value, m_budget));
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o': return writeInteger(field, value);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G': return writeFloat(field, value);
      default: fail(fmt::format("unsupported format character '{}'", field.conversion));
    }
  }

  void writePadded(const Field& field, String text) {
    if (field.precision >= 0) {
      text = text.slice(0, byteOffset(text.view(), static_cast<std::size_t>(field.precision)));
    }
    const auto length = static_cast<int>(countCodePoints(text.view()));
    const std::string padding(static_cast<std::size_t>(std::max(0, field.width - length)), ' ');
    if (!field.isLeft) m_out.append(padding, Origin::Template);
    m_out.append(text);
    if (field.isLeft) m_out.append(padding, Origin::Template);
  }

  void writeNumber(const Field& field, bool isNegative, std::string digits) {
    const std::string sign = isNegative ? "-" : field.hasSign ? "+" : field.hasSpace ? " " : "";
    const int missing = field.width - static_cast<int>(digits.size() + sign.size());
    if (field.hasZeros && !field.isLeft && missing > 0) {
      digits.insert(0, static_cast<std::size_t>(missing), '0');
    }
    Field plain = field;
    plain.precision = -1;
    writePadded(plain, {sign + digits, Origin::Template});
  }

  void writeInteger(const Field& field, const Value& value) {
    if (!value.isNumber()) {
      fail(fmt::format("%{} format: a real number is required, not {}", field.conversion, typeName(value)));
    }
    const double real = value.asDouble();
    if (value.is(Kind::Float) && !(std::fabs(real) < 9.2e18)) fail("a number does not fit 64 bits");
    const std::int64_t number = value.isIntegral() ? value.asInt() : static_cast<std::int64_t>(real);
    const auto magnitude = number < 0 ? 0 - static_cast<std::uint64_t>(number)
                                      : static_cast<std::uint64_t>(number);
    std::string digits = field.conversion == 'x'   ? fmt::format("{:x}", magnitude)
                         : field.conversion == 'X' ? fmt::format("{:X}", magnitude)
                         : field.conversion == 'o' ? fmt::format("{:o}", magnitude)
                                                   : fmt::format("{}", magnitude);
    const int missing = field.precision - static_cast<int>(digits.size());
    if (missing > 0) digits.insert(0, static_cast<std::size_t>(missing), '0');
    writeNumber(field, number < 0, std::move(digits));
  }

  void writeFloat(const Field& field, const Value& value) {
    if (!value.isNumber()) fail(fmt::format("must be real number, not {}", typeName(value)));
    const double number = value.asDouble();
    const int precision = field.precision < 0 ? 6 : field.precision;
    const std::string spec = fmt::format("{{:.{}{}}}", precision, field.conversion);
    writeNumber(field, std::signbit(number), fmt::format(fmt::runtime(spec), std::fabs(number)));
  }

  const String& m_pattern;
  const Value& m_values;
  Budget& m_budget;
  String m_out;
  std::size_t m_position = 0;
  std::size_t m_numUsed = 0;
  bool m_hasNames = false;
};

const Value& fieldValue(std::string_view name, const Arguments& arguments, std::size_t& numUsed) {
  const bool isIndex = !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
  if (name.empty() || isIndex) {
    const std::size_t index = name.empty()      ? numUsed++
                              : name.size() > 4 ? arguments.positional.size()
                                                : std::stoul(std::string(name));
    if (index >= arguments.positional.size()) fail("a format asks for more values than there are");
    return arguments.positional[index];
  }
  for (const auto& [key, value] : arguments.named) {
    if (key.view() == name) return value;
  }
  fail(fmt::format("a format names the missing value '{}'", name));
}

}  // namespace

String formatPercent(const String& pattern, const Value& values, Budget& budget) {
  return PercentFormatter(pattern, values, budget).run();
}

String formatBraces(const String& pattern, const Arguments& arguments, Budget& budget) {
  const std::string_view text = pattern.view();
  budget.read(text.size());
  String out;
  std::size_t numUsed = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t brace = std::min(text.find_first_of("{}", i), text.size());
    out.appendSlice(pattern, i, brace);
    if (brace == text.size()) break;
    if (brace + 1 < text.size() && text[brace + 1] == text[brace]) {
      out.appendSlice(pattern, brace, brace + 1);
      i = brace + 2;
      continue;
    }
    const std::size_t close = text.find('}', brace);
    if (text[brace] == '}' || close == std::string_view::npos) fail("a format has a single brace");
    const std::string_view name = text.substr(brace + 1, close - brace - 1);
    if (name.find_first_of(":!.[{") != std::string_view::npos) {
      failUnsupported(fmt::format("the format field '{}' is more than a name", name));
    }
    out.append(toText(fieldValue(name, arguments, numUsed), budget));
    budget.checkStringSize(out.size());
    i = close + 1;
  }
  return out;
}

}  // namespace engine::text::jinja
