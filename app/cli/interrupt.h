// Ctrl-C as a request to stop, for commands that can stop tidily.
#pragma once

#include "engine/base/cancel_token.h"

namespace app::cli {

// While it lives, the first Ctrl-C raises the token; one more, half a second later or more, ends
// the process as usual. At most one at a time; the token must outlive it.
class ScopedInterrupt {
 public:
  explicit ScopedInterrupt(engine::CancelToken& cancel);
  ~ScopedInterrupt();
  ScopedInterrupt(const ScopedInterrupt&) = delete;
  ScopedInterrupt& operator=(const ScopedInterrupt&) = delete;
};

}  // namespace app::cli
