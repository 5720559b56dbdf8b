// How a template stops: thrown inside the interpreter, turned into an Error at ChatTemplate's door.
#pragma once

#include <string>
#include <utility>

#include "engine/base/result.h"

namespace engine::text::jinja {

// Never leaves parse() or render(). An expression can fail at any depth; unwinding by exception keeps
// the evaluator readable, and Result begins where the interpreter ends.
struct Failure {
  enum class Kind { Template, Raised };  // Raised: the template's own raise_exception, message as is

  Kind kind = Kind::Template;
  ErrorCode code = ErrorCode::InvalidArgument;
  std::string message;
};

[[noreturn]] inline void fail(std::string message) {
  throw Failure{Failure::Kind::Template, ErrorCode::InvalidArgument, std::move(message)};
}

[[noreturn]] inline void failUnsupported(std::string message) {
  throw Failure{Failure::Kind::Template, ErrorCode::Unsupported, std::move(message)};
}

}  // namespace engine::text::jinja
