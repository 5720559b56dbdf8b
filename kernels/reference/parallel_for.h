// A plain parallel loop for the reference backend: threads that live for the loop.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

namespace kernels::reference {

// body(i) for i in [0, count), in pieces of `grain`. False when `cancel` rose: some items are
// missing then. An item's result must not depend on which thread runs it.
template <typename Body>
bool parallelFor(int numThreads,
                 std::int64_t count,
                 std::int64_t grain,
                 const std::atomic<bool>* cancel,
                 const Body& body) {
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> isWhole{true};
  const auto work = [&] {
    for (;;) {
      const std::int64_t begin = next.fetch_add(grain);
      if (begin >= count) return;
      if (cancel && cancel->load(std::memory_order_relaxed)) {
        isWhole = false;
        return;
      }
      for (std::int64_t i = begin; i < std::min(count, begin + grain); ++i) body(i);
    }
  };
  const std::int64_t useful = std::min<std::int64_t>(numThreads, (count + grain - 1) / grain);
  std::vector<std::thread> helpers;
  helpers.reserve(static_cast<std::size_t>(std::max<std::int64_t>(useful, 1)));
  try {
    for (std::int64_t i = 1; i < useful; ++i) helpers.emplace_back(work);
  } catch (const std::system_error&) {
    // the system gives no more threads: those there are take the rest
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  return isWhole;
}

}  // namespace kernels::reference
