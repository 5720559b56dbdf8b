// The last iterations, as the batch strip draws them; fed by trace events.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "engine/api/trace_event.h"

namespace ui::models {

struct StepColumn {
  engine::IterationRecord iteration{};
  std::vector<engine::SliceRecord> slices;
  bool lostBefore = false;  // events between this step and the one before were lost
};

class StepHistory {
 public:
  explicit StepHistory(std::size_t capacity = 4096) : m_capacity(capacity) {}

  // Slices of a step come before its Iteration record.
  void add(const std::vector<engine::TraceEvent>& events);
  // The next step recorded is drawn with a gap before it.
  void markLoss() { m_lossPending = true; }
  void clear();

  const std::deque<StepColumn>& columns() const { return m_columns; }
  // Index into columns() of the step that was computed at a time, or -1.
  int indexAt(std::int64_t ns) const;
  // Index into columns() of a step id, or -1.
  int indexOf(std::uint64_t iteration) const;

 private:
  std::size_t m_capacity;
  std::deque<StepColumn> m_columns;
  std::vector<engine::SliceRecord> m_pendingSlices;
  bool m_lossPending = false;
};

}  // namespace ui::models
