#include "engine/exec/sequence_rows.h"

#include <algorithm>

namespace engine::exec {

namespace {

// Rows [begin, end) of `whole`; of the wanted logits rows it keeps those that lie inside.
SequenceRows partOf(const SequenceRows& whole, std::size_t begin, std::size_t end) {
  SequenceRows part;
  part.tokens = whole.tokens.subspan(begin, end - begin);
  part.firstPosition = whole.firstPosition + static_cast<std::int64_t>(begin);
  part.blockTable = whole.blockTable;
  const std::size_t firstWanted =
      whole.tokens.size() - static_cast<std::size_t>(whole.numLogitRows);
  part.numLogitRows = end > firstWanted ? static_cast<int>(end - std::max(begin, firstWanted)) : 0;
  return part;
}

}  // namespace

std::vector<std::vector<SequenceRows>> splitIntoBatches(std::span<const SequenceRows> sequences,
                                                        int maxTokens) {
  const auto limit = static_cast<std::size_t>(maxTokens);
  std::vector<std::vector<SequenceRows>> batches;
  std::size_t room = 0;
  for (const SequenceRows& sequence : sequences) {
    for (std::size_t begin = 0; begin < sequence.tokens.size();) {
      if (room == 0) {
        batches.emplace_back();
        room = limit;
      }
      const std::size_t end = std::min(sequence.tokens.size(), begin + room);
      batches.back().push_back(partOf(sequence, begin, end));
      room -= end - begin;
      begin = end;
    }
  }
  return batches;
}

}  // namespace engine::exec
