// Template source to tokens, with Jinja's white-space rules (trim_blocks and lstrip_blocks on).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace engine::text::jinja {

enum class TokenKind { Data, VariableBegin, VariableEnd, BlockBegin, BlockEnd, Name, String, Integer,
                       Float, Operator, End };

struct Token {
  TokenKind kind = TokenKind::End;
  std::string text;  // Data and String: the text itself; Name, Operator, numbers: as written
  int line = 1;
};

// Throws Failure (jinja_failure.h) for source that is no template. The last token is End.
std::vector<Token> tokenize(std::string_view source);

}  // namespace engine::text::jinja
