#include "engine/text/jinja_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/text/jinja_arguments.h"
#include "engine/text/jinja_failure.h"
#include "engine/text/jinja_filters.h"
#include "engine/text/jinja_interpreter.h"
#include "engine/text/jinja_operators.h"
#include "engine/text/jinja_text_operations.h"

namespace engine::text::jinja {

namespace {

template <Kind... kKinds>
bool isOfKind(Interpreter&, const Value& input, const Arguments& arguments) {
  BoundArguments("test", arguments, {});
  return (input.is(kKinds) || ...);
}

bool isDefined(Interpreter&, const Value& input, const Arguments& arguments) {
  BoundArguments("defined", arguments, {});
  return !input.is(Kind::Undefined);
}

template <bool kWanted>
bool isBoolean(Interpreter&, const Value& input, const Arguments& arguments) {
  BoundArguments("test", arguments, {});
  return input.is(Kind::Bool) && input.asBool() == kWanted;
}

// Anything with a length and items by key or place.
bool isSequence(Interpreter&, const Value& input, const Arguments& arguments) {
  BoundArguments("sequence", arguments, {});
  if (input.is(Kind::Sequence)) {
    const SequenceKind kind = input.asSequence().kind;
    return kind == SequenceKind::List || kind == SequenceKind::Tuple || kind == SequenceKind::Range;
  }
  return input.isString() || input.is(Kind::Dict) || input.is(Kind::Undefined);
}

bool isIterable(Interpreter&, const Value& input, const Arguments& arguments) {
  BoundArguments("iterable", arguments, {});
  return input.isString() || input.is(Kind::Dict) || input.is(Kind::Sequence) || input.is(Kind::Undefined) ||
         input.is(Kind::Loop);
}

std::int64_t remainder(const Value& input, std::int64_t divisor, Budget& budget) {
  const Value rest = binary(ExpressionKind::Modulo, input, Value::integer(divisor), budget);
  if (!rest.isNumber()) fail("a number is tested for its divisor, but it is none");
  return rest.is(Kind::Float) ? (rest.asDouble() == 0 ? 0 : rest.asDouble() == 1 ? 1 : 2) : rest.asInt();
}

template <int kRest>
bool hasParity(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  BoundArguments("test", arguments, {});
  return remainder(input, 2, interpreter.budget()) == kRest;
}

bool isDivisible(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const BoundArguments bound("divisibleby", arguments, {"num"});
  bound.require(0);
  return remainder(input, bound.integer(0, 1), interpreter.budget()) == 0;
}

template <Comparison kComparison>
bool compares(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const BoundArguments bound("comparison test", arguments, {"other"});
  return compare(kComparison, input, bound.require(0), interpreter.budget());
}

bool isSameAs(Interpreter&, const Value& input, const Arguments& arguments) {
  const BoundArguments bound("sameas", arguments, {"other"});
  return input.isSameObject(bound.require(0));
}

template <Case kCase>
bool hasCase(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  BoundArguments("test", arguments, {});
  const auto is = [&](Case wanted) {
    return withCase(input.asString(), wanted, interpreter.budget()).view() == input.asString().view();
  };
  if (!input.isString()) return false;
  return is(kCase) && !is(kCase == Case::Upper ? Case::Lower : Case::Upper);
}

bool isFilterName(Interpreter&, const Value& input, const Arguments& arguments) {
  BoundArguments("filter", arguments, {});
  return input.isString() && findFilter(input.asString().view()) != nullptr;
}

bool isTestName(Interpreter&, const Value& input, const Arguments& arguments) {
  BoundArguments("test", arguments, {});
  return input.isString() && findTest(input.asString().view()) != nullptr;
}

bool isNever(Interpreter&, const Value&, const Arguments& arguments) {
  BoundArguments("escaped", arguments, {});
  return false;
}

constexpr std::pair<std::string_view, Test> kTests[] = {
    {"defined", isDefined},
    {"undefined", isOfKind<Kind::Undefined>},
    {"none", isOfKind<Kind::None>},
    {"boolean", isOfKind<Kind::Bool>},
    {"true", isBoolean<true>},
    {"false", isBoolean<false>},
    {"integer", isOfKind<Kind::Int>},
    {"float", isOfKind<Kind::Float>},
    {"number", isOfKind<Kind::Int, Kind::Float, Kind::Bool>},
    {"string", isOfKind<Kind::String>},
    {"mapping", isOfKind<Kind::Dict>},
    {"callable", isOfKind<Kind::Callable, Kind::Loop>},
    {"sequence", isSequence},
    {"iterable", isIterable},
    {"odd", hasParity<1>},
    {"even", hasParity<0>},
    {"divisibleby", isDivisible},
    {"equalto", compares<Comparison::Equal>},
    {"eq", compares<Comparison::Equal>},
    {"==", compares<Comparison::Equal>},
    {"ne", compares<Comparison::NotEqual>},
    {"!=", compares<Comparison::NotEqual>},
    {"lt", compares<Comparison::Less>},
    {"lessthan", compares<Comparison::Less>},
    {"<", compares<Comparison::Less>},
    {"le", compares<Comparison::LessEqual>},
    {"<=", compares<Comparison::LessEqual>},
    {"gt", compares<Comparison::Greater>},
    {"greaterthan", compares<Comparison::Greater>},
    {">", compares<Comparison::Greater>},
    {"ge", compares<Comparison::GreaterEqual>},
    {">=", compares<Comparison::GreaterEqual>},
    {"in", compares<Comparison::In>},
    {"sameas", isSameAs},
    {"lower", hasCase<Case::Lower>},
    {"upper", hasCase<Case::Upper>},
    {"filter", isFilterName},
    {"test", isTestName},
    {"escaped", isNever},
};

}  // namespace

Test findTest(std::string_view name) {
  const auto* found = std::find_if(std::begin(kTests), std::end(kTests),
                                   [&](const auto& entry) { return entry.first == name; });
  return found == std::end(kTests) ? nullptr : found->second;
}

}  // namespace engine::text::jinja
