// Asks for keys and values before they are read; included by attention files only.
#pragma once

#include "kernels/cpu/attention.h"

namespace kernels::cpu {

// The K plane of the block that holds a position of the item's sequence.
static inline const std::byte* keyPlaneAt(const AttentionItem& item, int position) {
  return item.planes.pool +
         static_cast<std::ptrdiff_t>(item.blockTable[position >> item.planes.blockShift]) *
             static_cast<std::ptrdiff_t>(item.planes.blockBytes);
}

static inline int lastPositionOf(const AttentionItem& item) {
  return item.firstPosition + item.numQueries - 1;
}

// Position of the step that an item begins with.
static inline int firstStepOf(const AttentionItem& item) {
  const int visible = firstVisible(item.firstPosition, item.window) / kStepTokens * kStepTokens;
  const int segment = item.partials ? item.segment * kSegmentTokens : 0;
  return segment > visible ? segment : visible;
}

// Each group of a block is a short stream of its own, which ends before the processor has seen that
// it is one. The lines are asked for a few at a time, between products: all at once they fill the
// queue of lines under way, and the products wait with them.
class FetchAhead {
 public:
  // From now on the lines of the step at position `begin`; none where the item has no such step.
  void aim(const AttentionItem& item, int begin) {
    m_run = m_numRuns = 0;
    const KvPlanes& planes = item.planes;
    if (!isGrouped(planes)) return;
    const auto codeBytes = static_cast<std::ptrdiff_t>(planes.codeBytes);
    const int last = lastPositionOf(item);
    for (int group = 0; group < kGroups; ++group) {
      const int position = begin + group * kGroupTokens;
      if (position > last) return;
      const std::byte* keys =
          keyPlaneAt(item, position) + (position & (planes.blockSize - 1)) * codeBytes;
      m_runs[m_numRuns++] = {keys, keys + kGroupTokens * codeBytes};
      const std::byte* values = keys + planes.planeBytes;
      m_runs[m_numRuns++] = {values, values + kGroupTokens * codeBytes};
    }
  }

  void ask(int lines) {
    for (; m_run < m_numRuns; ++m_run) {
      Run& run = m_runs[m_run];
      for (; run.next < run.end; run.next += kLineBytes) {
        if (lines-- == 0) return;
        __builtin_prefetch(run.next, 0, 2);
      }
    }
  }

  void askForAll() { ask(-1); }

 private:
  static constexpr int kGroups = kStepTokens / kGroupTokens, kLineBytes = 64;

  struct Run {
    const std::byte* next;
    const std::byte* end;
  };

  Run m_runs[2 * kGroups];
  int m_run = 0, m_numRuns = 0;
};

}  // namespace kernels::cpu
