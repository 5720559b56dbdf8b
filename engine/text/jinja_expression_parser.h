// Tokens to expression trees: Jinja's precedence, calls, filters and tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/text/jinja_ast.h"
#include "engine/text/jinja_lexer.h"

namespace engine::text::jinja {

// Throws Failure for what does not parse. `tokens` end with End.
class ExpressionParser {
 public:
  explicit ExpressionParser(std::vector<Token> tokens) : m_tokens(std::move(tokens)) {}

 protected:
  const Token& current() const { return m_tokens[m_index]; }
  const Token& next() const { return m_tokens[m_index + 1 < m_tokens.size() ? m_index + 1 : m_index]; }
  Token take();
  bool isOperator(std::string_view text) const;
  bool isName(std::string_view text) const;
  bool takeOperator(std::string_view text);
  bool takeName(std::string_view text);
  void expectOperator(std::string_view text);
  std::string expectName();
  [[noreturn]] void failAt(const Token& token, const std::string& what) const;
  [[noreturn]] void failUnexpected() const;

  enum class Conditional { Allowed, Forbidden };  // whether "a if b else c" may stand here

  ExpressionPtr parseExpression(Conditional conditional = Conditional::Allowed);
  // One expression, or a tuple when commas follow.
  ExpressionPtr parseTuple(Conditional conditional = Conditional::Allowed);
  // Name, tuple of names, or namespace attribute, as the left side of an assignment.
  ExpressionPtr parseTarget();
  // "name(arguments)|..." applied to `input` (null in blocks); the first name without a bar.
  ExpressionPtr parseFilterChain(ExpressionPtr input);
  ExpressionPtr parseUnary(bool withFilters);

  // How often the magic names of macros were read so far.
  struct MagicNames {
    int varargs = 0, kwargs = 0, caller = 0;
  };
  const MagicNames& magicNames() const { return m_magicNames; }

  // Counts nesting while it lives.
  class Nesting {
   public:
    explicit Nesting(ExpressionParser& parser);
    ~Nesting() { --m_parser.m_depth; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    ExpressionParser& m_parser;
  };

 private:
  ExpressionPtr make(ExpressionKind kind) const;
  ExpressionPtr adopt(ExpressionKind kind, ExpressionPtr left, ExpressionPtr right);
  void addOperand(Expression& parent, ExpressionPtr child) const;
  void addHeight(Expression& parent, const Expression& child) const;

  ExpressionPtr parseConditional();
  ExpressionPtr parseOr();
  ExpressionPtr parseAnd();
  ExpressionPtr parseNot();
  ExpressionPtr parseCompare();
  ExpressionPtr parseSum();
  ExpressionPtr parseConcat();
  ExpressionPtr parseProduct();
  ExpressionPtr parsePower();
  ExpressionPtr parsePrimary();
  ExpressionPtr parseNamePrimary();
  ExpressionPtr parseNumber();
  ExpressionPtr parseString();
  ExpressionPtr parseList();
  ExpressionPtr parseDict();
  ExpressionPtr parseParenthesised();
  ExpressionPtr parsePostfix(ExpressionPtr node);
  ExpressionPtr parseAttribute(ExpressionPtr node);
  ExpressionPtr parseSubscript(ExpressionPtr node);
  ExpressionPtr parseFilters(ExpressionPtr node);
  ExpressionPtr parseFilter(ExpressionPtr node);
  ExpressionPtr parseTest(ExpressionPtr node);
  ExpressionPtr parseCall(ExpressionPtr node);
  void parseArguments(Expression& call);
  void parseArgument(Expression& call);
  bool isTupleEnd() const;

  std::vector<Token> m_tokens;
  std::size_t m_index = 0;
  int m_depth = 0;
  MagicNames m_magicNames;
};

}  // namespace engine::text::jinja
