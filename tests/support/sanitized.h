// Where a sanitizer watches: fewer repetitions, for it looks for faults that any one of them would
// show, and later deadlines, for what it watches takes many times as long.
#pragma once

#include <initializer_list>
#include <vector>

namespace test_support {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

// `all`; under a sanitizer its first and last alone.
inline std::vector<int> thinned(std::initializer_list<int> all) {
  if (!kIsSanitized || all.size() < 2) return all;
  return {*all.begin(), *(all.end() - 1)};
}

// A deadline that the program keeps; under a sanitizer ten times as late.
constexpr double deadlineMs(double ms) {
  return kIsSanitized ? 10 * ms : ms;
}

}  // namespace test_support
