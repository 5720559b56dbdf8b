#include "app/cli/interrupt.h"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>

namespace app::cli {

namespace {

std::atomic<engine::CancelToken*> activeToken{nullptr};
std::atomic<std::int64_t> firstNs{0};  // of this token's first Ctrl-C; 0 = none yet
static_assert(std::atomic<engine::CancelToken*>::is_always_lock_free);
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

// Who sends the signal to the process and to its group (timeout does) means one Ctrl-C, not two.
constexpr std::int64_t kOnePressNs = 500'000'000;

std::int64_t nowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Async-signal-safe: lock-free atomics, clock_gettime(), signal() and raise() only.
void onInterrupt(int signal) {
  if (engine::CancelToken* token = activeToken.load()) token->cancel();
  const std::int64_t now = nowNs();
  std::int64_t first = 0;
  if (firstNs.compare_exchange_strong(first, now) || now - first < kOnePressNs) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

ScopedInterrupt::ScopedInterrupt(engine::CancelToken& cancel) {
  firstNs = 0;
  activeToken = &cancel;
  std::signal(SIGINT, onInterrupt);
}

ScopedInterrupt::~ScopedInterrupt() {
  std::signal(SIGINT, SIG_DFL);
  activeToken = nullptr;
}

}  // namespace app::cli
