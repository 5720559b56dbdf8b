// What may come next, as a grammar sees it; the sampler's mask stage asks it.
#pragma once

#include <cstddef>
#include <span>

#include "engine/base/ids.h"

namespace engine::sample {

// Engine thread only. State advances with accept() and goes back with rollback(), so speculation
// can try tokens and preemption needs nothing.
class TokenMask {
 public:
  virtual ~TokenMask() = default;

  // Sets the logits of forbidden tokens to minus infinity.  logits: [vocabSize]
  virtual void apply(std::span<float> logits) const = 0;
  virtual void accept(TokenId id) = 0;
  // Takes back the newest `count` accepted tokens.
  virtual void rollback(std::size_t count) = 0;
};

}  // namespace engine::sample
