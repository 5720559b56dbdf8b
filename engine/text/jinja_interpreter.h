// Runs one parsed template once.
#pragma once

#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/text/jinja_ast.h"
#include "engine/text/jinja_budget.h"
#include "engine/text/jinja_scope.h"
#include "engine/text/jinja_value.h"

namespace engine::text::jinja {

using Variables = std::vector<std::pair<std::string, Value>>;

// One render, one thread; the blocks it runs must outlive it. Everything may throw Failure.
class Interpreter {
 public:
  Interpreter(const Limits& limits, const std::tm& now);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  String render(const Block& block, const Variables& variables);
  int line() const { return m_line; }  // of the statement that ran last

  // For filters, tests and functions
  Budget& budget() { return m_budget; }
  const std::tm& now() const { return m_now; }
  Value call(const Value& callee, const Arguments& arguments);
  Value filter(const std::string& name, const Value& input, const Arguments& arguments);
  bool test(const std::string& name, const Value& input, const Arguments& arguments);
  Value string(String text) { return Value::string(std::move(text), &m_budget); }
  Value list(std::vector<Value> items) { return Value::list(std::move(items), &m_budget); }
  Value generator(std::vector<Value> items);
  Value makeNamespace(std::vector<std::pair<String, Value>> attributes);

 private:
  using ScopePtr = std::shared_ptr<Scope>;
  enum class Flow { Normal, Break, Continue };

  ScopePtr inner(const ScopePtr& scope);

  // jinja_evaluator.cpp: expressions
  Value evaluate(const Expression& node, const ScopePtr& scope);
  Value evaluateName(const Expression& node, const ScopePtr& scope);
  Value evaluateContainer(const Expression& node, const ScopePtr& scope);
  Value evaluateAccess(const Expression& node, const ScopePtr& scope);
  Value evaluateLogic(const Expression& node, const ScopePtr& scope);
  Value evaluateCompare(const Expression& node, const ScopePtr& scope);
  Value evaluateConcat(const Expression& node, const ScopePtr& scope);
  Value evaluateFilter(const Expression& node, const Value& input, const ScopePtr& scope);
  // Filters of a set or filter block, whose innermost operand is the block's text.
  Value applyBlockFilters(const Expression& node, const Value& text, const ScopePtr& scope);
  Arguments evaluateArguments(const CallArguments& node, const ScopePtr& scope);

  // jinja_interpreter.cpp: statements
  Flow run(const Block& block, const ScopePtr& scope);
  Flow runStatement(const Statement& node, const ScopePtr& scope);
  Flow runIf(const Statement& node, const ScopePtr& scope);
  void runFor(const Statement& node, const std::vector<Value>& items, int depth, const ScopePtr& scope);
  std::vector<Value> loopItems(const Statement& node, const Value& iterable, const ScopePtr& scope);
  void runWith(const Statement& node, const ScopePtr& scope);
  void runCallBlock(const Statement& node, const ScopePtr& scope);
  String capture(const Block& block, const ScopePtr& scope);
  void assign(const Expression& target, const Value& value, const ScopePtr& scope);
  void assignAttribute(const Expression& target, const Value& value, const ScopePtr& scope);
  Value makeMacro(const Statement& node, const ScopePtr& scope);
  Value callMacro(const Statement& node, const ScopePtr& scope, const Arguments& arguments);
  void bindMacroExtras(const Statement& node, const ScopePtr& local, const Arguments& arguments);
  void write(const String& text);

  Budget m_budget;
  std::tm m_now;
  String m_output;  // of the innermost capture
  int m_line = 0;
  // Values that can reach themselves or make chains of any length: emptied at the end, one by one.
  std::vector<std::shared_ptr<Callable>> m_macros;
  std::vector<std::shared_ptr<Namespace>> m_namespaces;
  std::vector<std::shared_ptr<LoopState>> m_recursiveLoops;
};

}  // namespace engine::text::jinja
