// CHECK and DCHECK: a broken invariant prints where and what, then stops the program.
// Never reachable from user input; those are Result errors.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace engine {

[[noreturn]] inline void checkFailed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, expression);
  std::abort();
}

}  // namespace engine

#define CHECK(condition)                                                 \
  do {                                                                   \
    if (!(condition)) ::engine::checkFailed(#condition, __FILE__, __LINE__); \
  } while (false)

#ifdef NDEBUG
#define DCHECK(condition) \
  do {                    \
  } while (false && (condition))
#else
#define DCHECK(condition) CHECK(condition)
#endif
