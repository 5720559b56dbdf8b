#include "engine/text/jinja_expression_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "engine/text/jinja_failure.h"

namespace engine::text::jinja {

namespace {

constexpr int kMaxNesting = 150;  // of the source: brackets, blocks, conditionals
constexpr int kMaxHeight = 200;   // of an expression tree: "a + b + c + ..." grows it too

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::VariableEnd: return "the end of the print statement";
    case TokenKind::BlockEnd: return "the end of the tag";
    case TokenKind::End: return "the end of the template";
    case TokenKind::String: return "a string";
    default: return fmt::format("'{}'", token.text.substr(0, 40));
  }
}

}  // namespace

ExpressionParser::Nesting::Nesting(ExpressionParser& parser) : m_parser(parser) {
  if (m_parser.m_depth >= kMaxNesting) {
    m_parser.failAt(m_parser.current(), fmt::format("it nests more than {} levels deep", kMaxNesting));
  }
  ++m_parser.m_depth;
}

Token ExpressionParser::take() {
  Token token = m_tokens[m_index];
  if (m_index + 1 < m_tokens.size()) ++m_index;
  return token;
}

bool ExpressionParser::isOperator(std::string_view text) const {
  return current().kind == TokenKind::Operator && current().text == text;
}

bool ExpressionParser::isName(std::string_view text) const {
  return current().kind == TokenKind::Name && current().text == text;
}

bool ExpressionParser::takeOperator(std::string_view text) {
  if (!isOperator(text)) return false;
  take();
  return true;
}

bool ExpressionParser::takeName(std::string_view text) {
  if (!isName(text)) return false;
  take();
  return true;
}

void ExpressionParser::expectOperator(std::string_view text) {
  if (!takeOperator(text)) {
    failAt(current(), fmt::format("expected '{}', got {}", text, describe(current())));
  }
}

std::string ExpressionParser::expectName() {
  if (current().kind != TokenKind::Name) {
    failAt(current(), fmt::format("expected a name, got {}", describe(current())));
  }
  return take().text;
}

void ExpressionParser::failAt(const Token& token, const std::string& what) const {
  fail(fmt::format("line {}: {}", token.line, what));
}

void ExpressionParser::failUnexpected() const {
  failAt(current(), fmt::format("unexpected {}", describe(current())));
}

ExpressionPtr ExpressionParser::make(ExpressionKind kind) const {
  auto node = std::make_unique<Expression>();
  node->kind = kind;
  node->line = current().line;
  return node;
}

void ExpressionParser::addHeight(Expression& parent, const Expression& child) const {
  parent.height = std::max(parent.height, child.height + 1);
  if (parent.height > kMaxHeight) {
    failAt(current(), fmt::format("an expression has more than {} parts in a chain", kMaxHeight));
  }
}

void ExpressionParser::addOperand(Expression& parent, ExpressionPtr child) const {
  if (child) addHeight(parent, *child);
  parent.operands.push_back(std::move(child));
}

ExpressionPtr ExpressionParser::adopt(ExpressionKind kind, ExpressionPtr left, ExpressionPtr right) {
  auto node = make(kind);
  addOperand(*node, std::move(left));
  addOperand(*node, std::move(right));
  return node;
}

ExpressionPtr ExpressionParser::parseExpression(Conditional conditional) {
  const Nesting nesting(*this);
  return conditional == Conditional::Allowed ? parseConditional() : parseOr();
}

ExpressionPtr ExpressionParser::parseConditional() {
  auto left = parseOr();
  while (takeName("if")) {
    auto node = make(ExpressionKind::Condition);
    addOperand(*node, std::move(left));
    addOperand(*node, parseOr());
    addOperand(*node, takeName("else") ? parseExpression() : nullptr);
    left = std::move(node);
  }
  return left;
}

ExpressionPtr ExpressionParser::parseOr() {
  auto left = parseAnd();
  while (takeName("or")) left = adopt(ExpressionKind::Or, std::move(left), parseAnd());
  return left;
}

ExpressionPtr ExpressionParser::parseAnd() {
  auto left = parseNot();
  while (takeName("and")) left = adopt(ExpressionKind::And, std::move(left), parseNot());
  return left;
}

ExpressionPtr ExpressionParser::parseNot() {
  if (!isName("not")) return parseCompare();
  const Nesting nesting(*this);
  take();
  auto node = make(ExpressionKind::Not);
  addOperand(*node, parseNot());
  return node;
}

ExpressionPtr ExpressionParser::parseCompare() {
  static constexpr std::pair<std::string_view, Comparison> kComparisons[] = {
      {"==", Comparison::Equal},     {"!=", Comparison::NotEqual}, {"<", Comparison::Less},
      {"<=", Comparison::LessEqual}, {">", Comparison::Greater},   {">=", Comparison::GreaterEqual}};
  auto node = make(ExpressionKind::Compare);
  addOperand(*node, parseSum());
  for (;;) {
    const auto* found = std::find_if(std::begin(kComparisons), std::end(kComparisons),
                                     [&](const auto& entry) { return isOperator(entry.first); });
    if (found != std::end(kComparisons)) {
      take();
      node->comparisons.push_back(found->second);
    } else if (takeName("in")) {
      node->comparisons.push_back(Comparison::In);
    } else if (isName("not") && next().kind == TokenKind::Name && next().text == "in") {
      take();
      take();
      node->comparisons.push_back(Comparison::NotIn);
    } else {
      break;
    }
    addOperand(*node, parseSum());
  }
  return node->comparisons.empty() ? std::move(node->operands[0]) : std::move(node);
}

ExpressionPtr ExpressionParser::parseSum() {
  auto left = parseConcat();
  while (isOperator("+") || isOperator("-")) {
    const auto kind = take().text == "+" ? ExpressionKind::Add : ExpressionKind::Subtract;
    left = adopt(kind, std::move(left), parseConcat());
  }
  return left;
}

ExpressionPtr ExpressionParser::parseConcat() {
  auto first = parseProduct();
  if (!isOperator("~")) return first;
  auto node = make(ExpressionKind::Concat);
  addOperand(*node, std::move(first));
  while (takeOperator("~")) addOperand(*node, parseProduct());
  return node;
}

ExpressionPtr ExpressionParser::parseProduct() {
  static constexpr std::pair<std::string_view, ExpressionKind> kKinds[] = {
      {"*", ExpressionKind::Multiply}, {"/", ExpressionKind::Divide},
      {"//", ExpressionKind::FloorDivide}, {"%", ExpressionKind::Modulo}};
  auto left = parsePower();
  for (;;) {
    const auto* found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                     [&](const auto& entry) { return isOperator(entry.first); });
    if (found == std::end(kKinds)) return left;
    take();
    left = adopt(found->second, std::move(left), parsePower());
  }
}

ExpressionPtr ExpressionParser::parsePower() {
  auto left = parseUnary(true);
  while (takeOperator("**")) left = adopt(ExpressionKind::Power, std::move(left), parseUnary(true));
  return left;
}

ExpressionPtr ExpressionParser::parseUnary(bool withFilters) {
  const Nesting nesting(*this);
  ExpressionPtr node;
  if (isOperator("-") || isOperator("+")) {
    node = make(take().text == "-" ? ExpressionKind::Negate : ExpressionKind::Plus);
    addOperand(*node, parseUnary(false));
  } else {
    node = parsePrimary();
  }
  node = parsePostfix(std::move(node));
  return withFilters ? parseFilters(std::move(node)) : std::move(node);
}

ExpressionPtr ExpressionParser::parsePrimary() {
  switch (current().kind) {
    case TokenKind::Name: return parseNamePrimary();
    case TokenKind::String: return parseString();
    case TokenKind::Integer:
    case TokenKind::Float: return parseNumber();
    default: break;
  }
  if (isOperator("(")) return parseParenthesised();
  if (isOperator("[")) return parseList();
  if (isOperator("{")) return parseDict();
  failUnexpected();
}

ExpressionPtr ExpressionParser::parseNamePrimary() {
  auto node = make(ExpressionKind::Literal);
  const Token token = take();
  const std::string_view name = token.text;
  if (name == "true" || name == "True") {
    node->value = Value::boolean(true);
  } else if (name == "false" || name == "False") {
    node->value = Value::boolean(false);
  } else if (name != "none" && name != "None") {
    node->kind = ExpressionKind::Name;
    node->name = token.text;
    m_magicNames.varargs += name == "varargs";
    m_magicNames.kwargs += name == "kwargs";
    m_magicNames.caller += name == "caller";
  }
  return node;
}

ExpressionPtr ExpressionParser::parseNumber() {
  auto node = make(ExpressionKind::Literal);
  const Token token = take();
  if (token.kind == TokenKind::Float) {
    node->value = Value::floating(std::strtod(token.text.c_str(), nullptr));
    return node;
  }
  const bool hasPrefix = token.text.size() > 2 && token.text[0] == '0' && token.text[1] > '9';
  const int base = !hasPrefix ? 10 : token.text[1] == 'x' ? 16 : token.text[1] == 'o' ? 8 : 2;
  const char* begin = token.text.data() + (hasPrefix ? 2 : 0);
  std::int64_t number = 0;
  const auto result = std::from_chars(begin, token.text.data() + token.text.size(), number, base);
  if (result.ec != std::errc()) failAt(token, "an integer does not fit 64 bits");
  node->value = Value::integer(number);
  return node;
}

ExpressionPtr ExpressionParser::parseString() {
  auto node = make(ExpressionKind::Literal);
  std::string text = take().text;
  while (current().kind == TokenKind::String) text += take().text;  // neighbours join, as in Python
  node->value = Value::literal(text);
  return node;
}

ExpressionPtr ExpressionParser::parseList() {
  auto node = make(ExpressionKind::List);
  take();
  while (!isOperator("]")) {
    if (!node->operands.empty()) expectOperator(",");
    if (isOperator("]")) break;
    addOperand(*node, parseExpression());
  }
  expectOperator("]");
  return node;
}

ExpressionPtr ExpressionParser::parseDict() {
  auto node = make(ExpressionKind::Dict);
  take();
  while (!isOperator("}")) {
    if (!node->operands.empty()) expectOperator(",");
    if (isOperator("}")) break;
    addOperand(*node, parseExpression());
    expectOperator(":");
    addOperand(*node, parseExpression());
  }
  expectOperator("}");
  return node;
}

bool ExpressionParser::isTupleEnd() const {
  return current().kind == TokenKind::VariableEnd || current().kind == TokenKind::BlockEnd ||
         isOperator(")") || isName("recursive");
}

ExpressionPtr ExpressionParser::parseParenthesised() {
  take();
  if (isOperator(")")) {
    auto empty = make(ExpressionKind::Tuple);
    take();
    return empty;
  }
  auto node = parseTuple();
  expectOperator(")");
  return node;
}

ExpressionPtr ExpressionParser::parseTuple(Conditional conditional) {
  auto first = parseExpression(conditional);
  if (!isOperator(",")) return first;
  auto node = make(ExpressionKind::Tuple);
  addOperand(*node, std::move(first));
  while (takeOperator(",") && !isTupleEnd()) addOperand(*node, parseExpression(conditional));
  return node;
}

ExpressionPtr ExpressionParser::parseTarget() {
  const auto parseOne = [this] {
    auto node = make(ExpressionKind::Name);
    const Token token = current();
    node->name = expectName();
    if (node->name == "true" || node->name == "false" || node->name == "none") {
      failAt(token, fmt::format("cannot assign to '{}'", node->name));
    }
    if (!takeOperator(".")) return node;
    auto attribute = make(ExpressionKind::Attribute);
    attribute->name = expectName();
    addOperand(*attribute, std::move(node));
    return attribute;
  };
  auto first = [&] {
    if (!takeOperator("(")) return parseOne();
    const Nesting nesting(*this);
    auto inner = parseTarget();
    expectOperator(")");
    return inner;
  }();
  if (!isOperator(",")) return first;
  auto node = make(ExpressionKind::Tuple);
  addOperand(*node, std::move(first));
  while (takeOperator(",") && !isName("in") && !isOperator("=") && !isTupleEnd()) {
    addOperand(*node, parseOne());
  }
  return node;
}

}  // namespace engine::text::jinja
