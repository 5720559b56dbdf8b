// What one sequence computes in one step, and how a step that is too large for the backend is cut.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/ids.h"

namespace engine::exec {

// Borrowed for the length of a step.
struct SequenceRows {
  std::span<const TokenId> tokens;      // this step's tokens, in order; never empty
  std::int64_t firstPosition = 0;       // of tokens[0] in the sequence
  std::span<const BlockId> blockTable;  // holds at least firstPosition + tokens.size() slots
  int numLogitRows = 0;                 // logits are wanted of the last so many tokens
};

// Cuts a step into batches of at most `maxTokens` rows, in order; a long sequence is cut into
// chunks. The logits rows keep their order over all batches.
std::vector<std::vector<SequenceRows>> splitIntoBatches(std::span<const SequenceRows> sequences,
                                                        int maxTokens);

}  // namespace engine::exec
