// Interpreter, second half: statements, macros and output.
#include "engine/text/jinja_interpreter.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/text/jinja_failure.h"
#include "engine/text/jinja_operators.h"
#include "engine/text/jinja_repr.h"

namespace engine::text::jinja {

Interpreter::Interpreter(const Limits& limits, const std::tm& now) : m_budget(limits), m_now(now) {}

Interpreter::~Interpreter() {
  for (const auto& macro : m_macros) macro->function = nullptr;
  for (const auto& space : m_namespaces) space->attributes.clear();
  for (const auto& loop : m_recursiveLoops) loop->recurse = nullptr;
}

String Interpreter::render(const Block& block, const Variables& variables) {
  const auto scope = std::make_shared<Scope>(nullptr, m_budget);
  for (const auto& [name, value] : variables) scope->set(name, value);
  // Assignments of the template hide its input, they do not change it.
  return capture(block, inner(scope));
}

Value Interpreter::generator(std::vector<Value> items) {
  return Value::sequence(std::make_shared<Sequence>(SequenceKind::Generator, std::move(items), &m_budget));
}

Value Interpreter::makeNamespace(std::vector<std::pair<String, Value>> attributes) {
  m_budget.step(attributes.size());
  auto space = std::make_shared<Namespace>(&m_budget);
  space->attributes = std::move(attributes);
  m_namespaces.push_back(space);
  return Value::nameSpace(std::move(space));
}

Interpreter::ScopePtr Interpreter::inner(const ScopePtr& scope) {
  return std::make_shared<Scope>(scope, m_budget);
}

void Interpreter::write(const String& text) {
  m_budget.copy(text.size());
  m_budget.checkStringSize(m_output.size() + text.size());
  m_output.append(text);
}

String Interpreter::capture(const Block& block, const ScopePtr& scope) {
  String outer;
  std::swap(outer, m_output);
  run(block, scope);
  std::swap(outer, m_output);
  return outer;
}

Interpreter::Flow Interpreter::run(const Block& block, const ScopePtr& scope) {
  const DepthGuard guard(m_budget);
  for (const auto& statement : block) {
    m_budget.step();
    m_line = statement->line;
    const Flow flow = runStatement(*statement, scope);
    if (flow != Flow::Normal) return flow;
  }
  return Flow::Normal;
}

Interpreter::Flow Interpreter::runStatement(const Statement& node, const ScopePtr& scope) {
  switch (node.kind) {
    case StatementKind::Data:
      m_budget.copy(node.text.size());
      m_budget.checkStringSize(m_output.size() + node.text.size());
      m_output.append(node.text, Origin::Template);
      break;
    case StatementKind::Print: write(toText(evaluate(*node.expression, scope), m_budget)); break;
    case StatementKind::If: return runIf(node, scope);
    case StatementKind::For:
      runFor(node, loopItems(node, evaluate(*node.expression, scope), scope), 0, scope);
      break;
    case StatementKind::Set: assign(*node.target, evaluate(*node.expression, scope), scope); break;
    case StatementKind::SetBlock: {
      Value text = string(capture(node.body, inner(scope)));
      if (node.expression) text = applyBlockFilters(*node.expression, text, scope);
      assign(*node.target, text, scope);
      break;
    }
    case StatementKind::Macro: scope->set(node.name, makeMacro(node, scope)); break;
    case StatementKind::CallBlock: runCallBlock(node, scope); break;
    case StatementKind::FilterBlock: {
      const Value text = string(capture(node.body, inner(scope)));
      write(toText(applyBlockFilters(*node.expression, text, scope), m_budget));
      break;
    }
    case StatementKind::With: runWith(node, scope); break;
    case StatementKind::Scope: return run(node.body, inner(scope));
    case StatementKind::Break: return Flow::Break;
    case StatementKind::Continue: return Flow::Continue;
  }
  return Flow::Normal;
}

Interpreter::Flow Interpreter::runIf(const Statement& node, const ScopePtr& scope) {
  for (const Branch& branch : node.branches) {
    if (!branch.condition || evaluate(*branch.condition, scope).isTrue()) return run(branch.body, scope);
  }
  return Flow::Normal;
}

std::vector<Value> Interpreter::loopItems(const Statement& node, const Value& iterable, const ScopePtr& scope) {
  std::vector<Value> items = iterate(iterable, m_budget);
  if (!node.condition) return items;
  std::vector<Value> kept;
  for (Value& item : items) {
    const ScopePtr local = inner(scope);
    assign(*node.target, item, local);
    if (evaluate(*node.condition, local).isTrue()) kept.push_back(std::move(item));
  }
  return kept;
}

void Interpreter::runFor(const Statement& node, const std::vector<Value>& items, int depth,
                         const ScopePtr& scope) {
  const auto state = std::make_shared<LoopState>(items, depth, &m_budget);
  if (node.isRecursive) {
    const Statement* self = &node;
    m_recursiveLoops.push_back(state);
    state->recurse = [self, depth, scope](Interpreter& interpreter, const Arguments& arguments) {
      if (arguments.positional.size() != 1) fail("loop() takes one argument");
      String outer;
      std::swap(outer, interpreter.m_output);
      const auto inside = interpreter.loopItems(*self, arguments.positional[0], scope);
      interpreter.runFor(*self, inside, depth + 1, scope);
      std::swap(outer, interpreter.m_output);
      return interpreter.string(std::move(outer));
    };
  }
  const Value loop = Value::loop(state);
  for (; state->index < state->items.size(); ++state->index) {
    m_budget.step();
    const ScopePtr local = inner(scope);
    local->set("loop", loop);
    assign(*node.target, state->items[state->index], local);
    if (run(node.body, local) == Flow::Break) break;
  }
  if (items.empty()) run(node.otherwise, inner(scope));
}

void Interpreter::runWith(const Statement& node, const ScopePtr& scope) {
  const ScopePtr local = inner(scope);
  for (const auto& [target, expression] : node.assignments) assign(*target, evaluate(*expression, scope), local);
  run(node.body, local);
}

void Interpreter::runCallBlock(const Statement& node, const ScopePtr& scope) {
  const Expression& callNode = *node.expression;
  const Value callee = evaluate(*callNode.operands[0], scope);
  Arguments arguments = evaluateArguments(callNode.arguments, scope);
  arguments.named.emplace_back(String("caller", Origin::Template), makeMacro(node, scope));
  write(toText(call(callee, arguments), m_budget));
}

void Interpreter::assign(const Expression& target, const Value& value, const ScopePtr& scope) {
  if (target.kind == ExpressionKind::Name) return scope->set(target.name, value);
  if (target.kind == ExpressionKind::Attribute) return assignAttribute(target, value, scope);
  const std::vector<Value> items = iterate(requireDefined(value), m_budget);
  if (items.size() < target.operands.size()) {
    fail(fmt::format("not enough values to unpack (expected {}, got {})", target.operands.size(), items.size()));
  }
  if (items.size() > target.operands.size()) {
    fail(fmt::format("too many values to unpack (expected {})", target.operands.size()));
  }
  for (std::size_t i = 0; i < items.size(); ++i) assign(*target.operands[i], items[i], scope);
}

void Interpreter::assignAttribute(const Expression& target, const Value& value, const ScopePtr& scope) {
  const Value object = evaluateName(*target.operands[0], scope);
  if (!object.is(Kind::Namespace)) fail("cannot assign attribute on non-namespace object");
  auto& attributes = object.asNamespace().attributes;
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const auto& entry) { return entry.first.view() == target.name; });
  m_budget.step(1 + attributes.size() / 8);
  if (found == attributes.end()) {
    attributes.emplace_back(String(target.name, Origin::Template), value);
  } else {
    found->second = value;
  }
}

Value Interpreter::makeMacro(const Statement& node, const ScopePtr& scope) {
  const Statement* self = &node;
  Function function = [self, scope](Interpreter& interpreter, const Arguments& arguments) {
    return interpreter.callMacro(*self, scope, arguments);
  };
  auto macro = std::make_shared<Callable>(node.name, std::move(function), &m_budget);
  m_macros.push_back(macro);
  return Value::callable(std::move(macro));
}

Value Interpreter::callMacro(const Statement& node, const ScopePtr& definedIn, const Arguments& arguments) {
  const ScopePtr scope = definedIn;
  const ScopePtr local = inner(scope);
  bindMacroExtras(node, local, arguments);
  for (std::size_t i = 0; i < node.parameters.size(); ++i) {
    const Parameter& parameter = node.parameters[i];
    const auto named = std::find_if(arguments.named.begin(), arguments.named.end(),
                                    [&](const auto& entry) { return entry.first.view() == parameter.name; });
    if (i < arguments.positional.size()) {
      local->set(parameter.name, arguments.positional[i]);
    } else if (named != arguments.named.end()) {
      local->set(parameter.name, named->second);
    } else if (parameter.fallback) {
      local->set(parameter.name, evaluate(*parameter.fallback, local));
    } else {
      local->set(parameter.name, Value::undefined(fmt::format("parameter '{}' was not provided", parameter.name)));
    }
  }
  const int line = m_line;
  Value result = string(capture(node.body, local));
  m_line = line;
  return result;
}

// Arguments beyond the parameters go to varargs, kwargs and caller where the body uses these; they
// are an error where it does not.
void Interpreter::bindMacroExtras(const Statement& node, const ScopePtr& local, const Arguments& arguments) {
  const std::size_t numParameters = node.parameters.size();
  const auto isParameter = [&](std::string_view name) {
    return std::any_of(node.parameters.begin(), node.parameters.end(),
                       [&](const Parameter& parameter) { return parameter.name == name; });
  };
  std::vector<Value> varargs;
  for (std::size_t i = numParameters; i < arguments.positional.size(); ++i) varargs.push_back(arguments.positional[i]);
  if (!varargs.empty() && !node.takesVarargs) {
    fail(fmt::format("macro '{}' takes not more than {} argument(s)", node.name, numParameters));
  }
  std::vector<Dict::Entry> kwargs;
  Value caller = Value::undefined("No caller defined");
  for (const auto& [key, value] : arguments.named) {
    const std::string_view name = key.view();
    if (name == "caller" && node.takesCaller) {
      caller = value;
    } else if (!isParameter(name)) {
      if (!node.takesKwargs) fail(fmt::format("macro '{}' takes no keyword argument '{}'", node.name, name));
      kwargs.emplace_back(string(key), value);
    } else {
      const std::size_t numPositional = std::min(arguments.positional.size(), numParameters);
      for (std::size_t i = 0; i < numPositional; ++i) {
        if (node.parameters[i].name == name) {
          fail(fmt::format("macro '{}' got multiple values for argument '{}'", node.name, name));
        }
      }
    }
  }
  if (node.takesVarargs) local->set("varargs", Value::tuple(std::move(varargs), &m_budget));
  if (node.takesKwargs) local->set("kwargs", Value::dict(std::make_shared<Dict>(std::move(kwargs), &m_budget)));
  if (node.takesCaller) local->set("caller", caller);
}

}  // namespace engine::text::jinja
