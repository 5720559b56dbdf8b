// ExpressionParser, second half: what follows a value (attributes, items, calls, filters, tests).
#include <utility>

#include "engine/text/jinja_expression_parser.h"

namespace engine::text::jinja {

ExpressionPtr ExpressionParser::parsePostfix(ExpressionPtr node) {
  for (;;) {
    if (isOperator(".")) {
      node = parseAttribute(std::move(node));
    } else if (isOperator("[")) {
      node = parseSubscript(std::move(node));
    } else if (isOperator("(")) {
      node = parseCall(std::move(node));
    } else {
      return node;
    }
  }
}

ExpressionPtr ExpressionParser::parseAttribute(ExpressionPtr node) {
  take();
  if (current().kind == TokenKind::Integer) {
    return adopt(ExpressionKind::Item, std::move(node), parseNumber());
  }
  auto attribute = make(ExpressionKind::Attribute);
  attribute->name = expectName();
  addOperand(*attribute, std::move(node));
  return attribute;
}

ExpressionPtr ExpressionParser::parseSubscript(ExpressionPtr node) {
  take();
  ExpressionPtr parts[3];
  int colons = 0;
  while (!isOperator("]")) {
    if (takeOperator(":")) {
      if (++colons > 2) failUnexpected();
    } else if (parts[colons]) {
      failUnexpected();
    } else {
      parts[colons] = parseExpression();
    }
  }
  if (colons == 0 && !parts[0]) failUnexpected();
  expectOperator("]");
  if (colons == 0) return adopt(ExpressionKind::Item, std::move(node), std::move(parts[0]));
  auto slice = make(ExpressionKind::Slice);
  addOperand(*slice, std::move(node));
  for (ExpressionPtr& part : parts) addOperand(*slice, std::move(part));
  return slice;
}

ExpressionPtr ExpressionParser::parseFilters(ExpressionPtr node) {
  for (;;) {
    if (takeOperator("|")) {
      node = parseFilter(std::move(node));
    } else if (isName("is")) {
      node = parseTest(std::move(node));
    } else if (isOperator("(")) {
      node = parseCall(std::move(node));
    } else {
      return node;
    }
  }
}

ExpressionPtr ExpressionParser::parseFilter(ExpressionPtr input) {
  auto node = make(ExpressionKind::Filter);
  node->name = expectName();
  while (takeOperator(".")) node->name += "." + expectName();
  addOperand(*node, std::move(input));
  if (isOperator("(")) parseArguments(*node);
  return node;
}

ExpressionPtr ExpressionParser::parseFilterChain(ExpressionPtr input) {
  auto node = parseFilter(std::move(input));
  while (takeOperator("|")) node = parseFilter(std::move(node));
  return node;
}

ExpressionPtr ExpressionParser::parseTest(ExpressionPtr input) {
  take();
  const bool isNegated = takeName("not");
  auto node = make(ExpressionKind::Test);
  node->name = expectName();
  while (takeOperator(".")) node->name += "." + expectName();
  addOperand(*node, std::move(input));
  const bool isWord = isName("else") || isName("or") || isName("and") || isName("if");
  const bool startsValue =
      (current().kind == TokenKind::Name && !isWord) || current().kind == TokenKind::String ||
      current().kind == TokenKind::Integer || current().kind == TokenKind::Float ||
      isOperator("[") || isOperator("{");
  if (isOperator("(")) {
    parseArguments(*node);
  } else if (startsValue) {
    if (isName("is")) failAt(current(), "tests with 'is' cannot be chained");
    auto argument = parsePostfix(parsePrimary());
    addHeight(*node, *argument);
    node->arguments.positional.push_back(std::move(argument));
  }
  if (!isNegated) return node;
  auto negation = make(ExpressionKind::Not);
  addOperand(*negation, std::move(node));
  return negation;
}

ExpressionPtr ExpressionParser::parseCall(ExpressionPtr callee) {
  auto node = make(ExpressionKind::Call);
  addOperand(*node, std::move(callee));
  parseArguments(*node);
  return node;
}

void ExpressionParser::parseArguments(Expression& call) {
  expectOperator("(");
  bool isFirst = true;
  while (!isOperator(")")) {
    if (!isFirst) expectOperator(",");
    if (isOperator(")")) break;
    parseArgument(call);
    isFirst = false;
  }
  expectOperator(")");
}

void ExpressionParser::parseArgument(Expression& call) {
  CallArguments& arguments = call.arguments;
  const auto parseValue = [&] {
    auto value = parseExpression();
    addHeight(call, *value);
    return value;
  };
  const bool isNamed =
      current().kind == TokenKind::Name && next().kind == TokenKind::Operator && next().text == "=";
  if (isOperator("*") && !arguments.unpackedList && !arguments.unpackedDict) {
    take();
    arguments.unpackedList = parseValue();
  } else if (isOperator("**") && !arguments.unpackedDict) {
    take();
    arguments.unpackedDict = parseValue();
  } else if (isNamed && !arguments.unpackedDict) {
    std::string name = take().text;
    take();
    arguments.named.emplace_back(std::move(name), parseValue());
  } else if (arguments.named.empty() && !arguments.unpackedList && !arguments.unpackedDict) {
    arguments.positional.push_back(parseValue());
  } else {
    failAt(current(), "the arguments of a call stand in the wrong order");
  }
}

}  // namespace engine::text::jinja
