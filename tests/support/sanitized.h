// Fewer repetitions where a sanitizer watches: it looks for faults that any one of them would show.
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

}  // namespace test_support
