#include "engine/text/jinja_operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/text/jinja_failure.h"
#include "engine/text/jinja_format.h"
#include "engine/text/jinja_unicode.h"

namespace engine::text::jinja {

namespace {

std::vector<Value> characters(const String& text, Budget& budget) {
  std::vector<Value> out;
  for (std::size_t i = 0; i < text.size();) {
    budget.step();
    const std::size_t end = i + codePointAt(text.view(), i).length;
    out.push_back(Value::string(text.slice(i, end), &budget));
    i = end;
  }
  return out;
}

bool equalSequences(const Sequence& left, const Sequence& right, Budget& budget) {
  if (&left == &right) return true;
  if (left.kind != right.kind || left.items.size() != right.items.size()) return false;
  for (std::size_t i = 0; i < left.items.size(); ++i) {
    if (!equals(left.items[i], right.items[i], budget)) return false;
  }
  return true;
}

bool equalDicts(const Dict& left, const Dict& right, Budget& budget) {
  if (&left == &right) return true;
  if (left.entries().size() != right.entries().size()) return false;
  for (const auto& [key, value] : left.entries()) {
    const Value* other = right.find(key);
    if (!other || !equals(value, *other, budget)) return false;
  }
  return true;
}

bool isOrderedSequence(const Value& value) {
  return value.is(Kind::Sequence) && (value.asSequence().kind == SequenceKind::List ||
                                      value.asSequence().kind == SequenceKind::Tuple);
}

bool isLessSequence(const Sequence& left, const Sequence& right, Budget& budget) {
  const std::size_t count = std::min(left.items.size(), right.items.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (!equals(left.items[i], right.items[i], budget)) {
      return isLess(left.items[i], right.items[i], budget);
    }
  }
  return left.items.size() < right.items.size();
}

const char* symbolOf(ExpressionKind kind) {
  switch (kind) {
    case ExpressionKind::Add: return "+";
    case ExpressionKind::Subtract: return "-";
    case ExpressionKind::Multiply: return "*";
    case ExpressionKind::Divide: return "/";
    case ExpressionKind::FloorDivide: return "//";
    case ExpressionKind::Modulo: return "%";
    default: return "** or pow()";
  }
}

[[noreturn]] void failOperands(ExpressionKind kind, const Value& left, const Value& right) {
  fail(fmt::format("unsupported operand type(s) for {}: '{}' and '{}'", symbolOf(kind),
                   typeName(left), typeName(right)));
}

// `result` is read after the operation that reports the overflow, so it comes by reference.
Value checked(bool hasOverflowed, const std::int64_t& result) {
  if (hasOverflowed) fail("a whole number does not fit 64 bits");
  return Value::integer(result);
}

Value powerOf(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) fail("0 cannot be raised to a negative power");
    return Value::floating(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  std::int64_t result = 1;
  bool hasOverflowed = false;
  if (base == 0 || base == 1) return Value::integer(exponent == 0 ? 1 : base);
  if (base == -1) return Value::integer(exponent % 2 == 0 ? 1 : -1);
  for (; exponent > 0 && !hasOverflowed; --exponent) {
    hasOverflowed = __builtin_mul_overflow(result, base, &result);
  }
  return checked(hasOverflowed, result);
}

Value integerArithmetic(ExpressionKind kind, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  const bool isDivision = kind == ExpressionKind::Divide || kind == ExpressionKind::FloorDivide ||
                          kind == ExpressionKind::Modulo;
  if (isDivision && b == 0) fail("division by zero");
  switch (kind) {
    case ExpressionKind::Add: return checked(__builtin_add_overflow(a, b, &result), result);
    case ExpressionKind::Subtract: return checked(__builtin_sub_overflow(a, b, &result), result);
    case ExpressionKind::Multiply: return checked(__builtin_mul_overflow(a, b, &result), result);
    case ExpressionKind::Divide: return Value::floating(static_cast<double>(a) / static_cast<double>(b));
    case ExpressionKind::Power: return powerOf(a, b);
    default: break;
  }
  if (b == -1) {  // the only division that can overflow
    if (kind == ExpressionKind::Modulo) return Value::integer(0);
    return checked(__builtin_sub_overflow(std::int64_t{0}, a, &result), result);
  }
  const bool isRoundedUp = a % b != 0 && (a < 0) != (b < 0);  // Python rounds down
  if (kind == ExpressionKind::Modulo) return Value::integer(a % b + (isRoundedUp ? b : 0));
  return Value::integer(a / b - (isRoundedUp ? 1 : 0));
}

Value floatArithmetic(ExpressionKind kind, double a, double b) {
  const bool isDivision = kind == ExpressionKind::Divide || kind == ExpressionKind::FloorDivide ||
                          kind == ExpressionKind::Modulo;
  if (isDivision && b == 0) fail("float division by zero");
  switch (kind) {
    case ExpressionKind::Add: return Value::floating(a + b);
    case ExpressionKind::Subtract: return Value::floating(a - b);
    case ExpressionKind::Multiply: return Value::floating(a * b);
    case ExpressionKind::Divide: return Value::floating(a / b);
    case ExpressionKind::Power: return Value::floating(std::pow(a, b));
    case ExpressionKind::FloorDivide: return Value::floating(std::floor(a / b));
    default: break;
  }
  const double rest = std::fmod(a, b);
  return Value::floating(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}

Value repeat(const Value& value, std::int64_t count, Budget& budget) {
  const std::size_t times = count > 0 ? static_cast<std::size_t>(count) : 0;
  if (value.isString()) {
    const String& text = value.asString();
    if (text.size() > 0 && times > budget.limits().stringBytes / text.size()) {
      budget.checkStringSize(budget.limits().stringBytes + 1);
    }
    budget.copy(text.size() * times);
    String out;
    for (std::size_t i = 0; i < (text.isEmpty() ? 0 : times); ++i) out.append(text);
    return Value::string(std::move(out), &budget);
  }
  const std::vector<Value>& items = value.asSequence().items;
  std::vector<Value> out;
  for (std::size_t i = 0; i < (items.empty() ? 0 : times); ++i) {
    budget.step(items.size());
    if (out.size() > budget.limits().liveBytes / sizeof(Value)) budget.take(budget.limits().liveBytes);
    out.insert(out.end(), items.begin(), items.end());
  }
  return Value::sequence(std::make_shared<Sequence>(value.asSequence().kind, std::move(out), &budget));
}

Value addSequences(const Value& left, const Value& right, Budget& budget) {
  std::vector<Value> out = left.asSequence().items;
  const std::vector<Value>& tail = right.asSequence().items;
  budget.step(1 + (out.size() + tail.size()) / 2);
  out.insert(out.end(), tail.begin(), tail.end());
  return Value::sequence(std::make_shared<Sequence>(left.asSequence().kind, std::move(out), &budget));
}

Value addStrings(const String& left, const String& right, Budget& budget) {
  budget.copy(left.size() + right.size());
  budget.checkStringSize(left.size() + right.size());
  String out = left;
  out.append(right);
  return Value::string(std::move(out), &budget);
}

}  // namespace

const Value& requireDefined(const Value& value) {
  if (value.is(Kind::Undefined)) fail(value.undefinedMessage());
  return value;
}

std::vector<Value> iterate(const Value& value, Budget& budget) {
  switch (value.kind()) {
    case Kind::Undefined: return {};
    case Kind::String: return characters(value.asString(), budget);
    case Kind::Dict: {
      std::vector<Value> keys;
      for (const auto& entry : value.asDict().entries()) keys.push_back(entry.first);
      budget.step(keys.size());
      return keys;
    }
    case Kind::Sequence: {
      Sequence& sequence = value.asSequence();
      budget.step(sequence.items.size());
      if (sequence.kind != SequenceKind::Generator) return sequence.items;
      if (sequence.numConsumed > 0) return {};
      sequence.numConsumed = sequence.items.size() + 1;
      return sequence.items;
    }
    default: fail(fmt::format("'{}' object is not iterable", typeName(value)));
  }
}

std::size_t lengthOf(const Value& value) {
  switch (value.kind()) {
    case Kind::Undefined: return 0;
    case Kind::String: return countCodePoints(value.asString().view());
    case Kind::Dict: return value.asDict().entries().size();
    case Kind::Loop: return value.asLoop().items.size();
    case Kind::Sequence:
      if (value.asSequence().kind != SequenceKind::Generator) return value.asSequence().items.size();
      break;
    default: break;
  }
  fail(fmt::format("object of type '{}' has no len()", typeName(value)));
}

bool equals(const Value& left, const Value& right, Budget& budget) {
  const DepthGuard guard(budget);
  budget.step();
  if (left.isNumber() && right.isNumber()) {
    if (left.isIntegral() && right.isIntegral()) return left.asInt() == right.asInt();
    return left.asDouble() == right.asDouble();
  }
  if (left.kind() != right.kind()) return false;
  switch (left.kind()) {
    case Kind::Undefined:
    case Kind::None: return true;
    case Kind::String:
      budget.copy(std::min(left.asString().size(), right.asString().size()));
      return left.asString().view() == right.asString().view();
    case Kind::Sequence: return equalSequences(left.asSequence(), right.asSequence(), budget);
    case Kind::Dict: return equalDicts(left.asDict(), right.asDict(), budget);
    default: return left.isSameObject(right);
  }
}

bool isLess(const Value& left, const Value& right, Budget& budget) {
  const DepthGuard guard(budget);
  budget.step();
  requireDefined(left);
  requireDefined(right);
  if (left.isIntegral() && right.isIntegral()) return left.asInt() < right.asInt();
  if (left.isNumber() && right.isNumber()) return left.asDouble() < right.asDouble();
  if (left.isString() && right.isString()) {
    budget.copy(std::min(left.asString().size(), right.asString().size()));
    return left.asString().view() < right.asString().view();  // UTF-8 sorts as its code points do
  }
  if (isOrderedSequence(left) && isOrderedSequence(right) &&
      left.asSequence().kind == right.asSequence().kind) {
    return isLessSequence(left.asSequence(), right.asSequence(), budget);
  }
  fail(fmt::format("'<' not supported between instances of '{}' and '{}'", typeName(left),
                   typeName(right)));
}

std::size_t findBytes(std::string_view text, std::string_view needle, std::size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (needle.empty()) return from;
  const void* found = memmem(text.data() + from, text.size() - from, needle.data(), needle.size());
  if (!found) return std::string_view::npos;
  return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

bool contains(const Value& container, const Value& item, Budget& budget) {
  switch (container.kind()) {
    case Kind::String: {
      if (!requireDefined(item).isString()) {
        fail(fmt::format("'in <string>' requires string as left operand, not {}", typeName(item)));
      }
      const std::string_view text = container.asString().view();
      budget.read(text.size() + item.asString().size());
      return findBytes(text, item.asString().view(), 0) != std::string_view::npos;
    }
    case Kind::Dict:
      if (item.isString()) budget.copy(item.asString().size());
      return container.asDict().find(item) != nullptr;
    case Kind::Undefined:
    case Kind::Sequence: {
      const std::vector<Value> items = iterate(container, budget);
      return std::any_of(items.begin(), items.end(),
                         [&](const Value& value) { return equals(value, item, budget); });
    }
    default: fail(fmt::format("argument of type '{}' is not iterable", typeName(container)));
  }
}

bool compare(Comparison comparison, const Value& left, const Value& right, Budget& budget) {
  switch (comparison) {
    case Comparison::Equal: return equals(left, right, budget);
    case Comparison::NotEqual: return !equals(left, right, budget);
    case Comparison::Less: return isLess(left, right, budget);
    case Comparison::Greater: return isLess(right, left, budget);
    case Comparison::LessEqual: return isLess(left, right, budget) || equals(left, right, budget);
    case Comparison::GreaterEqual: return isLess(right, left, budget) || equals(left, right, budget);
    case Comparison::In: return contains(right, left, budget);
    case Comparison::NotIn: return !contains(right, left, budget);
  }
  return false;
}

Value binary(ExpressionKind kind, const Value& left, const Value& right, Budget& budget) {
  budget.step();
  requireDefined(left);
  if (kind == ExpressionKind::Modulo && left.isString()) {
    return Value::string(formatPercent(left.asString(), right, budget), &budget);
  }
  requireDefined(right);
  if (left.isIntegral() && right.isIntegral()) {
    return integerArithmetic(kind, left.asInt(), right.asInt());
  }
  if (left.isNumber() && right.isNumber()) {
    return floatArithmetic(kind, left.asDouble(), right.asDouble());
  }
  if (kind == ExpressionKind::Multiply) {
    const auto canRepeat = [](const Value& v) { return v.isString() || isOrderedSequence(v); };
    if (canRepeat(left) && right.isIntegral()) return repeat(left, right.asInt(), budget);
    if (canRepeat(right) && left.isIntegral()) return repeat(right, left.asInt(), budget);
  }
  if (kind == ExpressionKind::Add) {
    if (left.isString() && right.isString()) {
      return addStrings(left.asString(), right.asString(), budget);
    }
    if (left.isString()) {
      fail(fmt::format("can only concatenate str (not \"{}\") to str", typeName(right)));
    }
    if (isOrderedSequence(left) && isOrderedSequence(right) &&
        left.asSequence().kind == right.asSequence().kind) {
      return addSequences(left, right, budget);
    }
  }
  failOperands(kind, left, right);
}

Value negate(const Value& value) {
  requireDefined(value);
  if (value.isIntegral()) return integerArithmetic(ExpressionKind::Subtract, 0, value.asInt());
  if (value.is(Kind::Float)) return Value::floating(-value.asDouble());
  fail(fmt::format("bad operand type for unary -: '{}'", typeName(value)));
}

}  // namespace engine::text::jinja
