// Interpreter, first half: expressions.
#include <fmt/format.h>

#include "engine/text/jinja_access.h"
#include "engine/text/jinja_failure.h"
#include "engine/text/jinja_filters.h"
#include "engine/text/jinja_globals.h"
#include "engine/text/jinja_interpreter.h"
#include "engine/text/jinja_operators.h"
#include "engine/text/jinja_repr.h"
#include "engine/text/jinja_tests.h"

namespace engine::text::jinja {

Value Interpreter::evaluate(const Expression& node, const ScopePtr& scope) {
  const DepthGuard guard(m_budget);
  m_budget.step();
  switch (node.kind) {
    case ExpressionKind::Literal: return node.value;
    case ExpressionKind::Name: return evaluateName(node, scope);
    case ExpressionKind::List:
    case ExpressionKind::Tuple:
    case ExpressionKind::Dict: return evaluateContainer(node, scope);
    case ExpressionKind::Attribute:
    case ExpressionKind::Item:
    case ExpressionKind::Slice: return evaluateAccess(node, scope);
    case ExpressionKind::Call: {
      const Value callee = evaluate(*node.operands[0], scope);
      return call(callee, evaluateArguments(node.arguments, scope));
    }
    case ExpressionKind::Filter: return evaluateFilter(node, evaluate(*node.operands[0], scope), scope);
    case ExpressionKind::Test: {
      const Value input = evaluate(*node.operands[0], scope);
      return Value::boolean(test(node.name, input, evaluateArguments(node.arguments, scope)));
    }
    case ExpressionKind::Negate: return negate(evaluate(*node.operands[0], scope));
    case ExpressionKind::Plus: return negate(negate(evaluate(*node.operands[0], scope)));
    case ExpressionKind::Concat: return evaluateConcat(node, scope);
    case ExpressionKind::Compare: return evaluateCompare(node, scope);
    case ExpressionKind::Not:
    case ExpressionKind::And:
    case ExpressionKind::Or:
    case ExpressionKind::Condition: return evaluateLogic(node, scope);
    default: break;
  }
  const Value left = evaluate(*node.operands[0], scope);
  return binary(node.kind, left, evaluate(*node.operands[1], scope), m_budget);
}

Value Interpreter::evaluateName(const Expression& node, const ScopePtr& scope) {
  if (const Value* found = scope->find(node.name, m_budget)) return *found;
  Value global;
  if (findGlobal(node.name, m_budget, global)) return global;
  return Value::undefined(fmt::format("'{}' is undefined", node.name));
}

Value Interpreter::evaluateContainer(const Expression& node, const ScopePtr& scope) {
  std::vector<Value> items;
  items.reserve(node.operands.size());
  for (const ExpressionPtr& operand : node.operands) items.push_back(evaluate(*operand, scope));
  if (node.kind == ExpressionKind::List) return Value::list(std::move(items), &m_budget);
  if (node.kind == ExpressionKind::Tuple) return Value::tuple(std::move(items), &m_budget);
  std::vector<Dict::Entry> entries;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    entries.emplace_back(std::move(items[i]), std::move(items[i + 1]));
  }
  return Value::dict(std::make_shared<Dict>(std::move(entries), &m_budget));
}

Value Interpreter::evaluateAccess(const Expression& node, const ScopePtr& scope) {
  const Value object = evaluate(*node.operands[0], scope);
  if (node.kind == ExpressionKind::Attribute) return attributeOf(object, node.name, m_budget);
  if (node.kind == ExpressionKind::Item) {
    return itemOf(object, evaluate(*node.operands[1], scope), m_budget);
  }
  Value bounds[3];
  for (std::size_t i = 0; i < 3; ++i) {
    if (node.operands[i + 1]) bounds[i] = evaluate(*node.operands[i + 1], scope);
  }
  return sliceOf(object, bounds[0], bounds[1], bounds[2], m_budget);
}

Value Interpreter::evaluateLogic(const Expression& node, const ScopePtr& scope) {
  if (node.kind == ExpressionKind::Condition) {
    if (evaluate(*node.operands[1], scope).isTrue()) return evaluate(*node.operands[0], scope);
    if (node.operands[2]) return evaluate(*node.operands[2], scope);
    return Value::undefined("the condition is false and there is no else");
  }
  const Value first = evaluate(*node.operands[0], scope);
  if (node.kind == ExpressionKind::Not) return Value::boolean(!first.isTrue());
  const bool isDecided = first.isTrue() == (node.kind == ExpressionKind::Or);
  return isDecided ? first : evaluate(*node.operands[1], scope);
}

Value Interpreter::evaluateCompare(const Expression& node, const ScopePtr& scope) {
  Value left = evaluate(*node.operands[0], scope);
  for (std::size_t i = 0; i < node.comparisons.size(); ++i) {
    Value right = evaluate(*node.operands[i + 1], scope);
    if (!compare(node.comparisons[i], left, right, m_budget)) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Value Interpreter::evaluateConcat(const Expression& node, const ScopePtr& scope) {
  String out;
  for (const ExpressionPtr& operand : node.operands) {
    const String text = toText(evaluate(*operand, scope), m_budget);
    m_budget.copy(text.size());
    out.append(text);
    m_budget.checkStringSize(out.size());
  }
  return string(std::move(out));
}

Value Interpreter::evaluateFilter(const Expression& node, const Value& input, const ScopePtr& scope) {
  return filter(node.name, input, evaluateArguments(node.arguments, scope));
}

Value Interpreter::applyBlockFilters(const Expression& node, const Value& text, const ScopePtr& scope) {
  const DepthGuard guard(m_budget);
  const Expression* input = node.operands[0].get();
  return evaluateFilter(node, input ? applyBlockFilters(*input, text, scope) : text, scope);
}

Arguments Interpreter::evaluateArguments(const CallArguments& node, const ScopePtr& scope) {
  Arguments out;
  for (const ExpressionPtr& argument : node.positional) out.positional.push_back(evaluate(*argument, scope));
  for (const auto& [name, argument] : node.named) out.named.emplace_back(String(name, Origin::Template), evaluate(*argument, scope));
  if (node.unpackedList) {
    const Value list = evaluate(*node.unpackedList, scope);
    for (Value& item : iterate(requireDefined(list), m_budget)) out.positional.push_back(std::move(item));
  }
  if (node.unpackedDict) {
    const Value dict = evaluate(*node.unpackedDict, scope);
    if (!dict.is(Kind::Dict)) fail(fmt::format("argument after ** must be a mapping, not {}", typeName(dict)));
    for (const auto& [key, value] : dict.asDict().entries()) {
      m_budget.step();
      if (!key.isString()) fail("keywords must be strings");
      out.named.emplace_back(key.asString(), value);
    }
  }
  return out;
}

Value Interpreter::call(const Value& callee, const Arguments& arguments) {
  const DepthGuard guard(m_budget);
  m_budget.step();
  requireDefined(callee);
  if (callee.is(Kind::Loop)) {
    if (!callee.asLoop().recurse) fail("the loop is not marked 'recursive'");
    return callee.asLoop().recurse(*this, arguments);
  }
  if (!callee.is(Kind::Callable)) fail(fmt::format("'{}' object is not callable", typeName(callee)));
  // The callee stays alive while it runs, whatever its own body assigns.
  const Value alive = callee;
  return alive.asCallable().function(*this, arguments);
}

Value Interpreter::filter(const std::string& name, const Value& input, const Arguments& arguments) {
  m_budget.step();
  const Filter function = findFilter(name);
  if (!function) fail(fmt::format("there is no filter named '{}'", name));
  return function(*this, input, arguments);
}

bool Interpreter::test(const std::string& name, const Value& input, const Arguments& arguments) {
  m_budget.step();
  const Test function = findTest(name);
  if (!function) fail(fmt::format("there is no test named '{}'", name));
  return function(*this, input, arguments);
}

}  // namespace engine::text::jinja
