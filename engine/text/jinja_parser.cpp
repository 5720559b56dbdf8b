#include "engine/text/jinja_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "engine/text/jinja_expression_parser.h"
#include "engine/text/jinja_failure.h"

namespace engine::text::jinja {

namespace {

using StatementPtr = std::unique_ptr<Statement>;
using Names = std::initializer_list<std::string_view>;

class TemplateParser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Block run() {
    Block block = parseUntil({});
    if (current().kind != TokenKind::End) failUnexpected();
    return block;
  }

 private:
  StatementPtr make(StatementKind kind) const {
    auto node = std::make_unique<Statement>();
    node->kind = kind;
    node->line = current().line;
    return node;
  }

  void expectBlockEnd() {
    if (current().kind != TokenKind::BlockEnd) failUnexpected();
    take();
  }

  // Statements up to a tag that starts with one of `ends`; its name is then current.
  Block parseUntil(Names ends) {
    const Nesting nesting(*this);
    const int startLine = current().line;
    Block block;
    for (;;) {
      switch (current().kind) {
        case TokenKind::End:
          if (ends.size() == 0) return block;
          failAt(current(), fmt::format("the tag of line {} is never closed by '{}'", startLine,
                                        *(ends.end() - 1)));
        case TokenKind::Data: {
          auto node = make(StatementKind::Data);
          node->text = take().text;
          block.push_back(std::move(node));
          break;
        }
        case TokenKind::VariableBegin: block.push_back(parsePrint()); break;
        case TokenKind::BlockBegin:
          take();
          if (std::any_of(ends.begin(), ends.end(), [&](auto end) { return isName(end); })) return block;
          block.push_back(parseTag());
          break;
        default: failUnexpected();
      }
    }
  }

  // A body and the tag that closes it.
  Block parseBody(std::string_view end) {
    expectBlockEnd();
    Block block = parseUntil({end});
    take();
    return block;
  }

  StatementPtr parsePrint() {
    take();
    auto node = make(StatementKind::Print);
    node->expression = parseTuple();
    if (current().kind != TokenKind::VariableEnd) failUnexpected();
    take();
    return node;
  }

  StatementPtr parseTag() {
    const Token tag = current();
    if (tag.kind != TokenKind::Name) failAt(tag, "a tag has no name");
    take();
    auto node = parseNamedTag(tag);
    node->line = tag.line;
    expectBlockEnd();
    return node;
  }

  StatementPtr parseNamedTag(const Token& tag) {
    if (tag.text == "if") return parseIf();
    if (tag.text == "for") return parseFor();
    if (tag.text == "set") return parseSet();
    if (tag.text == "macro") return parseMacro();
    if (tag.text == "call") return parseCallBlock();
    if (tag.text == "filter") return parseFilterBlock();
    if (tag.text == "with") return parseWith();
    if (tag.text == "generation") return parseGeneration();
    if (tag.text == "break" || tag.text == "continue") {
      if (m_loops == 0) failAt(tag, fmt::format("'{}' stands outside a loop", tag.text));
      return make(tag.text == "break" ? StatementKind::Break : StatementKind::Continue);
    }
    for (const std::string_view name : {"include", "extends", "import", "from", "block"}) {
      if (tag.text == name) {
        failUnsupported(fmt::format("line {}: the tag '{}' needs other templates", tag.line, name));
      }
    }
    failAt(tag, fmt::format("unknown tag '{}'", tag.text.substr(0, 40)));
  }

  StatementPtr parseIf() {
    auto node = make(StatementKind::If);
    for (std::string tag = "if"; tag != "endif";) {
      auto condition = tag == "else" ? nullptr : parseTuple();
      expectBlockEnd();
      const bool isLast = condition == nullptr;
      node->branches.push_back({std::move(condition), isLast ? parseUntil({"endif"})
                                                             : parseUntil({"elif", "else", "endif"})});
      tag = take().text;
    }
    return node;
  }

  StatementPtr parseFor() {
    auto node = make(StatementKind::For);
    node->target = parseTarget();
    if (!takeName("in")) failAt(current(), "a for tag has no 'in'");
    node->expression = parseTuple(Conditional::Forbidden);
    if (takeName("if")) node->condition = parseExpression();
    node->isRecursive = takeName("recursive");
    expectBlockEnd();
    ++m_loops;
    node->body = parseUntil({"else", "endfor"});
    --m_loops;
    if (take().text == "else") node->otherwise = parseBody("endfor");
    return node;
  }

  StatementPtr parseSet() {
    auto node = make(StatementKind::Set);
    node->target = parseTarget();
    if (takeOperator("=")) {
      node->expression = parseTuple();
      return node;
    }
    node->kind = StatementKind::SetBlock;
    if (takeOperator("|")) node->expression = parseFilterChain(nullptr);
    node->body = parseBody("endset");
    return node;
  }

  void parseParameters(Statement& node) {
    expectOperator("(");
    while (!isOperator(")")) {
      if (!node.parameters.empty()) expectOperator(",");
      if (isOperator(")")) break;
      const Token token = current();
      Parameter parameter{expectName(), nullptr};
      if (takeOperator("=")) {
        parameter.fallback = parseExpression();
      } else if (!node.parameters.empty() && node.parameters.back().fallback) {
        failAt(token, "a parameter without default follows one with a default");
      }
      node.parameters.push_back(std::move(parameter));
    }
    expectOperator(")");
  }

  // A macro's body is no part of the loop around it.
  Block parseMacroBody(std::string_view end) {
    const int loops = m_loops;
    m_loops = 0;
    Block body = parseBody(end);
    m_loops = loops;
    return body;
  }

  // Parameters' defaults and body, and which of the magic names they use.
  void finishMacro(Statement& node, MagicNames before, std::string_view end) {
    node.body = parseMacroBody(end);
    node.takesVarargs = magicNames().varargs > before.varargs;
    node.takesKwargs = magicNames().kwargs > before.kwargs;
    node.takesCaller = magicNames().caller > before.caller;
  }

  StatementPtr parseMacro() {
    auto node = make(StatementKind::Macro);
    const MagicNames before = magicNames();
    node->name = expectName();
    parseParameters(*node);
    finishMacro(*node, before, "endmacro");
    return node;
  }

  StatementPtr parseCallBlock() {
    auto node = make(StatementKind::CallBlock);
    node->name = "caller";
    if (isOperator("(")) parseParameters(*node);
    const Token token = current();
    node->expression = parseExpression();
    if (node->expression->kind != ExpressionKind::Call) failAt(token, "a call tag has no call");
    finishMacro(*node, magicNames(), "endcall");
    return node;
  }

  StatementPtr parseFilterBlock() {
    auto node = make(StatementKind::FilterBlock);
    node->expression = parseFilterChain(nullptr);
    node->body = parseMacroBody("endfilter");
    return node;
  }

  StatementPtr parseWith() {
    auto node = make(StatementKind::With);
    while (current().kind != TokenKind::BlockEnd) {
      if (!node->assignments.empty()) expectOperator(",");
      auto target = parseTarget();
      expectOperator("=");
      node->assignments.emplace_back(std::move(target), parseExpression());
    }
    node->body = parseBody("endwith");
    return node;
  }

  StatementPtr parseGeneration() {
    auto node = make(StatementKind::Scope);
    node->body = parseMacroBody("endgeneration");
    return node;
  }

  int m_loops = 0;  // for tags around the current place
};

}  // namespace

Block parseTemplate(std::string_view source) { return TemplateParser(tokenize(source)).run(); }

}  // namespace engine::text::jinja
