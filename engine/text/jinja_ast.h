// The tree a template parses to. Plain data, immutable once parsed, shared by all renders.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/text/jinja_value.h"

namespace engine::text::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr unpackedList;  // *x
  ExpressionPtr unpackedDict;  // **x
};

enum class ExpressionKind : std::uint8_t {
  Literal,    // value
  Name,       // name
  List,       // operands
  Tuple,      // operands
  Dict,       // operands: key, value, key, value, ...
  Attribute,  // operands[0] . name
  Item,       // operands[0] [ operands[1] ]
  Slice,      // operands[0] [ operands[1] : operands[2] : operands[3] ], absent ones null
  Call,       // operands[0] ( arguments )
  Filter,     // operands[0] | name ( arguments ); operands[0] null in a filter block
  Test,       // operands[0] is name ( arguments )
  Not, Negate, Plus,
  Add, Subtract, Multiply, Divide, FloorDivide, Modulo, Power,
  Concat,     // operands joined with ~
  And, Or,
  Compare,    // operands[0] comparisons[0] operands[1] comparisons[1] ...
  Condition,  // operands[0] if operands[1] else operands[2], which may be null
};

enum class Comparison : std::uint8_t { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, In, NotIn };

struct Expression {
  ExpressionKind kind = ExpressionKind::Literal;
  int line = 1;
  int height = 1;  // of the tree below; bounded, so that walking it cannot overflow the stack
  std::string name;
  Value value;
  std::vector<ExpressionPtr> operands;
  std::vector<Comparison> comparisons;
  CallArguments arguments;
};

struct Statement;
using Block = std::vector<std::unique_ptr<Statement>>;

struct Parameter {
  std::string name;
  ExpressionPtr fallback;  // null = none
};

struct Branch {
  ExpressionPtr condition;  // null = else
  Block body;
};

enum class StatementKind : std::uint8_t {
  Data,         // text
  Print,        // expression
  If,           // branches
  For,          // target in expression if condition: body, otherwise
  Set,          // target = expression
  SetBlock,     // target = body, through filter `expression` when not null
  Macro,        // name(parameters): body
  CallBlock,    // expression is the call; (parameters): body is its caller()
  FilterBlock,  // expression is the filter: body
  With,         // assignments: body
  Scope,        // body, in a scope of its own (generation)
  Break, Continue,
};

struct Statement {
  StatementKind kind = StatementKind::Data;
  int line = 1;
  std::string text;
  std::string name;
  ExpressionPtr target;  // Name, Tuple of them, or Attribute of a Name (a namespace's)
  ExpressionPtr expression;
  ExpressionPtr condition;
  bool isRecursive = false;
  bool takesVarargs = false, takesKwargs = false, takesCaller = false;  // the body names them
  std::vector<Branch> branches;
  std::vector<Parameter> parameters;
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> assignments;
  Block body;
  Block otherwise;
};

}  // namespace engine::text::jinja
