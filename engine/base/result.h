// Result<T>: a value, or an Error that says in one sentence what failed, with the value and the limit.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "engine/base/check.h"

namespace engine {

enum class ErrorCode {
  InvalidArgument,  // the caller's value is out of its range: the message names value and limit
  NotFound,
  CorruptFile,  // a file breaks its own format
  Unsupported,  // well formed, but not something we run; the message names it
  OutOfMemory,
  DeviceFailed,
  Cancelled,
  Internal,
};

struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string message;  // one sentence, no trailing newline, fit to be shown to a person
};

// Either a T or an Error. Reading the wrong side is a broken invariant and stops the program.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : m_state(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit by design
  Result(Error error) : m_state(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool isOk() const { return m_state.index() == 0; }
  explicit operator bool() const { return isOk(); }

  T& value() & {
    CHECK(isOk());
    return std::get<0>(m_state);
  }
  const T& value() const& {
    CHECK(isOk());
    return std::get<0>(m_state);
  }
  T&& value() && {
    CHECK(isOk());
    return std::get<0>(std::move(m_state));
  }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }

  const Error& error() const {
    CHECK(!isOk());
    return std::get<1>(m_state);
  }

 private:
  std::variant<T, Error> m_state;
};

// Success without a value, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : m_failed(true), m_error(std::move(error)) {}  // NOLINT: implicit by design

  bool isOk() const { return !m_failed; }
  explicit operator bool() const { return isOk(); }
  const Error& error() const {
    CHECK(m_failed);
    return m_error;
  }

 private:
  bool m_failed = false;
  Error m_error;
};

}  // namespace engine

// Evaluates a Result expression: yields its value, or returns its error from the calling function.
#define TRY(expression)                                         \
  __extension__({                                               \
    auto tryResult_ = (expression);                             \
    if (!tryResult_.isOk()) return ::engine::Error(tryResult_.error()); \
    std::move(tryResult_).value();                              \
  })

// As TRY, for Result<void>.
#define TRY_VOID(expression)                                      \
  do {                                                            \
    if (auto tryResult_ = (expression); !tryResult_.isOk()) {     \
      return ::engine::Error(tryResult_.error());                 \
    }                                                             \
  } while (false)
