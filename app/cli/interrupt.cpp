#include "app/cli/interrupt.h"

#include <atomic>
#include <csignal>

namespace app::cli {

namespace {

std::atomic<engine::CancelToken*> activeToken{nullptr};
static_assert(std::atomic<engine::CancelToken*>::is_always_lock_free);

// Async-signal-safe: lock-free atomics and signal() only.
void onInterrupt(int signal) {
  if (engine::CancelToken* token = activeToken.load()) token->cancel();
  std::signal(signal, SIG_DFL);
}

}  // namespace

ScopedInterrupt::ScopedInterrupt(engine::CancelToken& cancel) {
  activeToken = &cancel;
  std::signal(SIGINT, onInterrupt);
}

ScopedInterrupt::~ScopedInterrupt() {
  std::signal(SIGINT, SIG_DFL);
  activeToken = nullptr;
}

}  // namespace app::cli
